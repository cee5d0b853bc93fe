#include "blas.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "emulator.h"
#include "memory.h"
#include "recorder.h"

namespace emulator::blas {
namespace {

int64_t size_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_64F:
      return 8;
    case CUDA_R_32F:
      return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    default:
      return 0;
  }
}
int64_t rows_of(const Operand& o, int64_t rows, int64_t columns) { return o.transposed ? columns : rows; }

bool inside(const char* what, const Operand& o, int64_t rows, int64_t columns, int64_t batches) {
  if (o.transposed) std::swap(rows, columns);
  const int64_t last = (columns - 1) * o.ld + rows + std::max<int64_t>(0, (batches - 1) * o.batch_stride);
  return inside_block(what, o.data, static_cast<size_t>(last * size_of(o.type)));
}
int64_t at(const Operand& o, int64_t i, int64_t j, int64_t batch) {
  return batch * o.batch_stride + (o.transposed ? j + i * o.ld : i + j * o.ld);
}
double as_tf32(double v) {  // what a tensor core sees of a float
  auto f = static_cast<float>(v);
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  bits = (bits + 0x1000u) & 0xffffe000u;
  std::memcpy(&f, &bits, sizeof bits);
  return f;
}
double apply(Function f, double x) {
  switch (f) {
    case Function::relu:
      return x > 0 ? x : 0;
    case Function::gelu:
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));  // the form that cuBLASLt has
    default:
      return x;
  }
}

}  // namespace

double load(const void* p, int64_t i, cudaDataType type) {
  switch (type) {
    case CUDA_R_64F:
      return static_cast<const double*>(p)[i];
    case CUDA_R_16F:
      return __half2float(static_cast<const __half*>(p)[i]);
    case CUDA_R_16BF:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(p)[i]);
    default:
      return static_cast<const float*>(p)[i];
  }
}
void store(void* p, int64_t i, cudaDataType type, double value) {
  switch (type) {
    case CUDA_R_64F:
      static_cast<double*>(p)[i] = value;
      break;
    case CUDA_R_16F:
      static_cast<__half*>(p)[i] = __float2half(static_cast<float>(value));
      break;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(p)[i] = __float2bfloat16(static_cast<float>(value));
      break;
    default:
      static_cast<float*>(p)[i] = static_cast<float>(value);
  }
}

bool valid(const Product& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batches < 0) return false;
  for (const Operand* o : {&p.a, &p.b, &p.c, &p.d})
    if (!size_of(o->type)) return false;
  return p.a.ld >= std::max<int64_t>(1, rows_of(p.a, p.m, p.k)) &&
         p.b.ld >= std::max<int64_t>(1, rows_of(p.b, p.k, p.n)) && p.c.ld >= std::max<int64_t>(1, p.m) &&
         p.d.ld >= std::max<int64_t>(1, p.m);
}

void run(const Product& p) {
  ++counters().products;
  if (p.m == 0 || p.n == 0 || p.batches == 0) return;
  if (p.k > 0 &&
      (!inside("cuBLAS reads A", p.a, p.m, p.k, p.batches) || !inside("cuBLAS reads B", p.b, p.k, p.n, p.batches)))
    return;
  if (p.beta != 0 && !inside("cuBLAS reads C", p.c, p.m, p.n, p.batches)) return;
  if (!inside("cuBLAS writes D", p.d, p.m, p.n, p.batches)) return;
  if (p.bias && !inside_block("cuBLAS reads the bias", p.bias,
                              static_cast<size_t>((p.m + (p.batches - 1) * p.bias_stride) * size_of(p.bias_type))))
    return;
  const Open open(every_device);
  for (int64_t batch = 0; batch < p.batches; ++batch)
    for (int64_t j = 0; j < p.n; ++j)
      for (int64_t i = 0; i < p.m; ++i) {
        double sum = 0;
        for (int64_t q = 0; q < p.k; ++q) {
          const double a = load(p.a.data, at(p.a, i, q, batch), p.a.type),
                       b = load(p.b.data, at(p.b, q, j, batch), p.b.type);
          sum += p.tf32 ? as_tf32(a) * as_tf32(b) : a * b;
        }
        double value = p.alpha * sum;
        if (p.beta != 0) value += p.beta * load(p.c.data, at(p.c, i, j, batch), p.c.type);
        if (p.bias) value += load(p.bias, batch * p.bias_stride + i, p.bias_type);
        if (p.aux) store(p.aux, batch * p.aux_stride + i + j * p.aux_ld, p.d.type, value);
        store(const_cast<void*>(p.d.data), at(p.d, i, j, batch), p.d.type, apply(p.function, value));
      }
  if (!recorder) return;
  const auto written = [&](const void* data, int64_t ld, int64_t stride) {
    for (int64_t batch = 0; batch < p.batches; ++batch)
      for (int64_t j = 0; j < p.n; ++j)
        recorder->host_write(static_cast<const char*>(data) + (batch * stride + j * ld) * size_of(p.d.type),
                             static_cast<size_t>(p.m * size_of(p.d.type)));
  };
  written(p.d.data, p.d.ld, p.d.batch_stride);
  if (p.aux) written(p.aux, p.aux_ld, p.aux_stride);
}

}  // namespace emulator::blas
