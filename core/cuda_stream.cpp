#include "tutti/core/cuda_stream.h"

#include "tutti/core/backend.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

const Backend& with_streams(const char* what, Device device) {
  const Backend& b = backend(device);
  if (!b.stream) throw DeviceError(message(what, ": device ", device, " has no streams"));
  return b;
}

}  // namespace

void* cuda_stream(Device device) { return with_streams("cuda_stream", device).stream(device.index); }

CudaStreamScope::CudaStreamScope(Device device, void* stream)
    : device_(device), before_(with_streams("CudaStreamScope", device).use_stream(device.index, stream)) {}
CudaStreamScope::~CudaStreamScope() {
  try {
    backend(device_).use_stream(device_.index, before_);
  } catch (...) {  // a device that is lost: the next launch says so
  }
}

}  // namespace tutti
