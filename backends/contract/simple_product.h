// For backends: a product with its batch axes merged where the strides allow, and split into those that c has and those
// that it sums over.
#pragma once
#include "tutti/backends/contract/gemm.h"

namespace tutti::kernel {

struct SimpleProduct {
  struct Axes {
    Dims shape, a, b, c, bias;  // sizes and strides
  };
  ConstMatrix a, b;
  Matrix c;
  const void* bias;
  bool accumulate;
  Axes kept, summed;
  int64_t matrices = 1, sums = 1;  // products of kept.shape and summed.shape
};

/// The same sums in the same order.
SimpleProduct simplified(const Product& product);

}  // namespace tutti::kernel
