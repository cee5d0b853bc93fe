// cuBLAS, against the toolkit's own header: what a backend calls of it.
#include <cublas_v2.h>

#include "blas.h"
#include "stream.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

namespace {

using emulator::blas::Product;

cublasStatus_t start(cublasHandle_t handle, const Product& product) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!emulator::blas::valid(product) || handle->pointers != CUBLAS_POINTER_MODE_HOST)
    return CUBLAS_STATUS_INVALID_VALUE;
  return emulator::enqueue(handle->stream, "cuBLAS", [product] { emulator::blas::run(product); })
             ? CUBLAS_STATUS_EXECUTION_FAILED
             : CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t math) {
  handle->math = math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  handle->pointers = mode;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS         ? "the functionality succeeded"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "an invalid value"
                                                 : "cuBLAS failed";
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                                          cublasOperation_t transpose_b, int m, int n, int k, const void* alpha,
                                          const void* a, cudaDataType a_type, int lda, long long a_stride,
                                          const void* b, cudaDataType b_type, int ldb, long long b_stride,
                                          const void* beta, void* c, cudaDataType c_type, int ldc, long long c_stride,
                                          int batches, cublasComputeType_t compute, cublasGemmAlgo_t) {
  const bool is_double = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC;
  const auto scalar = [&](const void* p) {
    return is_double ? *static_cast<const double*>(p) : double{*static_cast<const float*>(p)};
  };
  Product p{.m = m,
            .n = n,
            .k = k,
            .batches = batches,
            .alpha = scalar(alpha),
            .beta = scalar(beta),
            .a = {a, a_type, lda, a_stride, transpose_a != CUBLAS_OP_N},
            .b = {b, b_type, ldb, b_stride, transpose_b != CUBLAS_OP_N},
            .c = {c, c_type, ldc, c_stride, false},
            .d = {c, c_type, ldc, c_stride, false}};
  p.tf32 = a_type == CUDA_R_32F &&
           (compute == CUBLAS_COMPUTE_32F_FAST_TF32 || (handle && handle->math == CUBLAS_TF32_TENSOR_OP_MATH));
  return start(handle, p);
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, transpose_a, transpose_b, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb,
                                    0, beta, c, c_type, ldc, 0, 1, compute, algorithm);
}

#define GEMM(name, type, code, compute)                                                                                \
  cublasStatus_t name##StridedBatched(                                                                                 \
      cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m, int n, int k,        \
      const type* alpha, const type* a, int lda, long long a_stride, const type* b, int ldb, long long b_stride,       \
      const type* beta, type* c, int ldc, long long c_stride, int batches) {                                           \
    return cublasGemmStridedBatchedEx(handle, transpose_a, transpose_b, m, n, k, alpha, a, code, lda, a_stride, b,     \
                                      code, ldb, b_stride, beta, c, code, ldc, c_stride, batches, compute,             \
                                      CUBLAS_GEMM_DEFAULT);                                                            \
  }                                                                                                                    \
  cublasStatus_t name##_v2(cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m, \
                           int n, int k, const type* alpha, const type* a, int lda, const type* b, int ldb,            \
                           const type* beta, type* c, int ldc) {                                                       \
    return name##StridedBatched(handle, transpose_a, transpose_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc,  \
                                0, 1);                                                                                 \
  }
GEMM(cublasSgemm, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM(cublasDgemm, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)

}  // extern "C"
