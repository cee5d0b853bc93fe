#include "ptx.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "recorder.h"
#include "running.h"

namespace emulator {

void check_row(const void* row, Site site) {
  if (reinterpret_cast<uintptr_t>(row) % 16) fail("ldmatrix: a row that is not aligned to 16 bytes", site);
  if (!in_shared(row, 16)) fail("ldmatrix: a row that is not inside one shared array", site);
}
void read_rows(const Lanes& lanes, int rows) {
  if (!recorder) return;
  for (int l = 0; l < rows; ++l) recorder->read(lanes.in[l], 16, __builtin_return_address(0));
}

namespace {
float half_of(unsigned word, int which, MmaType type) {
  const auto bits = static_cast<uint16_t>(which ? word >> 16 : word & 0xffff);
  if (type == MmaType::f16) return __half2float(__half(__half_raw{bits}));
  return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{bits}));
}
float tf32_of(unsigned word) {
  word &= 0xffffe000u;
  float f;
  std::memcpy(&f, &word, sizeof f);
  return f;
}
}  // namespace

void multiply(const Lanes& lanes, MmaType type) {
  float a[16][16] = {}, b[16][8] = {}, c[16][8];
  const int depth = type == MmaType::tf32 ? 8 : 16;
  for (int l = 0; l < 32; ++l) {
    const auto& in = *static_cast<const MmaOperands*>(lanes.in[l]);
    const int group = l / 4, t = l % 4;
    for (int r = 0; r < 4; ++r) {
      const int row = group + 8 * (r & 1);
      if (type == MmaType::tf32)
        a[row][t + 4 * (r >> 1)] = tf32_of(in.a[r]);
      else
        for (int h = 0; h < 2; ++h) a[row][2 * t + h + 8 * (r >> 1)] = half_of(in.a[r], h, type);
      c[group + 8 * (r >> 1)][2 * t + (r & 1)] = in.c[r];
    }
    for (int r = 0; r < 2; ++r) {
      if (type == MmaType::tf32)
        b[t + 4 * r][group] = tf32_of(in.b[r]);
      else
        for (int h = 0; h < 2; ++h) b[2 * t + h + 8 * r][group] = half_of(in.b[r], h, type);
    }
  }
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < depth; ++k)
      for (int j = 0; j < 8; ++j) c[i][j] += a[i][k] * b[k][j];
  for (int l = 0; l < 32; ++l)
    for (int r = 0; r < 4; ++r) static_cast<float*>(lanes.out[l])[r] = c[l / 4 + 8 * (r >> 1)][2 * (l % 4) + (r & 1)];
}

}  // namespace emulator
