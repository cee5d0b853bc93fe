// How a batched product becomes pieces of work: first simplified, then cut, by its shape and strides alone.
#pragma once
#include "tutti/backends/contract/gemm.h"

namespace tutti::kernel {

/// A product whose batch is split into the axes that c has and those that it sums over.
struct Plan {
  struct Axes {
    Dims shape, a, b, c, bias;  // sizes and strides
  };
  ConstMatrix a, b;
  Matrix c;
  const void* bias;
  bool accumulate;
  Axes kept, summed;
  int64_t matrices = 1, sums = 1;  // products of kept.shape and summed.shape

  // The pieces: row_parts x col_parts x inner_parts of each matrix, or `together` whole matrices at a time. The parts
  // of the inner dimension (of the sum axes, if there are any) are added up in order.
  int64_t row_chunk = 0, col_chunk = 0, inner_chunk = 0, together = 1;
  int64_t row_parts = 1, col_parts = 1, inner_parts = 1;
};

Plan plan(const Product& product);

}  // namespace tutti::kernel
