// p-norms over any axes.
#include "tutti/backends/contract/reduce.h"

#include "tutti/backends/cuda/fold.h"

namespace tutti {
namespace {

constexpr double down = 0x1p-600, up = 0x1p600;

/// p = 1 or 2. In float64, where no square of a shorter float overflows or vanishes.
template <class T, bool squared>
struct Sums : FoldSums<1> {
  template <int V, class C>
  __device__ void add(Acc& a, const C (&x)[V], int64_t, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) {
      const double d = static_cast<double>(x[j]);
      a.v[0] += squared ? d * d : fabs(d);
    }
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    *fold_out<T>(x, r) = rounded<T>(squared ? sqrt(a.v[0]) : a.v[0]);
  }
};
/// Of float64 itself: sums at three scales, of which one is in range.
template <bool squared>
struct Sums<double, squared> : FoldSums<3> {
  template <int V>
  __device__ void add(Acc& a, const double (&x)[V], int64_t, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) {
      const double d[3] = {x[j], x[j] * down, x[j] * up};
      TUTTI_UNROLL
      for (int k = 0; k < 3; ++k) a.v[k] += squared ? d[k] * d[k] : fabs(d[k]);
    }
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    const bool small = a.v[0] < 1e-250, large = a.v[0] > 1e300;
    const double scale = small ? up : large ? down : 1, v = small ? a.v[2] : large ? a.v[1] : a.v[0];
    *fold_out<double>(x, r) = (squared ? sqrt(v) : v) / scale;
  }
};

/// The largest |x|, and a NaN stays.
template <class T>
struct Largest {
  struct Acc {
    compute_t<T> v;
  };
  using Param = Nothing;
  compute_t<T>* factors;  // null: it is the result; else where a power of two near 1 / largest goes
  template <class C>
  __device__ Nothing param(const Fold&, int64_t, C) const {
    return {};
  }
  __device__ Acc none() const { return {0}; }
  __device__ Acc combine(const Acc& a, const Acc& b) const { return {b.v > a.v || b.v != b.v ? b.v : a.v}; }
  template <int V, class C>
  __device__ void add(Acc& a, const C (&x)[V], int64_t, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) a = combine(a, Acc{x[j] < 0 ? -x[j] : x[j]});
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    using C = compute_t<T>;
    if (!factors) return store(fold_out<T>(x, r), a.v);
    constexpr int limit = sizeof(C) == 4 ? 126 : 1022;
    const bool plain = a.v == 0 || a.v - a.v != 0;
    int exponent = 0;
    if (!plain) (void)frexp(static_cast<double>(a.v), &exponent);
    exponent = -exponent > limit ? limit : -exponent < -limit ? -limit : -exponent;
    factors[r] = plain ? C(1) : static_cast<C>(ldexp(1.0, exponent));
  }
};

/// Any other p: multiplying by the factor rounds nothing and keeps every power in range.
template <class T>
struct Powers : FoldSums<1> {
  const compute_t<T>* factors;
  double p;
  using Param = double;
  template <class C>
  __device__ double param(const Fold&, int64_t r, C) const {
    return static_cast<double>(factors[r]);
  }
  template <int V, class C>
  __device__ void add(Acc& a, const C (&x)[V], int64_t, double factor) const {
    for (int j = 0; j < V; ++j) a.v[0] += pow(fabs(static_cast<double>(x[j]) * factor), p);  // one copy of pow
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    *fold_out<T>(x, r) = rounded<T>(pow(a.v[0], 1 / p) / static_cast<double>(factors[r]));
  }
};

}  // namespace

template <>
void kernel::norm::run<Here>(const Fold& x, double p) {
  for_float(x.dtype, [&]<class T>(T) {
    if (p == 1) return fold_all<T>(x, Sums<T, false>{});
    if (p == 2) return fold_all<T>(x, Sums<T, true>{});
    if (p == static_cast<double>(INFINITY)) return fold_all<T>(x, Largest<T>{nullptr});
    const Buffer<compute_t<T>> factors(x.results);
    fold_all<T>(x, Largest<T>{factors.data()});
    fold_all<T>(x, Powers<T>{{}, factors.data(), p});
  });
}

}  // namespace tutti
