#include "tutti/backends/contract/simple_product.h"

#include "tutti/backends/contract/make_view.h"

namespace tutti::kernel {
namespace {

using Axes = SimpleProduct::Axes;

void push(Axes& axes, const Product& p, int i) {
  axes.shape.push(p.batch[i]);
  axes.a.push(p.a.batch_strides[i]);
  axes.b.push(p.b.batch_strides[i]);
  axes.c.push(p.c.batch_strides[i]);
  axes.bias.push(p.bias ? p.bias_strides[i] : 0);
}

void erase(Axes& axes, int at) {
  for (Dims* d : {&axes.shape, &axes.a, &axes.b, &axes.c, &axes.bias}) {
    for (int i = at; i + 1 < d->n; ++i) d->v[i] = d->v[i + 1];
    --d->n;
  }
}

/// An axis of `stride` continues one of `size` elements `step` apart.
bool continues(int64_t stride, int64_t size, int64_t step) { return size == 1 || stride == size * step; }

/// The axis becomes more rows (a flattened batch with one right-hand side for all).
bool into_rows(SimpleProduct& p, const Axes& x, int i) {
  if (x.b[i] != 0 || x.bias[i] != 0 || !continues(x.a[i], p.a.rows, p.a.row_stride) ||
      !continues(x.c[i], p.c.rows, p.c.row_stride))
    return false;
  if (p.c.rows == 1) {
    p.a.row_stride = x.a[i];
    p.c.row_stride = x.c[i];
  }
  p.a.rows *= x.shape[i];
  p.c.rows *= x.shape[i];
  return true;
}

/// The axis becomes more columns (several maps of one input, side by side).
bool into_cols(SimpleProduct& p, const Axes& x, int i) {
  if (x.a[i] != 0 || !continues(x.b[i], p.b.cols, p.b.col_stride) || !continues(x.c[i], p.c.cols, p.c.col_stride) ||
      p.c.cols == 1 || (p.bias && x.bias[i] != p.c.cols))
    return false;
  p.b.cols *= x.shape[i];
  p.c.cols *= x.shape[i];
  return true;
}

/// A summed axis becomes a longer inner dimension.
bool into_inner(SimpleProduct& p, const Axes& x, int i) {
  if (!continues(x.a[i], p.a.cols, p.a.col_stride) || !continues(x.b[i], p.b.rows, p.b.row_stride)) return false;
  if (p.a.cols == 1) {
    p.a.col_stride = x.a[i];
    p.b.row_stride = x.b[i];
  }
  p.a.cols *= x.shape[i];
  p.b.rows *= x.shape[i];
  return true;
}

}  // namespace

SimpleProduct simplified(const Product& product) {
  SimpleProduct p{product.a, product.b, product.c, product.bias, product.accumulate, {}, {}};
  for (int i = 0; i < product.batch.n; ++i)
    if (product.batch[i] != 1) push(product.c.batch_strides[i] == 0 ? p.summed : p.kept, product, i);
  for (int i = p.summed.shape.n - 1; i >= 0; --i)
    if (into_inner(p, p.summed, i)) erase(p.summed, i);
  for (int i = p.kept.shape.n - 1; i >= 0; --i)
    if (into_rows(p, p.kept, i) || into_cols(p, p.kept, i)) erase(p.kept, i);
  Dims* strides[] = {&p.kept.a, &p.kept.b, &p.kept.c, &p.kept.bias};
  coalesce(p.kept.shape, strides, 4);
  p.matrices = p.kept.shape.product();
  p.sums = p.summed.shape.product();
  return p;
}

}  // namespace tutti::kernel
