// What gemm.cpp calls on one thread, compiled per instruction set: our own matrix products, packed and register-tiled
// for float64 and for strides that oneDNN cannot take, in dot products for few rows; and the additions around any.
#pragma once
#include <type_traits>

#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"

namespace tutti::kernel {

/// p, so many elements on; null stays null.
template <class Void>
TUTTI_INLINE Void* advance(Void* p, DType dtype, int64_t elements) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const char, char>;
  return p ? static_cast<Byte*>(p) + elements * static_cast<int64_t>(size_of(dtype)) : p;
}

/// c = a b + bias, or c += a b; all of one dtype, float32 or float64. Not empty.
struct Block {
  ConstMatrix a, b;
  Matrix c;
  const void* bias;  ///< c.cols elements, or null
  bool accumulate;
};

struct gemm_block : Kernel<gemm_block, Gap::cuda> {
  // The pieces of a and b that are packed at a time: they stay in the second-level cache.
  static constexpr int64_t max_rows = 192, max_cols = 256, max_inner = 256;
  /// Elements of scratch memory that `block` needs (packed panels are filled up to whole tiles of at most 12 x 32).
  static int64_t scratch_elements(const Block& block);
  /// `scratch` is 64-byte aligned.
  template <class Target>
  static void run(const Block& block, void* scratch);
};

/// The same where a has few rows and the inner dimension is contiguous in a and b (y = x W^T, W [out, in]): nothing is
/// packed, b is read from memory once, in its own layout. Every element is summed in the same order wherever it lies.
/// The inner dimension fills a vector at least (16 elements).
struct gemm_few_rows : Kernel<gemm_few_rows, Gap::cuda> {
  template <class Target>
  static void run(const Block& block);
};

/// c += other, row by row; other's rows are `other_stride` apart (0: a bias). c.col_stride is 1.
struct gemm_add : Kernel<gemm_add, Gap::cuda> {
  template <class Target>
  static void run(Matrix c, const void* other, int64_t other_stride);
};

/// block.c = a b + bias (or +=) on this thread, by oneDNN where it can. The caller holds an OneDnnAlone, and signals
/// (gemm.cpp says why).
void multiply(const Block& block);

}  // namespace tutti::kernel
