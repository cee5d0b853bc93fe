// Philox4x32-10 as a pure function, shared by the kernels of every backend.
#pragma once
#include <cstdint>

#include "tutti/core/generator.h"
#include "tutti/core/inline.h"

namespace tutti {

struct Philox4 {
  uint32_t v[4];
};

/// The four words of block `block`: element i of a random tensor uses word i % 4 of block i / 4 (float64: words
/// pairwise).
TUTTI_INLINE Philox4 philox(RandomKey key, uint64_t block) {
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
  uint32_t c2 = static_cast<uint32_t>(key.stream), c3 = static_cast<uint32_t>(key.stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// 24 random bits as a float in [0, 1).
TUTTI_INLINE float uniform01(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
/// 53 random bits as a double in [0, 1).
TUTTI_INLINE double uniform01(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

}  // namespace tutti
