// The CPU's twins of backends/cuda/ptx.h: tensor-core products and matrix loads, with the layouts of the PTX manual.
#pragma once
#include <cstdint>
#include <cstring>

#include "block.h"
#include "shared_memory.h"

namespace emulator {

void read_rows(const Lanes& lanes, int rows);  // reported to the access recorder
void check_row(const void* row, Site site);    // 16 bytes of shared memory, aligned

struct MmaOperands {
  unsigned a[4], b[2];
  float c[4];
};
enum class MmaType { bf16, f16, tf32 };
void multiply(const Lanes& lanes, MmaType type);

template <MmaType type>
EMULATOR_SILENT void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], const float (&c)[4],
                         Site site) {
  MmaOperands operands;
  std::memcpy(operands.a, a, sizeof a);
  std::memcpy(operands.b, b, sizeof b);
  std::memcpy(operands.c, c, sizeof c);
  float result[4];
  collective(
      ~0u, [](Lanes& lanes) { multiply(lanes, type); }, &operands, result, 0, site);
  std::memcpy(d, result, sizeof d);
}

/// Lane l gets two neighbours of row l / 4 of each 8x8 matrix, or, transposed, of column l / 4.
template <int count, bool transposed>
EMULATOR_SILENT void load_matrices(unsigned (&r)[count], const void* row, Site site) {
  if (lane() < 8 * count) check_row(row, site);
  unsigned result[count];
  collective(
      ~0u,
      [](Lanes& lanes) EMULATOR_SILENT {
        read_rows(lanes, 8 * count);
        for (int l = 0; l < 32; ++l)
          for (int m = 0; m < count; ++m) {
            uint16_t pair[2];
            for (int h = 0; h < 2; ++h) {
              const int i = transposed ? 2 * (l % 4) + h : l / 4, j = transposed ? l / 4 : 2 * (l % 4) + h;
              std::memcpy(&pair[h], static_cast<const char*>(lanes.in[8 * m + i]) + 2 * j, 2);
            }
            std::memcpy(static_cast<unsigned*>(lanes.out[l]) + m, pair, 4);
          }
      },
      row, result, 0, site);
  std::memcpy(r, result, sizeof r);
}

}  // namespace emulator

namespace ptx {

EMULATOR_SILENT inline void mma_bf16_16x8x16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                             const float (&c)[4], EMULATOR_SITE) {
  emulator::mma<emulator::MmaType::bf16>(d, a, b, c, site);
}
EMULATOR_SILENT inline void mma_f16_16x8x16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                            const float (&c)[4], EMULATOR_SITE) {
  emulator::mma<emulator::MmaType::f16>(d, a, b, c, site);
}
EMULATOR_SILENT inline void mma_tf32_16x8x8(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                            const float (&c)[4], EMULATOR_SITE) {
  emulator::mma<emulator::MmaType::tf32>(d, a, b, c, site);
}
inline unsigned to_tf32(float x) {
  unsigned word;
  std::memcpy(&word, &x, sizeof word);
  const unsigned size = word & 0x7fffffffu, infinite = 0x7f800000u;
  if (size > infinite) return 0x7fffffffu;  // NaN
  return size < infinite ? (word + 0x1000u) & 0xffffe000u : word;
}
EMULATOR_SILENT inline void ldmatrix_x2(unsigned (&r)[2], const void* row, EMULATOR_SITE) {
  emulator::load_matrices<2, false>(r, row, site);
}
EMULATOR_SILENT inline void ldmatrix_x4(unsigned (&r)[4], const void* row, EMULATOR_SITE) {
  emulator::load_matrices<4, false>(r, row, site);
}
EMULATOR_SILENT inline void ldmatrix_x2_trans(unsigned (&r)[2], const void* row, EMULATOR_SITE) {
  emulator::load_matrices<2, true>(r, row, site);
}
EMULATOR_SILENT inline void ldmatrix_x4_trans(unsigned (&r)[4], const void* row, EMULATOR_SITE) {
  emulator::load_matrices<4, true>(r, row, site);
}

}  // namespace ptx
