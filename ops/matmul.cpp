// matmul and bmm, over one differentiable primitive: a batched product that may be summed over batch axes, which is
// closed under differentiation.
#include "tutti/ops/matmul.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/gemm.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

Dims batch_of(const Dims& shape) {
  Dims batch = shape;
  batch.n -= 2;
  return batch;
}

/// Strides of the result's batch `kept` seen under `batch`: 0 along the axes that are summed over.
Dims strides_under(const Dims& kept, const Dims& strides, const Dims& batch) {
  Dims result;
  for (int i = 0; i < batch.n; ++i) {
    const int k = i - (batch.n - kept.n);
    result.push(k < 0 || kept[k] == 1 ? 0 : strides[k]);
  }
  return result;
}

/// [batch.., m, k] @ [batch.., k, n], both broadcast to `batch`, then summed down to the batch shape `kept`.
Tensor product(const char* op, const Tensor& a, const Tensor& b, const Dims& batch, const Dims& kept) {
  Dims shape = kept;
  shape.push(a.size(-2));
  shape.push(b.size(-1));
  const Output y = output(shape, a.dtype(), a.device());
  kernel::Product p{matrix(a, batch), matrix(b, batch), matrix(y), batch, nullptr, {}, false};
  p.c.batch_strides = strides_under(kept, p.c.batch_strides, batch);
  kernel::gemm::on(a.device())(p);
  return with_grad(op, y, {a, b}, {Keep(a, b.requires_grad()), Keep(b, a.requires_grad())},
                   [op, batch](Saved& s, const Tensor& dy) {
                     const auto own = [&](int i) { return batch_of(s.input_shape(i)); };
                     return Grads{s.wants(0) ? product(op, dy, transpose(s[1], -1, -2), batch, own(0)) : Tensor(),
                                  s.wants(1) ? product(op, transpose(s[0], -1, -2), dy, batch, own(1)) : Tensor()};
                   });
}

/// By way of float32 for the half types.
Tensor in_float(const char* op, const Tensor& a, const Tensor& b, const Dims& batch) {
  if (size_of(a.dtype()) == 2)
    return to(product(op, to(a, DType::float32), to(b, DType::float32), batch, batch), a.dtype());
  return product(op, a, b, batch, batch);
}

void check(const char* op, const Tensor& a, const Tensor& b) {
  check_same(op, a, b);
  check_floating(op, a, "a");
}

[[noreturn]] void fail(const char* op, const Tensor& a, const Tensor& b, int axis) {
  throw ShapeError(message(op, ": shapes ", a.shape(), " and ", b.shape(), " do not multiply at axis ", axis, " (",
                           a.size(-1), " vs ", b.size(b.rank() == 1 ? 0 : -2), ")"));
}

/// The batch of the result; the error counts axes as the shapes do.
Dims broadcast_batches(const Tensor& a, const Tensor& b) {
  const Dims x = batch_of(a.shape()), y = batch_of(b.shape());
  const int n = x.n > y.n ? x.n : y.n;
  for (int i = 1; i <= (x.n < y.n ? x.n : y.n); ++i) {
    const int64_t p = x[x.n - i], q = y[y.n - i];
    if (p != q && p != 1 && q != 1)
      throw ShapeError(message("matmul: shapes ", a.shape(), " and ", b.shape(), " do not broadcast at axis ", n - i,
                               " (", p, " vs ", q, ")"));
  }
  return broadcast("matmul", x, y);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check("matmul", a, b);
  if (a.rank() == 0 || b.rank() == 0)
    throw ShapeError(message("matmul: shapes ", a.shape(), " and ", b.shape(),
                             ": a 0-d tensor has no axis to multiply along; use mul"));
  if (a.size(-1) != b.size(b.rank() == 1 ? 0 : -2)) fail("matmul", a, b, a.rank() - 1);
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b), b.rank() == 1 ? 0 : -2);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  return in_float("matmul", a, b, broadcast_batches(a, b));
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  check("bmm", a, b);
  if (a.rank() != 3 || b.rank() != 3 || a.size(0) != b.size(0))
    throw ShapeError(message("bmm: shapes ", a.shape(), " and ", b.shape(), " are not [B, m, k] and [B, k, n]"));
  if (a.size(2) != b.size(1)) fail("bmm", a, b, 2);
  return in_float("bmm", a, b, {a.size(0)});
}

}  // namespace tutti
