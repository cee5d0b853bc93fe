// Where a tensor lives.
#pragma once
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace tutti {

enum class DeviceType : uint8_t { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = 0;
  bool operator==(const Device&) const = default;
};
inline constexpr Device cpu{};

/// "cpu", "cuda:0".
std::string to_string(Device device);

}  // namespace tutti
#pragma GCC visibility pop
