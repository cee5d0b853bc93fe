// Inside the emulator: one product of matrices for cuBLAS and cuBLASLt, in double, in a fixed order.
#pragma once
#include <library_types.h>

#include <cstdint>

namespace emulator::blas {

struct Operand {
  const void* data;
  cudaDataType type;
  int64_t ld, batch_stride;
  bool transposed;  ///< of a matrix whose columns are contiguous
};
enum class Function { none, relu, gelu };
struct Product {
  int64_t m, n, k, batches;
  double alpha, beta;
  Operand a, b, c, d;
  Function function = Function::none;
  const void* bias = nullptr;  ///< m numbers, added to each column; of type bias_type
  cudaDataType bias_type = CUDA_R_32F;
  int64_t bias_stride = 0;  ///< from one product of the batch to the next
  void* aux = nullptr;      ///< the argument of the function is kept here: m x n, of d's type
  int64_t aux_ld = 0, aux_stride = 0;
  bool tf32 = false;
};

/// False: a leading dimension that is too short, or a type that the emulator has not.
bool valid(const Product& p);
void run(const Product& p);  ///< notes a fault if an operand is outside its buffer

double load(const void* p, int64_t i, cudaDataType type);
void store(void* p, int64_t i, cudaDataType type, double value);

}  // namespace emulator::blas
