// Matrix products on the CPU: simplified, cut into pieces by shape, and each piece computed by one thread.
#include "tutti/backends/contract/gemm.h"

#include <dnnl.h>

#include <type_traits>

#include "tutti/core/parallel.h"

namespace tutti::kernel {
namespace {

/// How oneDNN reads a matrix: as it is or transposed, and the distance between its lines; false if it cannot.
bool describe(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride, char& transposed, int64_t& ld) {
  const bool as_it_is = col_stride == 1 && (row_stride >= cols || rows == 1);
  if (!as_it_is && !(row_stride == 1 && (col_stride >= rows || cols == 1))) return false;
  transposed = as_it_is ? 'N' : 'T';
  ld = as_it_is ? (rows == 1 ? cols : row_stride) : (cols == 1 ? rows : col_stride);
  return true;
}

template <class T>
void plain(int64_t m, int64_t n, int64_t k, const T* a, int64_t ars, int64_t acs, const T* b, int64_t brs, int64_t bcs,
           T* c, int64_t crs, int64_t ccs) {
  if constexpr (std::is_same_v<T, float>) {
    char ta, tb, tc;
    int64_t lda, ldb, ldc;
    if (describe(m, k, ars, acs, ta, lda) && describe(k, n, brs, bcs, tb, ldb) && describe(m, n, crs, ccs, tc, ldc) &&
        tc == 'N' && dnnl_sgemm(ta, tb, m, n, k, 1, a, lda, b, ldb, 1, c, ldc) == dnnl_success)
      return;
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T sum = c[i * crs + j * ccs];
      for (int64_t p = 0; p < k; ++p) sum += a[i * ars + p * acs] * b[p * brs + j * bcs];
      c[i * crs + j * ccs] = sum;
    }
}

template <class T>
void run_typed(const Product& g) {
  const int64_t m = g.c.rows, n = g.c.cols, k = g.a.cols;
  if (m == 0 || n == 0) return;
  const auto* a = static_cast<const T*>(g.a.data);
  const auto* b = static_cast<const T*>(g.b.data);
  const auto* bias = static_cast<const T*>(g.bias);
  auto* c = static_cast<T*>(g.c.data);
  Dims kept, kept_strides, summed;  // the batch, split into axes that c has and axes that it sums over
  int kept_axis[Dims::max_rank], summed_axis[Dims::max_rank];
  for (int i = 0; i < g.batch.n; ++i) {
    if (g.c.batch_strides[i] == 0) {
      summed_axis[summed.n] = i;
      summed.push(g.batch[i]);
    } else {
      kept_axis[kept.n] = i;
      kept.push(g.batch[i]);
    }
  }
  const auto offset = [](const Dims& shape, const int* axis, const Dims& strides, int64_t index) {
    int64_t at = 0;
    for (int i = shape.n - 1; i >= 0; --i) {
      at += index % shape[i] * strides[axis[i]];
      index /= shape[i];
    }
    return at;
  };
  parallel_for(kept.product(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* ci = c + offset(kept, kept_axis, g.c.batch_strides, i);
      if (!g.accumulate)
        for (int64_t r = 0; r < m; ++r)
          for (int64_t j = 0; j < n; ++j)
            ci[r * g.c.row_stride + j * g.c.col_stride] =
                bias ? bias[offset(kept, kept_axis, g.bias_strides, i) + j] : T{0};
      if (k == 0) continue;
      for (int64_t s = 0; s < summed.product(); ++s) {
        const T* ai =
            a + offset(kept, kept_axis, g.a.batch_strides, i) + offset(summed, summed_axis, g.a.batch_strides, s);
        const T* bi =
            b + offset(kept, kept_axis, g.b.batch_strides, i) + offset(summed, summed_axis, g.b.batch_strides, s);
        plain(m, n, k, ai, g.a.row_stride, g.a.col_stride, bi, g.b.row_stride, g.b.col_stride, ci, g.c.row_stride,
              g.c.col_stride);
      }
    }
  });
}

}  // namespace

template <>
void gemm::run<target::any_cpu>(const Product& product) {
  if (product.c.dtype == DType::float32)
    run_typed<float>(product);
  else
    run_typed<double>(product);
}

}  // namespace tutti::kernel
