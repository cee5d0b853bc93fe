// Sums over any axes.
#include "tutti/backends/contract/reduce.h"

#include "tutti/backends/cuda/fold.h"

namespace tutti {
namespace {

/// In float64, where no sum of shorter floats overflows.
template <class T>
struct Sum : FoldSums<1> {
  double divisor;
  template <int V, class C>
  __device__ void add(Acc& a, const C (&x)[V], int64_t, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) a.v[0] += static_cast<double>(x[j]);
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    *fold_out<T>(x, r) = rounded<T>(divisor == 0 ? static_cast<double>(NAN) : a.v[0] / divisor);
  }
};

/// Of float64 itself a sum may overflow on the way: it is also kept scaled down.
template <>
struct Sum<double> : FoldSums<2> {
  double divisor;
  static constexpr double scale = 0x1p-512;
  template <int V>
  __device__ void add(Acc& a, const double (&x)[V], int64_t, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) {
      a.v[0] += x[j];
      a.v[1] += x[j] * scale;
    }
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    const bool finite = a.v[0] - a.v[0] == 0;
    const double mean = finite ? a.v[0] / divisor : a.v[1] / divisor / scale;
    *fold_out<double>(x, r) = divisor == 0 ? static_cast<double>(NAN) : mean;
  }
};

/// Integers wrap around.
struct SumIntegers : FoldSums<1, unsigned long long> {
  double divisor;
  template <int V, class C>
  __device__ void add(Acc& a, const C (&x)[V], int64_t, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) a.v[0] += static_cast<unsigned long long>(x[j]);
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    const auto total = static_cast<int64_t>(a.v[0]);
    if (x.out_dtype == DType::int64)
      *fold_out<int64_t>(x, r) = total;
    else
      *fold_out<float>(x, r) = divisor == 0 ? NAN : static_cast<float>(static_cast<double>(total) / divisor);
  }
};

}  // namespace

template <>
void kernel::sum::run<Here>(const Fold& x, double divisor) {
  for_any(x.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      fold_all<T>(x, SumIntegers{{}, divisor});
    else
      fold_all<T>(x, Sum<T>{{}, divisor});
  });
}

}  // namespace tutti
