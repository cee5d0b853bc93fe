#include "tutti/backends/cpu/activate.h"

#include "tutti/backends/cpu/elementwise.h"
#include "tutti/backends/cpu/lines.h"
#include "tutti/backends/cpu/math.h"

namespace tutti::kernel {
namespace {

/// op(f, f with its slope): one call for each activation, outside all loops.
template <class T, class Op>
TUTTI_INLINE void with_activation(Unary f, const Op& op) {
  switch (f) {
    case Unary::gelu:
      return op(
          [](batch<T> x) __attribute__((always_inline)) { return gelu_erf<T>(x); },
          [](batch<T> x) __attribute__((always_inline)) { return gelu_erf_with_slope<T>(x); });
    case Unary::gelu_tanh:
      return op(
          [](batch<T> x) __attribute__((always_inline)) { return gelu_logistic<T>(x); },
          [](batch<T> x) __attribute__((always_inline)) { return gelu_logistic_with_slope<T>(x); });
    default:
      return op(
          [](batch<T> x) __attribute__((always_inline)) { return silu<T>(x); },
          [](batch<T> x) __attribute__((always_inline)) { return silu_with_slope<T>(x); });
  }
}

}  // namespace

template <>
void activate::run<Here>(const Middle& m, void* given, const void* bias, void* result, int64_t result_stride) {
  for_real(m.dtype, [&]<class T>(T) {
    const auto* const b = static_cast<const T*>(bias);
    with_activation<T>(m.f, [&](const auto& value, const auto&) {
      for (int64_t r = 0; r < m.rows; ++r) {
        T* const u = static_cast<T*>(given) + r * m.stride;
        T* const g = static_cast<T*>(result) + r * result_stride;
        for_batches<T>(m.cols, [&](int64_t i, int64_t k) {
          batch<T> x = load_strided(u + i, 1, k);
          if (b) {
            x = x + load_strided(b + i, 1, k);
            store_strided(u + i, 1, k, x);
          }
          store_strided(g + i, 1, k, value(x));
        });
      }
    });
  });
}

template <>
void activate_backward::run<Here>(const Middle& m, const void* given, void* gradient, void* result, double* sums) {
  constexpr int64_t run_length = 64;  // rows that are summed in the elements' own precision
  for_real(m.dtype, [&]<class T>(T) {
    with_activation<T>(m.f, [&](const auto&, const auto& both) {
      alignas(64) T total[max_cols];
      for (int64_t c = 0; sums && c < m.cols; ++c) sums[c] = 0;
      for (int64_t first = 0; first < m.rows; first += run_length) {
        const int64_t last = first + run_length < m.rows ? first + run_length : m.rows;
        for (int64_t c = 0; c < m.cols; c += lanes<T>) batch<T>(T{0}).store_aligned(total + c);
        for (int64_t r = first; r < last; ++r) {
          const T* const u = static_cast<const T*>(given) + r * m.stride;
          T* const d = static_cast<T*>(gradient) + r * m.stride;
          T* const g = result ? static_cast<T*>(result) + r * m.stride : nullptr;
          for_batches<T>(
              m.cols, [&](int64_t i, int64_t n) __attribute__((always_inline)) {
                const ValueAndSlope<T> v = both(load_strided(u + i, 1, n));
                const batch<T> du = load_strided(d + i, 1, n) * v.slope;
                if (g) store_strided(g + i, 1, n, v.value);
                store_strided(d + i, 1, n, du);
                (batch<T>::load_aligned(total + i) + du).store_aligned(total + i);
              });
        }
        for (int64_t c = 0; sums && c < m.cols; ++c) sums[c] += static_cast<double>(total[c]);
      }
    });
  });
}

}  // namespace tutti::kernel
