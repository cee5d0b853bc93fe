#include "tutti/nn/optim/detail/device_limits.h"

#include <iterator>
#include <map>
#include <utility>

#include "tutti/core/detail/private_pool.h"
#include "tutti/core/error.h"

namespace tutti::optim {
namespace {

/// Element number i of a tensor of this shape.
Dims index_of(Dims shape, int64_t i) {
  for (int k = shape.n - 1; k >= 0; --k) {
    const int64_t size = shape[k];
    shape[k] = i % size;
    i /= size;
  }
  return shape;
}

[[noreturn]] void refuse(const GradientNames& names, uint64_t at, const char* what) {
  const auto element = static_cast<int64_t>(at);
  const GradientNames::One* found = nullptr;
  for (const auto& g : names.gradients)
    if (g.begin <= element && g.shape.product() > 0) found = &g;
  if (!found) throw ValueError(message(names.op, ": a gradient is not finite"));
  const std::string name = found->name.empty() ? "" : message(", ", found->name, ",");
  throw ValueError(message(names.op, ": the gradient of parameter ", found->position, name, " of shape ", found->shape,
                           " is ", what, " at ", index_of(found->shape, element - found->begin)));
}

}  // namespace

DeviceLimits& DeviceLimits::of(Device device) {
  // Never destroyed: static tensors wait late.
  static std::mutex mutex;
  static auto& all = *new std::map<std::pair<DeviceType, int>, std::unique_ptr<DeviceLimits>>;
  const std::lock_guard lock(mutex);
  const memory::PrivatePool::Scope outside(nullptr);  // it outlives every graph
  auto& one = all[{device.type, device.index}];
  if (!one) one.reset(new DeviceLimits(device));
  return *one;
}

DeviceLimits::DeviceLimits(Device device) : refusal_(device, sizeof(GradientRefusal)) { clear(); }

void DeviceLimits::clear() {
  const GradientRefusal none{0, ~0ull, ~0ull};
  backend(refusal_.device).copy(refusal_.data, refusal_.device, &none, cpu, sizeof none);
}

unsigned long long DeviceLimits::number(GradientNames names) {
  again(++calls_, names);
  return calls_;
}

void DeviceLimits::again(unsigned long long call, const GradientNames& names) {
  const auto after = pending_.upper_bound(call);
  if (after == pending_.begin() || !(std::prev(after)->second == names)) pending_[call] = names;
  if (!asking_) after_wait(refusal_.device, [this] { ask(); });
  asking_ = true;
}

void DeviceLimits::ask() {
  const std::lock_guard lock(mutex);
  asking_ = false;
  const auto calls = std::exchange(pending_, {});
  GradientRefusal found{};
  backend(refusal_.device).copy(&found, cpu, refusal_.data, refusal_.device, sizeof found);
  if (found.call == 0) return;
  clear();
  const auto after = calls.upper_bound(found.call);
  if (after == calls.begin()) throw ValueError("a gradient is not finite");
  const bool nan = found.nan != ~0ull;
  refuse(std::prev(after)->second, nan ? found.nan : found.infinite, nan ? "NaN" : "infinite");
}

}  // namespace tutti::optim
