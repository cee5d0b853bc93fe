// cuBLASLt, against the toolkit's own header: descriptors, a heuristic that finds one algorithm, and the product with
// its epilogues (bias, ReLU, GELU, and what GELU's gradient needs).
#include <cublasLt.h>

#include <cstring>

#include "blas.h"
#include "stream.h"

namespace {

struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  int32_t bias_type = -1;
  int64_t bias_stride = 0;
  void* aux = nullptr;
  int64_t aux_ld = 0, aux_stride = 0;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
};
struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t order = CUBLASLT_ORDER_COL, batches = 1;
  int64_t batch_stride = 0;
};

Operation& operation(cublasLtMatmulDesc_t d) { return *reinterpret_cast<Operation*>(d); }
Layout& layout(cublasLtMatrixLayout_t l) { return *reinterpret_cast<Layout*>(l); }

template <class T>
cublasStatus_t assign(T& to, const void* from, size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t compute, cudaDataType_t scale) {
  *d = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{.compute = compute, .scale = scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  delete &operation(d);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  Operation& o = operation(d);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return assign(o.transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return assign(o.transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return assign(o.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return assign(o.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return assign(o.bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return assign(o.bias_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return assign(o.aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return assign(o.aux_ld, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return assign(o.aux_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return assign(o.pointer_mode, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* l, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  *l = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{.type = type, .rows = rows, .columns = columns, .ld = ld});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
  delete &layout(l);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return assign(layout(l).batches, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return assign(layout(l).batch_stride, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return assign(layout(l).ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return assign(layout(l).order, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) {
  *p = reinterpret_cast<cublasLtMatmulPreference_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  delete reinterpret_cast<int*>(p);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = wanted > 0;
  if (wanted > 0) {
    std::memset(&results[0], 0, sizeof results[0]);
    results[0].state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*, size_t,
                              cudaStream_t stream) {
  using emulator::blas::Function;
  const Operation& o = operation(desc);
  const Layout &la = layout(a_layout), &lb = layout(b_layout), &lc = layout(c_layout), &ld = layout(d_layout);
  for (const Layout* l : {&la, &lb, &lc, &ld})
    if (l->order != CUBLASLT_ORDER_COL || l->batches != ld.batches) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (o.pointer_mode != CUBLASLT_POINTER_MODE_HOST) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool ta = o.transpose_a != CUBLAS_OP_N, tb = o.transpose_b != CUBLAS_OP_N;
  const auto m = static_cast<int64_t>(ld.rows), n = static_cast<int64_t>(ld.columns),
             k = static_cast<int64_t>(ta ? la.rows : la.columns);
  if (static_cast<int64_t>(ta ? la.columns : la.rows) != m || static_cast<int64_t>(tb ? lb.rows : lb.columns) != n ||
      static_cast<int64_t>(tb ? lb.columns : lb.rows) != k || lc.rows != ld.rows || lc.columns != ld.columns)
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto scalar = [&](const void* p) {
    return o.scale == CUDA_R_64F ? *static_cast<const double*>(p) : double{*static_cast<const float*>(p)};
  };
  emulator::blas::Product p{.m = m,
                            .n = n,
                            .k = k,
                            .batches = ld.batches,
                            .alpha = scalar(alpha),
                            .beta = scalar(beta),
                            .a = {a, la.type, la.ld, la.batch_stride, ta},
                            .b = {b, lb.type, lb.ld, lb.batch_stride, tb},
                            .c = {c, lc.type, lc.ld, lc.batch_stride, false},
                            .d = {d, ld.type, ld.ld, ld.batch_stride, false}};
  p.tf32 = la.type == CUDA_R_32F && o.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  bool with_bias = false, with_aux = false;
  switch (o.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      break;
    case CUBLASLT_EPILOGUE_BIAS:
      with_bias = true;
      break;
    case CUBLASLT_EPILOGUE_RELU:
      p.function = Function::relu;
      break;
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      p.function = Function::relu, with_bias = true;
      break;
    case CUBLASLT_EPILOGUE_GELU:
      p.function = Function::gelu;
      break;
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      p.function = Function::gelu, with_bias = true;
      break;
    case CUBLASLT_EPILOGUE_GELU_AUX:
      p.function = Function::gelu, with_aux = true;
      break;
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
      p.function = Function::gelu, with_aux = with_bias = true;
      break;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if ((with_bias && !o.bias) || (with_aux && (!o.aux || o.aux_ld < m)) || !emulator::blas::valid(p))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (with_bias) {
    p.bias = o.bias;
    p.bias_stride = o.bias_stride;
    p.bias_type = o.bias_type >= 0 ? static_cast<cudaDataType>(o.bias_type) : ld.type;
  }
  if (with_aux) p.aux = o.aux, p.aux_ld = o.aux_ld, p.aux_stride = o.aux_stride;
  return emulator::enqueue(stream, "cublasLtMatmul", [p] { emulator::blas::run(p); }) ? CUBLAS_STATUS_EXECUTION_FAILED
                                                                                      : CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
