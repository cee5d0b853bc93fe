// Where a tensor lives.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace tutti {

enum class DeviceType : uint8_t { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = 0;
  bool operator==(const Device&) const = default;
  /// The CUDA device of this number. DeviceError if there is none, saying what is missing: the backend in this build, a
  /// driver, or the device.
  static Device cuda(int index = 0);
};
inline constexpr Device cpu{};

/// Whether there is a CUDA device to compute on.
bool cuda_available();
/// How many; 0 in a build without CUDA or on a machine without a driver.
int cuda_device_count();

/// Where factories (zeros, randn, Tensor::from, the parameters of modules) put a tensor if they are not told: the CPU
/// at first, or what TUTTI_DEVICE names ("cpu", "cuda", "cuda:1").
Device default_device();
/// For all threads, from now on. DeviceError if there is no such device.
void set_default_device(Device device);
/// The device of this name: "cpu", "cuda" (the first one), "cuda:1". ValueError for another text, DeviceError if there
/// is no such device.
Device device_from(std::string_view name);

/// "cpu", "cuda:0".
std::string to_string(Device device);

}  // namespace tutti
#pragma GCC visibility pop
