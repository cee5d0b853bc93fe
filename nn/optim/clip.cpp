#include "tutti/nn/optim/clip.h"

#include <cmath>
#include <set>

#include "tutti/autograd/anomaly.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/cuda_check.h"
#include "tutti/core/cuda_graph.h"
#include "tutti/core/error.h"
#include "tutti/core/profiler_range.h"
#include "tutti/nn/optim/detail/device_limits.h"
#include "tutti/nn/optim/detail/slots.h"

namespace tutti::optim {
namespace {

using Named = std::vector<NamedParameter>;

std::vector<Tensor> tensors_of(const Named& named) {
  std::vector<Tensor> list;
  for (const auto& [name, p] : named) list.push_back(p);
  return list;
}

/// The gradients of one call: those that are there, tied ones once.
struct Gradients {
  const char* op;
  const std::vector<Tensor>& parameters;
  const Named* named;
  SlotList slots;
  std::vector<size_t> positions;  // of the slots' parameters in the list

  Gradients(const char* what, const std::vector<Tensor>& list, const Named* names)
      : op(what), parameters(list), named(names), slots(what) {
    std::set<const TensorImpl*> seen;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& p = parameters[i];
      if (p.defined() && seen.insert(p.impl()).second && slots.add(p)) positions.push_back(i);
    }
  }

  /// Names the first parameter whose gradient is NaN, or if there is none, infinite.
  [[noreturn]] void refuse() const {
    for (const bool infinite : {false, true})
      for (size_t i = 0; i < slots.size(); ++i) {
        const Tensor& gradient = slots.gradient(i);
        const NotFinite found = find_not_finite(gradient, infinite);
        if (!found.what) continue;
        const std::string name = named ? message(", ", (*named)[positions[i]].first, ",") : "";
        throw ValueError(message(op, ": the gradient of parameter ", positions[i], name, " of shape ", gradient.shape(),
                                 " is ", found.what, " at ", found.at));
      }
    throw ValueError(message(op, ": a gradient is not finite"));
  }

  /// What refuse() needs, for an error that comes later.
  GradientNames names() const {
    GradientNames names{op, {}};
    for (size_t i = 0; i < slots.size(); ++i)
      names.gradients.push_back(
          {slots.begin(i), positions[i], slots.gradient(i).shape(), named ? (*named)[positions[i]].first : ""});
    return names;
  }

  /// Write access to every gradient; a strided one is replaced by the contiguous copy that the slot holds.
  void write() {
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i].gradient = in_place(op, slots.gradient(i)).data();
      slots.parameter(i).set_grad(slots.gradient(i));
    }
  }
};

GradNorm limit_norm_at_once(Gradients& g, double max_norm) {
  SlotTables tables;
  GradientLimit limit{};
  kernel::gradient_norm::on(cpu)(tables.view(g.slots), max_norm, &limit, nullptr, 0);
  if (limit.refused) g.refuse();
  if (limit.norm <= max_norm) return limit.norm;
  g.write();
  kernel::gradient_scale::on(cpu)(tables.view(g.slots), &limit, nullptr, 0);
  return limit.norm;
}

/// run(slots, where refusals are noted, the number of the call) on the device.
template <class F>
void launch(Gradients& g, F&& run) {
  g.write();
  const GradientNames names = g.names();
  DeviceLimits& shared = DeviceLimits::of(g.slots.device());
  const std::lock_guard lock(shared.mutex);
  const auto call = shared.number(names);
  Recording* const recording = Recording::current();
  const auto own = recording ? SlotTables::recorded() : nullptr;
  run((own ? *own : shared.tables).view(g.slots), shared.refusal(), call);
  if (recording)
    recording->before_replay([&shared, call, names] {
      const std::lock_guard again(shared.mutex);
      shared.again(call, names);
    });
  else if (cuda_checks_at_once())
    synchronize(g.slots.device());
}

/// Everything that depends on the norm is decided on the device.
GradNorm limit_norm_later(Gradients& g, double max_norm) {
  const Device device = g.slots.device();
  auto found = std::make_shared<Storage>(device, sizeof(GradientLimit));
  auto* limit = static_cast<GradientLimit*>(found->data);
  launch(g, [&](const ParameterSlots& slots, GradientRefusal* refusal, unsigned long long call) {
    kernel::gradient_norm::on(device)(slots, max_norm, limit, refusal, call);
    kernel::gradient_scale::on(device)(slots, limit, refusal, call);
  });
  return GradNorm(std::move(found));
}

GradNorm limit_norm(const std::vector<Tensor>& parameters, const Named* named, double max_norm) {
  const ProfilerRange range("clip_grad_norm");
  if (!(max_norm >= 0)) throw ValueError(message("clip_grad_norm: max_norm is ", max_norm, "; it must be at least 0"));
  const no_grad off;
  Gradients g("clip_grad_norm", parameters, named);
  if (g.slots.size() == 0) return 0;
  return g.slots.device() == cpu ? limit_norm_at_once(g, max_norm) : limit_norm_later(g, max_norm);
}

void limit_value(const std::vector<Tensor>& parameters, const Named* named, double limit) {
  const ProfilerRange range("clip_grad_value");
  if (!(limit >= 0)) throw ValueError(message("clip_grad_value: limit is ", limit, "; it must be at least 0"));
  const no_grad off;
  Gradients g("clip_grad_value", parameters, named);
  if (g.slots.size() == 0) return;
  const Device device = g.slots.device();
  if (device == cpu) {
    SlotTables tables;
    GradientLimit found{};
    kernel::gradient_has_nan::on(device)(tables.view(g.slots), &found, nullptr, 0);
    if (found.refused) g.refuse();
    g.write();
    kernel::gradient_clamp::on(device)(tables.view(g.slots), limit, &found, nullptr, 0);
    return;
  }
  const Storage memory(device, sizeof(GradientLimit));
  auto* found = static_cast<GradientLimit*>(memory.data);
  launch(g, [&](const ParameterSlots& slots, GradientRefusal* refusal, unsigned long long call) {
    kernel::gradient_has_nan::on(device)(slots, found, refusal, call);
    kernel::gradient_clamp::on(device)(slots, limit, found, refusal, call);
  });
}

}  // namespace

GradNorm::operator double() const {
  if (!found_) return value_;
  double norm = 0;
  backend(found_->device).copy(&norm, cpu, found_->data, found_->device, sizeof norm);
  if (!std::isfinite(norm)) throw ValueError("clip_grad_norm: a gradient is not finite");
  return norm;
}

GradNorm clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm) {
  return limit_norm(parameters, nullptr, max_norm);
}
void clip_grad_value(const std::vector<Tensor>& parameters, double limit) { limit_value(parameters, nullptr, limit); }

template <std::same_as<NamedParameter> N>
GradNorm clip_grad_norm(const std::vector<N>& parameters, double max_norm) {
  return limit_norm(tensors_of(parameters), &parameters, max_norm);
}
template <std::same_as<NamedParameter> N>
void clip_grad_value(const std::vector<N>& parameters, double limit) {
  limit_value(tensors_of(parameters), &parameters, limit);
}
// Shown to users of a shared library: an instance does not have it from its template.
template __attribute__((visibility("default"))) GradNorm clip_grad_norm(const Named& parameters, double max_norm);
template __attribute__((visibility("default"))) void clip_grad_value(const Named& parameters, double limit);

}  // namespace tutti::optim
