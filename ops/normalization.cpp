#include "tutti/ops/normalization.h"

#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_lines.h"
#include "tutti/backends/contract/normalization.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

namespace tutti {
namespace {

const void* address(const Tensor& x) { return x.defined() ? x.data() : nullptr; }

/// `t` with neighbours along its last axis next to each other in memory, as the kernels want it.
Tensor dense(const Tensor& t) { return t.strides()[t.rank() - 1] == 1 || t.size(-1) == 1 ? t : contiguous(t); }

void check_parameter(const char* op, const char* name, const Tensor& x, const Tensor& p) {
  if (!p.defined()) return;
  check_same(op, x, p, "x", name);
  if (!(p.shape() == Dims{x.size(-1)}))
    throw ShapeError(message(op, ": ", name, " of shape ", p.shape(), " for x of shape ", x.shape(), "; it must be [",
                             x.size(-1), "]"));
}

/// Per line, a constant that brings it near 1 where the kernel found squares to leave their range; elsewhere 1.
Tensor factor(const Tensor& x, const Tensor& statistics) {
  Dims one = x.shape();
  one[one.n - 1] = 1;
  if (x.numel() == 0) return ones(one, {x.dtype(), x.device()});  // lines without elements have no statistics
  const Tensor far = reshape(lt(slice(statistics, 1, 1, 2), 0), one);
  const Tensor largest =
      clamp(norm(x.detach(), INFINITY, {-1}, true), x.dtype() == DType::float64 ? 1e-300 : 1e-37, INFINITY);
  return where(far, div(1, largest), ones_like(largest));
}

/// The gradients with differentiable operations, for second derivatives.
Grads composed(Saved& s, const Tensor& dy, double eps, bool center) {
  const Tensor weight = s[1], p = factor(s[0], s.constant(2)), x = mul(s[0], p);
  const Tensor centered = center ? sub(x, mean(x, -1, true)) : x;
  const Tensor scale = rsqrt(add(mean(square(centered), -1, true), mul(mul(p, eps), p))), normal = mul(centered, scale);
  const Tensor g = weight.defined() ? mul(dy, weight) : dy;
  Tensor inner = sub(g, mul(normal, mean(mul(g, normal), -1, true)));
  if (center) inner = sub(inner, mean(g, -1, true));
  const Dims width{x.size(-1)};
  return {mul(mul(inner, scale), p), s.wants(1) ? sum_to(mul(dy, normal), width) : Tensor(),
          s.wants(2) ? sum_to(dy, width) : Tensor()};
}

Grads fused(Saved& s, const Tensor& gradient, bool center) {
  const Tensor x = s[0], weight = s[1], dy = dense(gradient);
  const int last = x.rank() - 1;
  const Dims width{x.size(-1)};
  const auto make = [&](int i, const Dims& shape) {
    return s.wants(i) ? output(shape, x.dtype(), x.device()) : output({0}, x.dtype(), x.device());
  };
  const auto given = [&](int i, const Output& g) { return s.wants(i) ? g.data() : nullptr; };
  const Output dx = make(0, x.shape()), dweight = make(1, width), dbias = make(2, width);
  kernel::normalize_backward::on(x.device())(s.wants(0) ? lines(dx, last, x, dy) : lines(last, x, dy), address(weight),
                                             s[2].data(), given(1, dweight), given(2, dbias), center);
  const auto result = [&](int i, const Output& g) { return s.wants(i) ? no_gradient(g) : Tensor(); };
  return {result(0, dx), result(1, dweight), result(2, dbias)};
}

/// `known`: the statistics are there already.
Output result(const Tensor& x, const Tensor& weight, const Tensor& bias, void* statistics, double eps, bool center,
              bool known) {
  const Output y = output_like(x);
  kernel::normalize_forward::on(x.device())(lines(y, x.rank() - 1, x), address(weight), address(bias), statistics, eps,
                                            center, known);
  return y;
}

Tensor normalize(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias, double eps,
                 bool center) {
  check_floating(op, input);
  if (input.rank() == 0) throw ShapeError(message(op, ": x has no axis to normalise over (shape [])"));
  check_parameter(op, "weight", input, weight);
  check_parameter(op, "bias", input, bias);
  if (!(eps >= 0 && std::isfinite(eps)))
    throw ValueError(message(op, ": eps must be finite and not negative, but is ", eps));
  const Tensor x = dense(input), w = weight.defined() ? contiguous(weight) : weight,
               b = bias.defined() ? contiguous(bias) : bias;
  const Output statistics = output({lines(x.rank() - 1, x).count, 2},
                                   x.dtype() == DType::float64 ? DType::float64 : DType::float32, x.device());
  const Output y = result(x, w, b, statistics.data(), eps, center, /*known=*/false);
  return with_grad(
      op, y, {x, w, b}, {x, w, statistics, b},
      [eps, center](Saved& s, const Tensor& dy) {
        return grad_mode() ? composed(s, dy, eps, center) : fused(s, dy, center);
      },
      [eps, center](std::span<const Tensor> s) {
        return result(s[0], s[1], s[3], const_cast<void*>(s[2].data()), eps, center, /*known=*/true);
      });
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return normalize("layer_norm", x, weight, bias, eps, true);
}
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return normalize("rms_norm", x, weight, {}, eps, false);
}

}  // namespace tutti
