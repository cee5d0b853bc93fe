// Instructions that CUDA C++ has no function for (sm_80). Layouts: PTX manual, "Matrix Fragments". Each has a twin of
// the same name in tests/cuda/emulator/ptx.h; nvcc alone reads this file.
#pragma once
#include <cstddef>

namespace ptx {

// d[16][8] = a[16][16] * b[16][8] + c, two numbers of 16 bits to a word. With g = lane / 4 and t = lane % 4:
// a: rows g and g + 8 (words 0, 1), columns 2t, 2t + 1; words 2, 3 the columns 8 further on.
// b: rows 2t, 2t + 1 of column g (word 0), and 8 further down. c, d: row g, columns 2t, 2t + 1; then row g + 8.
#define TUTTI_MMA_16X8X16(name, type)                                                                                 \
  __device__ __forceinline__ void name(float(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2],                    \
                                       const float(&c)[4]) {                                                          \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                                               \
                 ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n"                                   \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), \
                   "f"(c[3]));                                                                                        \
  }
TUTTI_MMA_16X8X16(mma_bf16_16x8x16, "bf16")
TUTTI_MMA_16X8X16(mma_f16_16x8x16, "f16")
#undef TUTTI_MMA_16X8X16

// The same with floats whose last 13 bits are ignored, depth 8. a: rows g, g + 8, column t; then column t + 4. b: row t
// of column g, then row t + 4.
__device__ __forceinline__ void mma_tf32_16x8x8(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

// A float as they take it: to the nearest with 10 bits of mantissa, ties away from zero.
__device__ __forceinline__ unsigned to_tf32(float x) {
  unsigned word;
  asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(word) : "f"(x));
  return word;
}

// Two or four 8x8 matrices of 16-bit numbers from shared memory. Lane l gives the address of row l % 8 of matrix l / 8
// (16 bytes, aligned to as many) and gets two neighbours of row l / 4 of each; transposed: of column l / 4.
#define TUTTI_LDMATRIX_X2(name, form)                                                \
  __device__ __forceinline__ void name(unsigned(&r)[2], const void* row) {           \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" form ".shared.b16 {%0,%1}, [%2];\n" \
                 : "=r"(r[0]), "=r"(r[1])                                            \
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))         \
                 : "memory");                                                        \
  }
#define TUTTI_LDMATRIX_X4(name, form)                                                      \
  __device__ __forceinline__ void name(unsigned(&r)[4], const void* row) {                 \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" form ".shared.b16 {%0,%1,%2,%3}, [%4];\n" \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                          \
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))               \
                 : "memory");                                                              \
  }
TUTTI_LDMATRIX_X2(ldmatrix_x2, "")
TUTTI_LDMATRIX_X2(ldmatrix_x2_trans, ".trans")
TUTTI_LDMATRIX_X4(ldmatrix_x4, "")
TUTTI_LDMATRIX_X4(ldmatrix_x4_trans, ".trans")
#undef TUTTI_LDMATRIX_X2
#undef TUTTI_LDMATRIX_X4

}  // namespace ptx
