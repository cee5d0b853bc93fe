#include "tutti/nn/optim/clip.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tutti/autograd/anomaly.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/nn/optim/detail/slots.h"

namespace tutti::optim {
namespace {

using Named = std::vector<NamedParameter>;

std::vector<Tensor> tensors_of(const Named& named) {
  std::vector<Tensor> list;
  for (const auto& [name, p] : named) list.push_back(p);
  return list;
}

/// Names the first parameter whose gradient is NaN, or if there is none, infinite.
[[noreturn]] void refuse(const char* op, const std::vector<Tensor>& parameters, const Named* named) {
  for (const bool infinite : {false, true})
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Tensor gradient = parameters[i].defined() ? parameters[i].grad() : Tensor();
      if (!gradient.defined()) continue;
      const NotFinite found = find_not_finite(gradient, infinite);
      if (!found.what) continue;
      const std::string name = named ? message(", ", (*named)[i].first, ",") : "";
      throw ValueError(message(op, ": the gradient of parameter ", i, name, " of shape ", gradient.shape(), " is ",
                               found.what, " at ", found.at));
    }
  throw ValueError(message(op, ": a gradient is not finite"));
}

SlotList gradients_of(const char* op, const std::vector<Tensor>& parameters) {
  SlotList slots(op);
  std::set<const TensorImpl*> seen;
  for (const Tensor& p : parameters)
    if (p.defined() && seen.insert(p.impl()).second) slots.add(p);
  return slots;
}

double square_sum(const SlotList& slots, double scale) {
  std::vector<double> partial(static_cast<size_t>(slots.pieces()));
  kernel::gradient_square_sum::on(slots.device())(slots.view(), scale, partial.data());
  double sum = 0;
  for (double x : partial) sum += x;
  return sum;
}

double largest(const SlotList& slots) {
  std::vector<double> partial(static_cast<size_t>(slots.pieces()));
  kernel::gradient_largest::on(slots.device())(slots.view(), partial.data());
  double top = 0;
  for (double x : partial)
    if (x > top || std::isnan(x)) top = x;
  return top;
}

/// The power of two near 1 / top that brings every gradient into the range of squares. Where one that is not 0 may be
/// float32, it is one that float32 holds too; one so small that it holds none, or so large that theirs vanish beside
/// it, is float64's.
double scale_for(const SlotList& slots, double top) {
  bool wide = true;
  for (size_t i = 0; i < slots.size(); ++i) wide = wide && slots.parameter(i).dtype() == DType::float64;
  int exponent = 0;
  std::frexp(top, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1000, wide || top < 0x1p-149 ? 1000 : 126));
}

/// Write access to every gradient; a strided one is replaced by the contiguous copy that the slot holds.
void write(const char* op, SlotList& slots) {
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].gradient = in_place(op, slots.gradient(i)).data();
    slots.parameter(i).set_grad(slots.gradient(i));
  }
}

double limit_norm(const std::vector<Tensor>& parameters, const Named* named, double max_norm) {
  if (!(max_norm >= 0)) throw ValueError(message("clip_grad_norm: max_norm is ", max_norm, "; it must be at least 0"));
  const no_grad off;
  SlotList slots = gradients_of("clip_grad_norm", parameters);
  if (slots.size() == 0) return 0;
  double norm = std::sqrt(square_sum(slots, 1)), scale = 1;
  // Squares of large or small numbers leave the range of float32: then divide by the largest first.
  if (!(norm > 1e-12 && std::isfinite(norm))) {
    const double top = largest(slots);
    if (!std::isfinite(top)) refuse("clip_grad_norm", parameters, named);
    if (top == 0) return 0;
    scale = scale_for(slots, top);
    norm = std::sqrt(square_sum(slots, scale));  // of the scaled gradients
  }
  if (norm / scale <= max_norm) return norm / scale;
  const double factor = max_norm / norm * scale, half = std::sqrt(factor);
  const bool small = factor < 1e-30;
  write("clip_grad_norm", slots);
  kernel::gradient_scale::on(slots.device())(slots.view(), small ? half : factor, small ? half : 1);
  return norm / scale;
}

void limit_value(const std::vector<Tensor>& parameters, const Named* named, double limit) {
  if (!(limit >= 0)) throw ValueError(message("clip_grad_value: limit is ", limit, "; it must be at least 0"));
  const no_grad off;
  SlotList slots = gradients_of("clip_grad_value", parameters);
  if (slots.size() == 0) return;
  if (std::isnan(largest(slots))) refuse("clip_grad_value", parameters, named);
  write("clip_grad_value", slots);
  kernel::gradient_clamp::on(slots.device())(slots.view(), limit);
}

}  // namespace

double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm) {
  return limit_norm(parameters, nullptr, max_norm);
}
void clip_grad_value(const std::vector<Tensor>& parameters, double limit) { limit_value(parameters, nullptr, limit); }

template <std::same_as<NamedParameter> N>
double clip_grad_norm(const std::vector<N>& parameters, double max_norm) {
  return limit_norm(tensors_of(parameters), &parameters, max_norm);
}
template <std::same_as<NamedParameter> N>
void clip_grad_value(const std::vector<N>& parameters, double limit) {
  limit_value(tensors_of(parameters), &parameters, limit);
}
// Shown to users of a shared library: an instance does not have it from its template.
template __attribute__((visibility("default"))) double clip_grad_norm(const Named& parameters, double max_norm);
template __attribute__((visibility("default"))) void clip_grad_value(const Named& parameters, double limit);

}  // namespace tutti::optim
