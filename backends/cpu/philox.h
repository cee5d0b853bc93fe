// For kernel files only: Philox in bulk. The rounds are written over arrays of lanes, which compilers turn into vector
// code for every instruction set.
#pragma once
#include "tutti/core/philox.h"

namespace tutti {
namespace {

constexpr int64_t words_per_call = 64;

/// Words 64 * call ... 64 * call + 63 of the key's sequence, in order.
void philox_words(RandomKey key, int64_t call, uint32_t (&words)[words_per_call]) {
  constexpr int n = words_per_call / 4;
  const uint64_t first = static_cast<uint64_t>(call) * n;
  alignas(64) uint32_t c0[n], c1[n], c2[n], c3[n];
  for (int i = 0; i < n; ++i) {
    const uint64_t block = first + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(block);
    c1[i] = static_cast<uint32_t>(block >> 32);
    c2[i] = static_cast<uint32_t>(key.stream);
    c3[i] = static_cast<uint32_t>(key.stream >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < n; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[i], p1 = uint64_t{0xCD9E8D57u} * c2[i];
      const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0,
                     n2 = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<uint32_t>(p1);
      c3[i] = static_cast<uint32_t>(p0);
      c0[i] = n0;
      c2[i] = n2;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < n; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

}  // namespace
}  // namespace tutti
