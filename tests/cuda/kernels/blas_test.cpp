// The stand-ins of cuBLAS and cuBLASLt, through the toolkit's own headers.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cmath>
#include <vector>

#include "cuda/device_array.h"
#include "cuda/emulator/emulator.h"
#include "support/catch.h"

using namespace tutti_test;

namespace {

std::vector<float> numbers(int n, int seed) {
  std::vector<float> v;
  for (int i = 0; i < n; ++i) v.push_back(static_cast<float>((i * 37 + seed * 11) % 17 - 8) / 8);
  return v;
}
/// Column-major, as cuBLAS has it.
std::vector<double> product_of(const std::vector<float>& a, bool ta, const std::vector<float>& b, bool tb, int m, int n,
                               int k) {
  std::vector<double> c;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int q = 0; q < k; ++q)
        sum += double{a[static_cast<size_t>(ta ? q + i * k : i + q * m)]} *
               b[static_cast<size_t>(tb ? j + q * n : q + j * k)];
      c.push_back(sum);
    }
  return c;
}
template <class T>
size_t size(T n) {
  return static_cast<size_t>(n);
}

}  // namespace

TEST_CASE("cuBLAS: transposes, batches, alpha and beta", "[cuda]") {
  const StreamOwner stream;
  cublasHandle_t handle;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  const int m = 5, n = 3, k = 7, batches = 2;
  const auto a = numbers(m * k * batches, 1), b = numbers(k * n * batches, 2), c = numbers(m * n * batches, 3);
  const DeviceArray<float> da(a, stream), db(b, stream);
  const float alpha = 2, beta = -1;
  const auto products = emulator::counters().products;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      CAPTURE(ta, tb);
      const DeviceArray<float> dc(c, stream);
      REQUIRE(cublasGemmStridedBatchedEx(handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n,
                                         k, &alpha, da.data(), CUDA_R_32F, ta ? k : m, m * k, db.data(), CUDA_R_32F,
                                         tb ? n : k, k * n, &beta, dc.data(), CUDA_R_32F, m, m * n, batches,
                                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
      const auto result = dc.to_host(stream);
      for (int batch = 0; batch < batches; ++batch) {
        const auto expected =
            product_of({a.begin() + batch * m * k, a.end()}, ta, {b.begin() + batch * k * n, b.end()}, tb, m, n, k);
        for (int i = 0; i < m * n; ++i)
          CHECK(result[size(batch * m * n + i)] ==
                Approx(2 * expected[size(i)] - c[size(batch * m * n + i)]).margin(1e-6));
      }
    }
  CHECK(emulator::report() == "");
  CHECK(emulator::counters().products == products + 4);
  // A leading dimension that is too short; a product that runs over the end of its buffer.
  const DeviceArray<float> small(3);
  CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, da.data(), m - 1, db.data(), k, &beta,
                    small.data(), m) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, da.data(), m, db.data(), k, &beta, small.data(),
                    m) == CUBLAS_STATUS_SUCCESS);
  stream.wait();
  CHECK_THAT(emulator::report(),
             Contains("cuBLAS reads C past the end of a device buffer: 60 bytes at offset 0 of 12"));
  emulator::clear_report();
  CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("cuBLASLt: bias and GELU, with what GELU's gradient needs", "[cuda]") {
  const StreamOwner stream;
  const int m = 5, n = 3, k = 7;
  const auto a = numbers(m * k, 1), b = numbers(k * n, 2), bias = numbers(m, 4);
  const DeviceArray<float> da(a, stream), db(b, stream), dbias(bias, stream), d(size(m * n)), aux(size(m * n));
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t la, lb, ld;
  REQUIRE(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&la, CUDA_R_32F, k, m, k);
  cublasLtMatrixLayoutCreate(&lb, CUDA_R_32F, k, n, k);
  cublasLtMatrixLayoutCreate(&ld, CUDA_R_32F, m, n, m);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    REQUIRE(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, dbias.data());
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.data());
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{m});
  const float one = 1, zero = 0;
  REQUIRE(cublasLtMatmul(handle, desc, &one, da.data(), la, db.data(), lb, &zero, d.data(), ld, d.data(), ld, nullptr,
                         nullptr, 0, stream) == CUBLAS_STATUS_SUCCESS);
  const auto result = d.to_host(stream), kept = aux.to_host(stream);
  const auto expected = product_of(a, true, b, false, m, n, k);
  for (int i = 0; i < m * n; ++i) {
    const double x = expected[size(i)] + bias[size(i % m)];
    CHECK(kept[size(i)] == Approx(x).margin(1e-6));
    CHECK(result[size(i)] ==
          Approx(x * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))).margin(1e-6));
  }
  CHECK(cublasLtMatmul(handle, desc, &one, da.data(), lb, db.data(), lb, &zero, d.data(), ld, d.data(), ld, nullptr,
                       nullptr, 0, stream) == CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatrixLayoutDestroy(la);
  cublasLtMatrixLayoutDestroy(lb);
  cublasLtMatrixLayoutDestroy(ld);
  cublasLtMatmulDescDestroy(desc);
  cublasLtDestroy(handle);
  CHECK(emulator::report() == "");
}
