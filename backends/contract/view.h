// What kernels see of tensors: plain views, by value, with the dtype inside. Read-only ones come from Tensors, writable
// ones only from Outputs (make_view.h), so a kernel cannot be handed a user's tensor to write.
#pragma once
#include "tutti/core/dims.h"
#include "tutti/core/dtype.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Rows along one axis of a strided tensor of any rank: `width` elements `stride` apart; the row starts are a small
/// strided grid (all other axes in order, coalesced where strides allow). Strides in elements.
template <class Void>
struct BasicRows {
  Void* data;
  DType dtype;
  int64_t width, stride;
  int64_t count;  // number of rows = outer.product()
  Dims outer, outer_strides;
};
using Rows = BasicRows<void>;
using ConstRows = BasicRows<const void>;

/// N operands and an output over one iteration space: broadcast (stride 0) and coalesced together, innermost axis last.
/// Axes of size 1 are gone, so a scalar has shape []. Each operand has its own dtype. The output may be one of the
/// inputs (same address and strides); it never overlaps one otherwise.
template <int N>
struct Elements {
  void* out;
  const void* in[N];
  DType out_dtype, dtype[N];
  Dims shape, out_strides, in_strides[N];
};

/// A batch of matrices: each axis of the batch has its own stride, 0 where broadcast. An empty batch is one matrix.
template <class Void>
struct BasicMatrix {
  Void* data;
  DType dtype;
  int64_t rows, cols, row_stride, col_stride;
  Dims batch_strides;
};
using Matrix = BasicMatrix<void>;
using ConstMatrix = BasicMatrix<const void>;

/// The element offset of row `row` (row-major index into the grid `outer`). Out of line: baseline code.
int64_t row_offset(const Dims& outer, const Dims& strides, int64_t row);

/// For kernels that meet an index out of range: throws IndexError. Out of line, so that no exception code is compiled
/// per instruction set. Text: "<op>: <what> <value> at position <position> is out of range [0, <limit>)".
[[noreturn]] void throw_index_error(const char* op, const char* what, int64_t value, int64_t position, int64_t limit);

}  // namespace tutti
#pragma GCC visibility pop
