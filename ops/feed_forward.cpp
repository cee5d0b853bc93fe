#include "tutti/ops/feed_forward.h"

#include <algorithm>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/feed_forward.h"
#include "tutti/core/error.h"
#include "tutti/ops/detail/linear_parts.h"
#include "tutti/ops/detail/unary_rule.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

constexpr int64_t least_rows = 256;  // below, the two products are cut along their columns, which serves more threads

void* address(const Output& y, bool wanted = true) { return wanted ? y.data() : nullptr; }
const void* address(const Tensor& x) { return x.defined() ? x.data() : nullptr; }

Tensor bias(const Tensor& b) { return b.defined() ? contiguous(b) : b; }

/// The gradients with differentiable operations, for second derivatives.
Grads composed(Unary f, const Saved& s, const Tensor& dy) {
  const Tensor x = s[0], up = s[1], down = s[2], given = linear(x, up, s[3]);
  const Tensor du = detail::unary_gradient(f, matmul(dy, down), given);
  const auto rows = [](const Tensor& t) { return reshape(t, {-1, t.size(-1)}); };
  const auto weight = [&](const Tensor& d, const Tensor& in) { return matmul(transpose(rows(d), 0, 1), rows(in)); };
  Grads g(5);
  if (s.wants(0)) g[0] = matmul(du, up);
  if (s.wants(1)) g[1] = weight(du, x);
  if (s.wants(2)) g[2] = detail::column_sum(du);
  if (s.wants(3)) g[3] = weight(dy, detail::unary(f, given));
  if (s.wants(4)) g[4] = detail::column_sum(dy);
  return g;
}

Grads fused(Unary f, Saved& s, const Tensor& gradient) {
  const Tensor dy = contiguous(gradient), up = s[1], down = s[2];
  Grads g(5);
  if (s.wants(4)) g[4] = detail::column_sum(dy);
  if (s.wants(0) || s.wants(1) || s.wants(2) || s.wants(3)) {
    const Dims x_shape = s.input_shape(0);
    Tensor given = s.last(4);
    const Output du = output_like(given), dx = output(s.wants(0) ? x_shape : Dims{0}, dy.dtype(), dy.device()),
                 d_up_bias = output(s.wants(2) ? Dims{up.size(0)} : Dims{0}, dy.dtype(), dy.device()),
                 result = output_over(given);
    const int64_t rows = given.numel() / given.size(-1);
    kernel::feed_forward_backward::on(dy.device())(
        {f, dy.dtype(), rows, up.size(1), up.size(0), down.size(0), nullptr, up.data(), down.data(), nullptr, nullptr},
        dy.data(), given.data(), du.data(), address(d_up_bias, s.wants(2)), address(dx, s.wants(0)),
        address(result, s.wants(3)));
    if (s.wants(0)) g[0] = no_gradient(dx);
    if (s.wants(2)) g[2] = no_gradient(d_up_bias);
    if (s.wants(3)) g[3] = detail::weight_gradient(dy, no_gradient(result), down.shape());
    given = Tensor();
    if (s.wants(1)) g[1] = detail::weight_gradient(no_gradient(du), s.last(0), up.shape());
  }
  return g;
}

}  // namespace

Tensor feed_forward(const Tensor& x, const Tensor& up, const Tensor& up_bias, const Tensor& down,
                    const Tensor& down_bias, Gelu form) {
  constexpr const char* op = "feed_forward";
  const Unary f = form == Gelu::erf ? Unary::gelu : Unary::gelu_tanh;
  detail::check_linear(op, x, up, up_bias);
  detail::check_linear(op, x, down, down_bias, up.size(0));
  const int64_t rows = x.numel() / std::max<int64_t>(x.size(-1), 1);
  if (x.device() != cpu || size_of(x.dtype()) == 2 || rows < least_rows || up.numel() == 0 || down.numel() == 0)
    return linear(detail::unary(f, linear(x, up, up_bias)), down, down_bias);
  const Tensor in = contiguous(x), w1 = contiguous(up), w2 = contiguous(down), b1 = bias(up_bias), b2 = bias(down_bias);
  const bool kept = grad_mode() && (in.requires_grad() || w1.requires_grad() || w2.requires_grad() ||
                                    (b1.defined() && b1.requires_grad()));
  Dims middle = x.shape(), last = x.shape();
  middle[middle.n - 1] = up.size(0);
  last[last.n - 1] = down.size(0);
  const Output given = output(kept ? middle : Dims{0}, x.dtype(), cpu), y = output(last, x.dtype(), cpu);
  kernel::feed_forward::on(cpu)({f, x.dtype(), rows, x.size(-1), up.size(0), down.size(0), in.data(), w1.data(),
                                 w2.data(), address(b1), address(b2)},
                                y.data(), address(given, kept));
  return with_grad(op, y, {in, w1, b1, w2, b2}, {in, w1, w2, b1, given},
                   [f](Saved& s, const Tensor& dy) { return grad_mode() ? composed(f, s, dy) : fused(f, s, dy); });
}

}  // namespace tutti
