#include "grouped_vs_standard/tasks/fingerprint.h"

#include "tutti/ops/copy.h"
#include "tutti/ops/shape.h"

namespace comparison {

uint64_t fingerprint(const tutti::Tensor& x) {
  const tutti::Tensor dense = tutti::to(tutti::contiguous(x), tutti::cpu);
  const auto* bytes = static_cast<const uint8_t*>(dense.data());
  uint64_t h = 0xcbf29ce484222325;
  for (int64_t i = 0, n = dense.numel() * static_cast<int64_t>(tutti::size_of(dense.dtype())); i < n; ++i)
    h = (h ^ bytes[i]) * 0x100000001b3;
  return h;
}

}  // namespace comparison
