// p-norms over any axes.
#include "tutti/backends/contract/reduce.h"
#include "tutti/backends/cpu/fold.h"
#include "tutti/backends/cpu/round.h"

namespace tutti::kernel {
namespace {

struct Largest {
  static constexpr double identity = 0;
  template <class C>
  TUTTI_INLINE batch<C> map(batch<C> x, batch<C>, batch<C>) const {
    return xsimd::abs(x);
  }
  TUTTI_INLINE float map(float x, float, float) const { return __builtin_fabsf(x); }
  TUTTI_INLINE double map(double x, double, double) const { return __builtin_fabs(x); }
  // A NaN stays.
  template <class C>
  TUTTI_INLINE batch<C> combine(batch<C> x, batch<C> y) const {
    return xsimd::select(!(y <= x) && (x == x), y, x);
  }
  template <class C>
  TUTTI_INLINE C combine(C x, C y) const {
    return y > x || y != y ? y : x;
  }
};

struct Magnitudes : Add {
  template <class V>
  TUTTI_INLINE V map(V x, V a, V) const {
    return Largest{}.map(x * a, a, a);
  }
};
struct Squares : Add {
  template <class V>
  TUTTI_INLINE V map(V x, V a, V) const {
    return (x * a) * (x * a);
  }
};
struct Powers : Add {
  double p;
  explicit Powers(double exponent) : p(exponent) {}
  template <class C>
  TUTTI_INLINE batch<C> map(batch<C> x, batch<C> a, batch<C>) const {
    alignas(64) C v[lanes<C>];
    xsimd::abs(x * a).store_aligned(v);
    for (C& e : v) e = static_cast<C>(__builtin_pow(static_cast<double>(e), p));
    return batch<C>::load_aligned(v);
  }
  template <class C>
  TUTTI_INLINE C map(C x, C a, C) const {
    return static_cast<C>(__builtin_pow(__builtin_fabs(static_cast<double>(x * a)), p));
  }
};

}  // namespace

template <>
void norm::run<Here>(const Fold& x, double p) {
  for_float(x.dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    const auto put = [&](int64_t r, double v) {
      store_double(static_cast<T*>(x.out) + offset_of_row(x.kept, x.out_strides, r), v);
    };
    if (__builtin_isinf(p)) return fold_all<T>(x, Largest{}, nullptr, nullptr, put);
    // Nearly always the powers themselves are in range: one pass. Else scaled, which is exact too.
    if (p == 1 || p == 2) {
      const Buffer<double> sums(x.results);
      const auto hold = [&](int64_t r, double s) { sums.data()[r] = s; };
      const Buffer<C> ones(x.results);
      for (int64_t r = 0; r < x.results; ++r) ones.data()[r] = 1;
      if (p == 1)
        fold_all<T>(x, Magnitudes{}, ones.data(), nullptr, hold);
      else
        fold_all<T>(x, Squares{}, ones.data(), nullptr, hold);
      constexpr double small = sizeof(C) == 4 ? 1e-25 : 1e-250, large = sizeof(C) == 4 ? 1e37 : 1e300;
      bool in_range = true;
      for (int64_t r = 0; r < x.results; ++r) in_range = in_range && sums.data()[r] > small && sums.data()[r] < large;
      if (in_range) {
        for (int64_t r = 0; r < x.results; ++r) put(r, p == 1 ? sums.data()[r] : __builtin_sqrt(sums.data()[r]));
        return;
      }
    }
    // Multiplying by a power of two near 1 / largest rounds nothing and keeps every power in range.
    const Buffer<C> factor(x.results);
    fold_all<T>(x, Largest{}, nullptr, nullptr, [&](int64_t r, double v) {
      int exponent = 0;
      __builtin_frexp(v, &exponent);
      constexpr int limit = sizeof(C) == 4 ? 126 : 1022;
      const bool plain = v == 0 || v != v || __builtin_isinf(v);
      exponent = -exponent > limit ? limit : -exponent < -limit ? -limit : -exponent;
      factor.data()[r] = plain ? C(1) : static_cast<C>(__builtin_ldexp(1, exponent));
    });
    const auto finish = [&](int64_t r, double s) {
      const double root = p == 2 ? __builtin_sqrt(s) : p == 1 ? s : __builtin_pow(s, 1 / p);
      put(r, root / static_cast<double>(factor.data()[r]));
    };
    if (p == 1)
      fold_all<T>(x, Magnitudes{}, factor.data(), nullptr, finish);
    else if (p == 2)
      fold_all<T>(x, Squares{}, factor.data(), nullptr, finish);
    else
      fold_all<T>(x, Powers{p}, factor.data(), nullptr, finish);
  });
}

}  // namespace tutti::kernel
