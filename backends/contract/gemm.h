// Matrix products on strided views: the one kernel behind matmul, linear and grouped_linear and their gradients.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"

namespace tutti::kernel {

/// One product of a batch. `batch` lists the sizes of the batch axes; every operand has a stride for each (0 where it
/// is broadcast). Any strides, any sizes (an empty sum is 0). float32 or float64, the same for all operands; c overlaps
/// no operand.
struct Product {
  ConstMatrix a, b;  ///< a [rows, inner], b [inner, cols]
  Matrix c;          ///< [rows, cols]; a batch axis along which c has stride 0 is summed over, in order
  Dims batch;
  const void* bias = nullptr;  ///< cols elements, one after another, added to every row; null: none
  Dims bias_strides;           ///< over the batch; 0 along the axes that are summed over
  bool accumulate = false;     ///< c += instead of c =; then no bias
};

/// c = a b + bias. Cut by the shapes alone: the same bits on every number of threads.
struct gemm : Kernel<gemm, Gap::none, /*per_isa=*/false> {
  template <class Target>
  static void run(const Product& product);
};

}  // namespace tutti::kernel
