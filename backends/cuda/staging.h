// For backends/cuda only: host memory on its way to the device, through pinned memory, so that the host need not wait.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tutti::cuda {

// Backend::send and arrive: by a stream of copies beside the device's own.
uint64_t send(int index, void* to, const void* from, size_t bytes);
void arrive(int index, uint64_t sent);

}  // namespace tutti::cuda
