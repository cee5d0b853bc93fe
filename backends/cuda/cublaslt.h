// For backends/cuda only: products of matrices by cuBLASLt, which is loaded when it is first used.
#pragma once
#include <cstdint>

#include "tutti/core/dtype.h"

namespace tutti::cuda {

/// As cuBLASLt wants them: a batch of one axis; of every matrix one stride is 1.
struct LibraryProduct {
  /// Row-major with `line` elements between rows; transposed: between columns.
  struct Operand {
    const void* data;
    bool transposed;
    int64_t line, batch_stride;
  };
  DType dtype;  ///< float32 or float64
  int64_t rows, cols, inner, batch;
  Operand a, b;
  void* c;  ///< row-major
  int64_t c_line, c_batch_stride;
  const void* bias;  ///< cols elements, added to every row; or null
  int64_t bias_batch_stride;
  bool accumulate;  ///< then no bias
};

/// False, and nothing done, if the library is not there (TUTTI_CUBLASLT=off says so too) or has no way for this one.
/// Which of its algorithms it takes follows from the shapes and the alignment alone, so that results repeat.
bool multiply(const LibraryProduct& product);

}  // namespace tutti::cuda
