// Products whose b is packed: as it goes, or once for many pieces of a.
#include "tutti/backends/cpu/gemm_block.h"

#include <algorithm>

#include "tutti/core/scratch.h"

namespace tutti::kernel {
namespace {

int64_t slice_of(int64_t inner) { return equal_parts(inner, gemm_pack::max_inner); }

void product(const Block& g, int64_t inner, int64_t inners, int64_t col, int64_t cols, const void* packed,
             void* scratch) {
  gemm_packed::on(cpu)({part(g.a, 0, g.a.rows, inner, inners), g.b, part(g.c, 0, g.c.rows, col, cols),
                        inner ? nullptr : advance(g.bias, g.c.dtype, col), g.accumulate || inner > 0},
                       packed, scratch);
}

}  // namespace

int64_t gemm_packed::scratch_elements(const ConstMatrix& a) {
  if (a.col_stride == 1 && a.rows >= least_rows) return 0;
  return std::clamp(a.rows, least_rows, max_rows) * slice_of(a.cols);
}

void multiply(const Block& g) {
  const size_t element = size_of(g.c.dtype);
  const int64_t slice = slice_of(g.a.cols), most_cols = std::min(gemm_pack::filled(g.c.cols), gemm_pack::max_cols);
  const Scratch packed(static_cast<size_t>(slice * most_cols) * element);
  const Scratch scratch(static_cast<size_t>(gemm_packed::scratch_elements(g.a)) * element);
  for (int64_t col = 0; col < g.c.cols; col += most_cols)
    for (int64_t inner = 0; inner < g.a.cols; inner += slice) {
      const int64_t cols = std::min(most_cols, g.c.cols - col), inners = std::min(slice, g.a.cols - inner);
      gemm_pack::on(cpu)(part(g.b, inner, inners, col, cols), packed.data());
      product(g, inner, inners, col, cols, packed.data(), scratch.data());
    }
}

// Blocks of max_cols columns one after another; in each, slices of the inner dimension one after another.
size_t Packed::bytes(const ConstMatrix& b) {
  return static_cast<size_t>(b.rows * gemm_pack::filled(b.cols)) * size_of(b.dtype);
}
int64_t Packed::parts() const { return (b_.cols + gemm_pack::max_cols - 1) / gemm_pack::max_cols; }

void Packed::pack(int64_t part_index) const {
  const int64_t col = part_index * gemm_pack::max_cols, cols = std::min(gemm_pack::max_cols, b_.cols - col);
  const int64_t slice = slice_of(b_.rows);
  for (int64_t inner = 0; inner < b_.rows; inner += slice)
    gemm_pack::on(cpu)(part(b_, inner, std::min(slice, b_.rows - inner), col, cols),
                       advance(memory_, b_.dtype, col * b_.rows + inner * gemm_pack::filled(cols)));
}

void Packed::multiply(const ConstMatrix& a, int64_t first, const Matrix& c, const void* bias, bool accumulate) const {
  const Block g{a, b_, c, bias, accumulate};
  const Scratch scratch(static_cast<size_t>(gemm_packed::scratch_elements(a)) * size_of(b_.dtype));
  const int64_t slice = slice_of(b_.rows);
  for (int64_t col = first, cols = 0; col < first + c.cols; col += cols) {
    const int64_t block = col / gemm_pack::max_cols * gemm_pack::max_cols;  // begins here
    const int64_t width = std::min(gemm_pack::max_cols, b_.cols - block);
    cols = std::min(block + width, first + c.cols) - col;
    for (int64_t inner = 0; inner < b_.rows; inner += slice) {
      const int64_t inners = std::min(slice, b_.rows - inner);
      const int64_t at = block * b_.rows + inner * gemm_pack::filled(width) + (col - block) * inners;
      product(g, inner, inners, col - first, cols, advance(memory_, b_.dtype, at), scratch.data());
    }
  }
}

}  // namespace tutti::kernel
