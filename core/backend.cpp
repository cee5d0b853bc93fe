#include "tutti/core/backend.h"

#include "tutti/config.h"
#include "tutti/core/error.h"

namespace tutti {

// Each is defined by its backend's folder; cuda's only in a build that has it.
extern const Backend cpu_backend;
extern const Backend cuda_backend;

std::string to_string(Device device) {
  return device.type == DeviceType::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

const Backend& backend(Device device) {
  if (device.type == DeviceType::cpu && device.index == 0) return cpu_backend;
  if constexpr (config::cuda) {
    if (device.type == DeviceType::cuda) return cuda_backend;
  }
  throw DeviceError(message("device ", device, ": this build of Tutti has no such device",
                            device.type == DeviceType::cuda ? " (configure with -DTUTTI_CUDA=ON)" : ""));
}

}  // namespace tutti
