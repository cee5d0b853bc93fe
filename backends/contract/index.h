// Kernels that pick and place elements by index. Indices are int64 and have been checked by check_index, so that the
// others write nothing when one is wrong; where the error comes later (a GPU's), they go by and touch nothing beyond.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"

namespace tutti::kernel {

/// DTypeError of a kernel below that has no half types. Out of line: no exception code per instruction set.
[[noreturn]] void throw_no_half(const char* kernel, DType dtype);

/// IndexError of `op` for the first index outside [0, limit), by its row-major position. The rows lie along the last
/// axis.
struct check_index : Kernel<check_index> {
  template <class Target>
  static void run(ConstRows index, int64_t limit, const char* op);
};

/// out = in[0] moved on by in[1] * axis_stride elements: in[0] has stride 0 along the indexed axis, in[1] is the index
/// (below `limit`) broadcast to the output. Of any dtype, out's and in[0]'s being the same.
struct gather : Kernel<gather> {
  template <class Target>
  static void run(const Elements<2>& e, int64_t axis_stride, int64_t limit);
};

/// y[row][index[row][j]] += x[row][j], j ascending. Every row of y belongs to one row of index and x. No half types:
/// rounded after every addition, 5000 ones would be 256 in bfloat16.
struct scatter_add : Kernel<scatter_add> {
  template <class Target>
  static void run(Rows y, ConstRows index, ConstRows x);
};

/// Contiguous arrays y[outer][size][inner], index[count], x[outer][count][inner]: y[o][index[j]] += x[o][j], j
/// ascending. No half types.
struct IndexAdd {
  void* y;
  const void* x;
  const int64_t* index;
  DType dtype;
  int64_t outer, size, count, inner;
};
struct index_add : Kernel<index_add> {
  template <class Target>
  static void run(const IndexAdd& a);
};

/// Rows along the last axis of matrices of `height` rows: y = x where column - row <= diagonal (lower) or >= diagonal
/// (upper), else 0. Of any dtype.
struct triangle : Kernel<triangle> {
  template <class Target>
  static void run(Rows y, ConstRows x, int64_t height, int64_t diagonal, bool lower);
};

}  // namespace tutti::kernel
