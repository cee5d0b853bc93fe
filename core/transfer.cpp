#include "tutti/core/transfer.h"

#include <utility>

namespace tutti {

Transfer::Transfer(Device device, void* to, const void* from, size_t bytes) {
  const Backend& target = backend(device);
  if (target.send) {
    sent_ = target.send(device.index, to, from, bytes);
    device_ = device;
  } else {
    target.copy(to, device, from, cpu, bytes);
  }
}
Transfer::Transfer(Transfer&& other) noexcept : device_(std::exchange(other.device_, cpu)), sent_(other.sent_) {}
Transfer& Transfer::operator=(Transfer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(sent_, other.sent_);
  return *this;
}
Transfer::~Transfer() {
  try {
    arrive();      // the memory may be another's next
  } catch (...) {  // a device that is lost
  }
}

void Transfer::arrive() {
  const Device device = std::exchange(device_, cpu);
  if (device != cpu) backend(device).arrive(device.index, sent_);
}

}  // namespace tutti
