// cross_entropy (ops/loss.h): fused on the logits; keeps them and one number per row.
#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/loss.h"
#include "tutti/backends/contract/make_lines.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/index.h"
#include "tutti/ops/loss.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"

namespace tutti {
namespace {

/// What the gradient's closure remembers.
struct Settings {
  int64_t ignore_index;
  double smoothing;
  Reduction reduction;
};

kernel::CrossEntropy view(const Settings& o, const Tensor& target, const Tensor& weight) {
  return {target.data(),
          target.dtype(),
          weight.defined() ? weight.data() : nullptr,
          o.ignore_index,
          o.smoothing,
          o.reduction != Reduction::none,
          o.reduction == Reduction::mean};
}

/// The gradient with differentiable operations, for second derivatives. `weight` and the counts are constants.
Tensor composed(const Settings& o, const Tensor& logits, const Tensor& target, const Tensor& weight,
                const Tensor& divisor, const Tensor& dy) {
  const int64_t classes = logits.size(-1);
  const DType dtype = logits.dtype();
  const Tensor index = to(target, DType::int64), counts = ne(index, o.ignore_index), ignored = logical_not(counts);
  const Tensor safe = masked_fill(index, ignored, 0);
  Tensor row = to(counts, dtype), hot = to(one_hot(safe, classes), dtype), own = row;
  if (weight.defined()) own = mul(row, reshape(index_select(weight, 0, reshape(safe, {safe.numel()})), row.shape()));
  const Tensor p = softmax(logits, -1);
  Tensor dx = mul(mul(unsqueeze(own, -1), 1 - o.smoothing), sub(p, hot));
  if (o.smoothing > 0) {
    const Tensor smooth = mul(unsqueeze(row, -1), o.smoothing / static_cast<double>(classes));
    dx = add(dx, mul(smooth, weight.defined() ? sub(mul(p, sum(weight)), weight)
                                              : sub(mul(p, static_cast<double>(classes)), 1)));
  }
  dx = masked_fill(dx, unsqueeze(ignored, -1), 0);  // whatever their logits are: 0 times NaN would be NaN
  if (o.reduction == Reduction::none) return mul(dx, unsqueeze(dy, -1));
  const double n = o.reduction == Reduction::sum ? 1 : divisor.item();
  return mul(dx, n == 0 ? mul(dy, 0) : div(dy, n));
}

Tensor fused(const Settings& o, const Tensor& logits, const Tensor& target, const Tensor& weight, const Tensor& lse,
             const Tensor& divisor, const Tensor& gradient) {
  const Tensor dy = contiguous(gradient);
  Output dx = output_like(logits);
  kernel::cross_entropy_backward::on(logits.device())(lines(dx, logits.rank() - 1, logits), view(o, target, weight),
                                                      lse.data(), divisor.data<double>(), dy.data());
  return no_gradient(dx);
}

void check(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  const char* const op = "cross_entropy";
  check_floating(op, logits, "logits");
  check_defined(op, "target", target);
  if (logits.rank() == 0 || logits.size(-1) == 0)
    throw ShapeError(message(op, ": logits of shape ", logits.shape(), " have no classes"));
  Dims rows = logits.shape();
  --rows.n;
  if (!(target.shape() == rows))
    throw ShapeError(message(op, ": target of shape ", target.shape(), " for logits of shape ", logits.shape(),
                             "; it must be ", rows));
  if (target.dtype() != DType::int64 && target.dtype() != DType::int32)
    throw DTypeError(message(op, ": target must be int64 or int32, not ", target.dtype()));
  if (!(target.device() == logits.device()))
    throw DeviceError(message(op, ": logits on ", logits.device(), ", target on ", target.device()));
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError(message(op, ": label_smoothing must be in [0, 1], not ", options.label_smoothing));
  if (!options.weight.defined()) return;
  check_same(op, logits, options.weight, "logits", "weight");
  if (!(options.weight.shape() == Dims{logits.size(-1)}))
    throw ShapeError(message(op, ": weight of shape ", options.weight.shape(), " for logits of shape ", logits.shape(),
                             "; it must be [", logits.size(-1), "]"));
  if (options.weight.requires_grad() && grad_mode())
    throw AutogradError(message(op, ": the weight's gradient is not computed; pass weight.detach()"));
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& options) {
  check(input, target, options);
  const Settings o{options.ignore_index, options.label_smoothing, options.reduction};
  const Tensor logits = input.strides()[input.rank() - 1] == 1 ? input : contiguous(input);
  const Tensor index = contiguous(target),
               weight = options.weight.defined() ? contiguous(options.weight.detach()) : Tensor();
  const Device device = logits.device();
  const DType wide = logits.dtype() == DType::float64 ? DType::float64 : DType::float32;
  Output loss = output(o.reduction == Reduction::none ? index.shape() : Dims{}, logits.dtype(), device),
         lse = output({2, index.numel()}, wide, device), divisor = output({}, DType::float64, device);
  kernel::cross_entropy_forward::on(device)(lines(logits.rank() - 1, logits), view(o, index, weight), loss.data(),
                                            lse.data(), divisor.data<double>());
  return with_grad("cross_entropy", loss, {logits}, {logits, index, weight, lse, divisor},
                   [o](Saved& s, const Tensor& dy) {
                     if (grad_mode()) return Grads{composed(o, s[0], s.constant(1), s.constant(2), s.constant(4), dy)};
                     return Grads{fused(o, s[0], s[1], s[2], s[3], s[4], dy)};
                   });
}

}  // namespace tutti
