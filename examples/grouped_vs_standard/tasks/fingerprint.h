// A number that stands for a tensor's bytes.
#pragma once
#include <cstdint>

#include "tutti/core/tensor.h"

namespace comparison {

/// FNV-1a (64 bits) of the elements' bytes in row-major order. The shape does not count.
uint64_t fingerprint(const tutti::Tensor& x);

}  // namespace comparison
