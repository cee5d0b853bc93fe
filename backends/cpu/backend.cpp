// The CPU as a backend: host memory. Its kernels are in kernels/.
#include "tutti/core/backend.h"

#include <cstdlib>
#include <cstring>

namespace tutti {

extern const Backend cpu_backend;
const Backend cpu_backend{
    "cpu",
    [](size_t bytes) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); },
    [](void* p, size_t) { std::free(p); },
    [](void* to, Device, const void* from, Device, size_t bytes) {
      if (bytes) std::memcpy(to, from, bytes);
    },
    [] {},
};

}  // namespace tutti
