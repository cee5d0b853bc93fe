// linear and grouped_linear: one code path, one node. Every product reads its strided slices of x and the weight and
// writes its slice of the result.
#include "tutti/ops/linear.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/gemm.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/detail/linear_parts.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

/// The weight as [P, G, out, in]: P maps side by side, each of G diagonal blocks.
struct Blocks {
  int64_t maps = 1, groups = 1, out = 0, in = 0;
  Dims strides;  // over (P, G)
  int64_t out_stride = 0, in_stride = 0;
};

Blocks blocks_of(const Dims& s, const Dims& t) {
  const int n = s.n;
  return {
      n > 3 ? s[0] : 1, n > 2 ? s[n - 3] : 1, s[n - 2], s[n - 1], {n > 3 ? t[0] : 0, n > 2 ? t[n - 3] : 0}, t[n - 2],
      t[n - 1]};
}

Dims dims(const Dims& first, const Dims& x_dims, int count) {
  Dims d = first;
  for (int i = 0; i < count; ++i) d.push(x_dims[i]);
  return d;
}

/// x [.., width] as one matrix per leading index: its rows are the last leading axis, the others follow (P, G) in the
/// batch. `map` and `group` are the distances, in features, between consecutive maps and groups.
template <class M, class V>
M features(V* data, const TensorImpl& x, int64_t width, int64_t map, int64_t group) {
  const int n = x.shape.n;
  const int64_t step = x.strides[n - 1];
  return {data,
          x.dtype,
          n > 1 ? x.shape[n - 2] : 1,
          width,
          n > 1 ? x.strides[n - 2] : 0,
          step,
          dims({map * step, group * step}, x.strides, n > 2 ? n - 2 : 0)};
}
ConstMatrix features(const Tensor& x, int64_t width, int64_t map, int64_t group) {
  return features<ConstMatrix>(x.data(), *x.impl(), width, map, group);
}
Matrix features(const Output& x, int64_t width, int64_t map, int64_t group) {
  return features<Matrix>(x.data(), *x.impl(), width, map, group);
}
template <class M, class V>
M blocks(V* data, const TensorImpl& weight, const Blocks& w, int leading) {
  return {data,
          weight.dtype,
          w.out,
          w.in,
          w.out_stride,
          w.in_stride,
          dims(w.strides, Dims{0, 0, 0, 0, 0, 0, 0, 0}, leading)};
}
template <class M>
M transposed(const M& m) {
  return {m.data, m.dtype, m.cols, m.rows, m.col_stride, m.row_stride, m.batch_strides};
}
Dims batch_of(const Blocks& w, const Dims& x) { return dims({w.maps, w.groups}, x, x.n > 2 ? x.n - 2 : 0); }
int leading(const Dims& x) { return x.n > 2 ? x.n - 2 : 0; }

/// dx [.., G in]: of every map, dy's slice times the weight; the maps are summed.
Tensor input_gradient(const Tensor& dy, const Tensor& weight, const Dims& x_shape) {
  const Blocks w = blocks_of(weight.shape(), weight.strides());
  const Output dx = output(x_shape, dy.dtype(), dy.device());
  kernel::gemm::on(dy.device())({features(dy, w.out, w.groups * w.out, w.out),
                                 blocks<ConstMatrix>(weight.data(), *weight.impl(), w, leading(x_shape)),
                                 features(dx, w.in, 0, w.in),
                                 batch_of(w, x_shape),
                                 nullptr,
                                 {},
                                 false});
  return no_gradient(dx);
}

/// The same gradients in differentiable operations, for create_graph.
Grads composed(Saved& s, const Tensor& dy) {
  const Dims x_shape = s.input_shape(0), weight_shape = s.input_shape(1);
  const Blocks w = blocks_of(weight_shape, contiguous_strides(weight_shape));
  int64_t rows = 1;
  for (int i = 0; i < x_shape.n - 1; ++i) rows *= x_shape[i];
  const Tensor dy4 = permute(reshape(dy, {rows, w.maps, w.groups, w.out}), {1, 2, 0, 3});  // [P, G, rows, out]
  Grads g(3);
  if (s.wants(0)) {
    const Tensor block = reshape(s[1], {w.maps, w.groups, w.out, w.in});
    g[0] = reshape(permute(sum(matmul(dy4, block), 0), {1, 0, 2}), x_shape);
  }
  if (s.wants(1)) {
    const Tensor x3 = permute(reshape(s[0], {rows, w.groups, w.in}), {1, 0, 2});  // [G, rows, in]
    g[1] = reshape(matmul(transpose(dy4, -1, -2), x3), weight_shape);
  }
  if (s.wants(2)) g[2] = detail::column_sum(dy);
  return g;
}

Tensor affine(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (size_of(x.dtype()) == 2)  // the half types by way of float32
    return to(
        affine(op, to(x, DType::float32), to(weight, DType::float32), bias.defined() ? to(bias, DType::float32) : bias),
        x.dtype());
  const Blocks w = blocks_of(weight.shape(), weight.strides());
  Dims shape = x.shape();
  shape[shape.n - 1] = w.maps * w.groups * w.out;
  const Output y = output(shape, x.dtype(), x.device());
  const Tensor offsets = bias.defined() && !bias.is_contiguous() ? contiguous(bias.detach()) : bias;
  kernel::gemm::on(x.device())(
      {features(x, w.in, 0, w.in), transposed(blocks<ConstMatrix>(weight.data(), *weight.impl(), w, leading(shape))),
       features(y, w.out, w.groups * w.out, w.out), batch_of(w, shape), bias.defined() ? offsets.data() : nullptr,
       dims({w.groups * w.out, w.out}, Dims{0, 0, 0, 0, 0, 0, 0, 0}, leading(shape)), false});
  return with_grad(op, y, {x, weight, bias}, {Keep(x, weight.requires_grad()), Keep(weight, x.requires_grad())},
                   [](Saved& s, const Tensor& dy) {
                     if (grad_mode()) return composed(s, dy);
                     Grads g(3);  // the weight's first: x may have been made again for it, and is free after it
                     if (s.wants(1)) g[1] = detail::weight_gradient(dy, s.last(0), s.input_shape(1));
                     if (s.wants(2)) g[2] = detail::column_sum(dy);
                     if (s.wants(0)) g[0] = input_gradient(dy, s[1], s.input_shape(0));
                     return g;
                   });
}

void check(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_same(op, x, weight, "x", "weight");
  if (bias.defined()) check_same(op, x, bias, "x", "bias");
  check_floating(op, x);
  if (x.rank() == 0) throw ShapeError(message(op, ": input of shape [] has no axis of features"));
}

void check_bias(const char* op, const Tensor& weight, const Tensor& bias, int64_t out) {
  if (bias.defined() && !(bias.shape() == Dims{out}))
    throw ShapeError(
        message(op, ": bias of shape ", bias.shape(), " does not match weight ", weight.shape(), " (out = ", out, ")"));
}

}  // namespace

Tensor detail::weight_gradient(const Tensor& dy, const Tensor& x, const Dims& weight_shape) {
  const Output dw = output(weight_shape, x.dtype(), x.device());
  const Blocks w = blocks_of(dw.shape(), dw.strides());
  kernel::gemm::on(x.device())({transposed(features(dy, w.out, w.groups * w.out, w.out)),
                                features(x, w.in, 0, w.in),
                                blocks<Matrix>(dw.data(), *dw.impl(), w, leading(x.shape())),
                                batch_of(w, x.shape()),
                                nullptr,
                                {},
                                false});
  return no_gradient(dw);
}

Tensor detail::column_sum(const Tensor& dy) {
  if (dy.rank() == 1) return dy;
  Dims axes;
  for (int i = 0; i < dy.rank() - 1; ++i) axes.push(i);
  return sum(dy, axes);
}

void detail::check_linear(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t width) {
  check(op, x, weight, bias);
  if (width < 0) width = x.size(-1);
  if (weight.rank() != 2) throw ShapeError(message(op, ": weight must be [out, in], not ", weight.shape()));
  if (width != weight.size(1))
    throw ShapeError(message(op, ": input width ", width, " does not match weight ", weight.shape(),
                             " (in = ", weight.size(1), ")"));
  check_bias(op, weight, bias, weight.size(0));
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  detail::check_linear("linear", x, weight, bias);
  return affine("linear", x, weight, bias);
}

Tensor grouped_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check("grouped_linear", x, weight, bias);
  if (weight.rank() != 3 && weight.rank() != 4)
    throw ShapeError(
        message("grouped_linear: weight must be [G, out/G, in/G] or [P, G, out/G, in/G], not ", weight.shape()));
  const Blocks w = blocks_of(weight.shape(), weight.strides());
  if (x.size(-1) != w.groups * w.in)
    throw ShapeError(message("grouped_linear: input width ", x.size(-1), " does not match weight ", weight.shape(),
                             " (in = ", w.groups, " * ", w.in, ")"));
  check_bias("grouped_linear", weight, bias, w.maps * w.groups * w.out);
  return affine("grouped_linear", x, weight, bias);
}

}  // namespace tutti
