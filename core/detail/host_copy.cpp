#include "tutti/core/detail/host_copy.h"

#include <cstring>

namespace tutti {
namespace {

template <size_t size>
void gather(const Tensor& x, const char* first, char* to) {
  for_each_offset(x.shape(), x.strides(), [&](int64_t at) {
    std::memcpy(to, first + at * static_cast<int64_t>(size), size);
    to += size;
  });
}

}  // namespace

HostCopy::HostCopy(const Tensor& x) : keep_(x), bytes_(static_cast<size_t>(x.numel()) * size_of(x.dtype())) {
  data_ = static_cast<const char*>(x.data());
  if (x.is_contiguous()) {
    if (x.device() == cpu) return;
    copy_.resize(bytes_);
    backend(x.device()).copy(copy_.data(), cpu, x.data(), x.device(), bytes_);
  } else {
    // From another device the whole storage at once: one transfer instead of one per element.
    const Storage& storage = *x.impl()->storage;
    std::vector<char> whole;
    if (x.device() != cpu) {
      whole.resize(storage.bytes);
      backend(x.device()).copy(whole.data(), cpu, storage.data, x.device(), storage.bytes);
      data_ = whole.data() + x.impl()->offset * static_cast<int64_t>(size_of(x.dtype()));
    }
    copy_.resize(bytes_);
    switch (size_of(x.dtype())) {
      case 1:
        gather<1>(x, data_, copy_.data());
        break;
      case 2:
        gather<2>(x, data_, copy_.data());
        break;
      case 4:
        gather<4>(x, data_, copy_.data());
        break;
      default:
        gather<8>(x, data_, copy_.data());
    }
  }
  data_ = copy_.data();
}

Tensor placed(const Output& host, Device device) {
  if (device == cpu) return Access::tensor(Access::handle(host));
  const Output there = output(host.shape(), host.dtype(), device);
  backend(device).copy(there.data(), device, host.data(), cpu,
                       static_cast<size_t>(host.numel()) * size_of(host.dtype()));
  return Access::tensor(Access::handle(there));
}

}  // namespace tutti
