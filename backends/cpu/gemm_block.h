// Matrix products on one thread, compiled per instruction set: packed and register-tiled, in dot products for few rows;
// and the additions around any.
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

/// How long equal parts of at most `most` are (the last may be shorter); by the size alone, as what is cut must be.
TUTTI_INLINE int64_t equal_parts(int64_t size, int64_t most) {
  const int64_t parts = (size + most - 1) / most;
  return parts ? (size + parts - 1) / parts : 0;
}

/// c = a b + bias, or c += a b; all of one dtype, float32 or float64. Not empty.
struct Block {
  ConstMatrix a, b;
  Matrix c;
  const void* bias;  ///< c.cols elements, or null
  bool accumulate;
};

/// b [at most max_inner, max_cols] into panels of columns, the last filled up with zeros: b.rows * filled(b.cols)
/// elements. Packed, it stays in the second-level cache while the rows of a pass by.
struct gemm_pack : Kernel<gemm_pack, Gap::cuda> {
  static constexpr int64_t max_inner = 384, max_cols = 256, unit = 32;  // a panel is at most a unit wide
  static constexpr int64_t filled(int64_t cols) { return (cols + unit - 1) / unit * unit; }
  template <class Target>
  static void run(const ConstMatrix& b, void* packed);
};

/// block.c = a b + bias (or +=), b packed. Rows of a that are contiguous and at least least_rows are read where they
/// lie, others are copied, max_rows at a time, to `scratch`. Every element is summed in the same order wherever it
/// lies.
struct gemm_packed : Kernel<gemm_packed, Gap::cuda> {
  static constexpr int64_t max_rows = 192, least_rows = 4;
  static int64_t scratch_elements(const ConstMatrix& a);
  template <class Target>
  static void run(const Block& block, const void* packed_b, void* scratch);
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

/// Rows `row` .. and columns `col` .. of m.
template <class M>
M part(M m, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  m.data = advance(m.data, m.dtype, row * m.row_stride + col * m.col_stride);
  m.rows = rows;
  m.cols = cols;
  return m;
}

/// block.c = a b + bias (or +=) on this thread, b packed as it goes.
void multiply(const Block& block);

/// b, packed once for the products of many pieces of a.
class Packed {
 public:
  static size_t bytes(const ConstMatrix& b);
  /// `memory`: `bytes` of it, 64-byte aligned. Nothing is packed yet.
  Packed(const ConstMatrix& b, void* memory) : b_(b), memory_(memory) {}
  /// Packing is cut into so many parts, which do not depend on each other.
  int64_t parts() const;
  void pack(int64_t part) const;
  /// c = a b[:, col ..] + bias, or +=. `col` is a multiple of gemm_pack::unit.
  void multiply(const ConstMatrix& a, int64_t col, const Matrix& c, const void* bias, bool accumulate) const;

 private:
  ConstMatrix b_;
  void* memory_;
};

}  // namespace tutti::kernel
