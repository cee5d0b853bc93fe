#include "tutti/core/backend.h"

#include <atomic>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "tutti/config.h"
#include "tutti/core/cuda_check.h"
#include "tutti/core/detail/backends.h"
#include "tutti/core/detail/environment.h"
#include "tutti/core/error.h"

namespace tutti {

namespace {

/// As a number: a Device has the alignment of a byte, and Clang would ask libatomic for it.
using DeviceBits = uint16_t;
static_assert(sizeof(Device) == sizeof(DeviceBits));

/// What the environment says, at first.
std::atomic<DeviceBits>& chosen_device() {
  static std::atomic<DeviceBits> chosen = [] {
    const char* name = std::getenv("TUTTI_DEVICE");
    if (!name || !*name) return std::bit_cast<DeviceBits>(cpu);
    try {
      return std::bit_cast<DeviceBits>(device_from(name));
    } catch (const Error& e) {
      throw DeviceError(message("TUTTI_DEVICE=", name, ": ", std::string_view(e.what())));
    }
  }();
  return chosen;
}

std::atomic<bool>& checks_at_once() {
  static std::atomic<bool> chosen = detail::environment_word("TUTTI_CUDA_CHECK", {"now"}) == 0;
  return chosen;
}

}  // namespace

std::string to_string(Device device) {
  return device.type == DeviceType::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

const Backend& backend(Device device) {
  if (device.type == DeviceType::cpu && device.index == 0) return cpu_backend;
  if (device.type == DeviceType::cpu) throw DeviceError(message("device cpu:", device.index, ": there is one CPU"));
  if constexpr (config::cuda) {
    const int count = cuda_backend.count();
    if (device.index >= 0 && device.index < count) return cuda_backend;
    throw DeviceError(message("device ", device, ": ",
                              count == 0   ? "no CUDA device was found (is the driver installed?)"
                              : count == 1 ? "this machine has one CUDA device, cuda:0"
                                           : message("this machine has ", count, " CUDA devices")));
  }
  throw DeviceError(
      message("device ", device, ": this build of Tutti has no CUDA backend (configure with -DTUTTI_CUDA=ON)"));
}

void synchronize(Device device) { backend(device).synchronize(device.index); }

namespace {

/// What is to be asked of each device. Never destroyed: static tensors wait late.
struct Questions {
  std::mutex mutex;
  std::atomic<int> count{0};  // so that a wait without any takes no lock
  std::map<std::pair<DeviceType, int>, std::deque<std::function<void()>>> lists;
};
Questions& questions() {
  static auto& all = *new Questions;
  return all;
}

}  // namespace

void after_wait(Device device, std::function<void()> ask) {
  Questions& all = questions();
  const std::lock_guard lock(all.mutex);
  all.lists[{device.type, device.index}].push_back(std::move(ask));
  ++all.count;
}

void detail::waited(Device device) {
  Questions& all = questions();
  while (all.count.load(std::memory_order_relaxed) > 0) {
    std::function<void()> ask;
    {
      const std::lock_guard lock(all.mutex);
      auto& list = all.lists[{device.type, device.index}];
      if (list.empty()) return;
      ask = std::move(list.front());
      list.pop_front();
      --all.count;
    }
    ask();
  }
}

int cuda_device_count() {
  if constexpr (config::cuda) return cuda_backend.count();
  return 0;
}
void cuda_check_at_once(bool at_once) { checks_at_once().store(at_once, std::memory_order_relaxed); }
bool cuda_checks_at_once() { return checks_at_once().load(std::memory_order_relaxed); }
bool cuda_available() { return cuda_device_count() > 0; }

Device Device::cuda(int index) {
  if (index < 0 || index > INT8_MAX) throw DeviceError(message("device cuda:", index, ": there is no such device"));
  const Device device{DeviceType::cuda, static_cast<int8_t>(index)};
  (void)backend(device);
  return device;
}

Device device_from(std::string_view name) {
  if (name == "cpu") return cpu;
  if (name == "cuda") return Device::cuda();
  if (name.starts_with("cuda:")) {
    const std::string_view digits = name.substr(5);
    int index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc() && end == digits.data() + digits.size() && index >= 0) return Device::cuda(index);
  }
  throw ValueError(message("device '", name, "': expected cpu, cuda or cuda:<number>"));
}

Device default_device() { return std::bit_cast<Device>(chosen_device().load(std::memory_order_relaxed)); }
void set_default_device(Device device) {
  (void)backend(device);
  chosen_device().store(std::bit_cast<DeviceBits>(device), std::memory_order_relaxed);
}

}  // namespace tutti
