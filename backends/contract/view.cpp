#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"

namespace tutti {

void coalesce(Dims& shape, Dims* const* strides, int k) {
  int w = 0;
  for (int i = 0; i < shape.n; ++i) {
    if (shape[i] == 1) continue;
    bool merge = w > 0;
    for (int j = 0; merge && j < k; ++j) merge = (*strides[j])[w - 1] == (*strides[j])[i] * shape[i];
    if (merge) {
      shape[w - 1] *= shape[i];
    } else {
      shape[w] = shape[i];
      ++w;
    }
    for (int j = 0; j < k; ++j) (*strides[j])[w - 1] = (*strides[j])[i];
  }
  shape.n = w;
  for (int j = 0; j < k; ++j) strides[j]->n = w;
}

namespace {

template <class R, class V>
R make_rows(V* data, const TensorImpl& t, int axis) {
  const bool scalar = t.shape.n == 0;
  R r{data, t.dtype, scalar ? 1 : t.shape[axis], scalar ? 1 : t.strides[axis], 1, {}, {}};
  for (int i = 0; i < t.shape.n; ++i) {
    if (i == axis) continue;
    r.outer.push(t.shape[i]);
    r.outer_strides.push(t.strides[i]);
    r.count *= t.shape[i];
  }
  Dims* strides[] = {&r.outer_strides};
  coalesce(r.outer, strides, 1);
  return r;
}

/// Strides of `t` seen under `shape`: 0 along broadcast axes.
Dims broadcast_strides(const Dims& from, const Dims& strides, const Dims& shape) {
  Dims s;
  for (int i = 0; i < shape.n; ++i) {
    const int k = i - (shape.n - from.n);
    s.push(k < 0 || (from[k] == 1 && shape[i] != 1) ? 0 : strides[k]);
  }
  return s;
}

template <class... T>
auto make_elements(const Output& y, const T&... x) {
  constexpr int n = sizeof...(T);
  Elements<n> e{y.data(),
                {x.data()...},
                y.dtype(),
                {x.dtype()...},
                y.shape(),
                y.strides(),
                {broadcast_strides(x.shape(), x.strides(), y.shape())...}};
  Dims* strides[n + 1] = {&e.out_strides};
  for (int i = 0; i < n; ++i) strides[i + 1] = &e.in_strides[i];
  coalesce(e.shape, strides, n + 1);
  return e;
}

template <class M, class V>
M make_matrix(V* data, const TensorImpl& t, const Dims& batch) {
  const int n = t.shape.n;
  M m{data, t.dtype, t.shape[n - 2], t.shape[n - 1], t.strides[n - 2], t.strides[n - 1], {}};
  Dims from = t.shape, strides = t.strides;
  from.n = strides.n = n - 2;
  m.batch_strides = broadcast_strides(from, strides, batch);
  return m;
}

}  // namespace

int64_t row_offset(const Dims& outer, const Dims& strides, int64_t row) {
  if (outer.n == 1) return row * strides[0];
  int64_t offset = 0;
  for (int i = outer.n - 1; i >= 0; --i) {
    offset += (row % outer[i]) * strides[i];
    row /= outer[i];
  }
  return offset;
}

void throw_index_error(const char* op, const char* what, int64_t value, int64_t position, int64_t limit) {
  throw IndexError(message(op, ": ", what, " ", value, " at position ", position, " is out of range [0, ", limit, ")"));
}

ConstRows rows(const Tensor& x, int axis) { return make_rows<ConstRows>(x.data(), *x.impl(), axis); }
Rows row_of(const Output& y) { return {y.data(), y.dtype(), y.numel(), 1, 1, {}, {}}; }
Rows rows(const Output& y, int axis) { return make_rows<Rows>(y.data(), *y.impl(), axis); }

Elements<1> elements(const Output& y, const Tensor& a) { return make_elements(y, a); }
Elements<2> elements(const Output& y, const Tensor& a, const Tensor& b) { return make_elements(y, a, b); }
Elements<3> elements(const Output& y, const Tensor& a, const Tensor& b, const Tensor& c) {
  return make_elements(y, a, b, c);
}

ConstMatrix matrix(const Tensor& x, const Dims& batch) { return make_matrix<ConstMatrix>(x.data(), *x.impl(), batch); }
Matrix matrix(const Output& y) {
  Dims batch = y.shape();
  batch.n -= 2;
  return make_matrix<Matrix>(y.data(), *y.impl(), batch);
}

Dims broadcast(const char* op, const Dims& a, const Dims& b) {
  if (a == b) return a;
  Dims shape;
  const int n = a.n > b.n ? a.n : b.n;
  for (int i = 0; i < n; ++i) {
    const int ia = i - (n - a.n), ib = i - (n - b.n);
    const int64_t x = ia < 0 ? 1 : a[ia], y = ib < 0 ? 1 : b[ib];
    if (x != y && x != 1 && y != 1)
      throw ShapeError(
          message(op, ": shapes ", a, " and ", b, " do not broadcast at axis ", i, " (", x, " vs ", y, ")"));
    shape.push(x == 1 ? y : x);
  }
  return shape;
}

Dims broadcast(const char* op, const Tensor& a, const Tensor& b) {
  check_same(op, a, b);
  return broadcast(op, a.shape(), b.shape());
}

}  // namespace tutti
