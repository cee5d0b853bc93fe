// Sums, variances and norms over any axes.
#include "tutti/backends/contract/reduce.h"

#include "tutti/backends/cpu/fold.h"

namespace tutti::kernel {
namespace {

struct Values : Add {
  template <class V>
  TUTTI_INLINE V map(V x, V, V) const {
    return x;
  }
};
struct Shifted : Add {
  template <class V>
  TUTTI_INLINE V map(V x, V a, V) const {
    return x - a;
  }
};
struct Deviations : Add {
  template <class V>
  TUTTI_INLINE V map(V x, V a, V b) const {
    const V d = (x - a) - b;
    return d * d;
  }
};

constexpr double infinite = __builtin_inf();

/// f(element as double) for the elements of one result, until f returns false.
template <class T, class F>
TUTTI_INLINE void for_elements(const Fold& x, int64_t r, const F& f) {
  const Inner inner(x.folded, x.folded_strides);
  const T* base = static_cast<const T*>(x.data) + row_offset(x.kept, x.kept_strides, r);
  for (int64_t i = 0; i < x.count; i += inner.size) {
    const T* p = base + inner.offset(i / inner.size);
    for (int64_t k = 0; k < inner.size; ++k)
      if (!f(static_cast<double>(load1(p + k * inner.stride)))) return;
  }
}

/// A sum whose parts left the compute type's range, divided: element by element in double (float64: scaled down). `sum`
/// itself if an element is not finite.
template <class T>
double far_sum(const Fold& x, int64_t r, double sum, double divisor) {
  constexpr double scale = sizeof(T) == 8 ? 0x1p-512 : 1;
  double total = 0;
  bool finite = true;
  for_elements<T>(x, r, [&](double v) {
    finite = v - v == 0;
    total += v * scale;
    return finite;
  });
  return finite ? total / divisor / scale : sum / divisor;
}

/// The variance, or its root, where squares left the compute type's range: in double (float64: scaled by a power of
/// two).
template <class T>
double far_variance(const Fold& x, int64_t r, double divisor, bool root) {
  double first = 0, largest = 0;
  bool any = false, equal = true, finite = true;
  for_elements<T>(x, r, [&](double v) {
    if (!any) first = v;
    any = true;
    finite = v - v == 0;
    equal = equal && v == first;
    const double size = v < 0 ? -v : v;
    largest = size > largest ? size : largest;
    return finite;
  });
  if (!finite) return __builtin_nan("");
  if (equal) return 0 / divisor;
  int exponent = 0;
  __builtin_frexp(largest, &exponent);
  const double scale = sizeof(T) < 8 ? 1
                                     : __builtin_ldexp(1, exponent > 1022    ? -1022
                                                          : exponent < -1022 ? 1022
                                                                             : -exponent);
  double sum = 0, squares = 0;
  for_elements<T>(x, r, [&](double v) { return sum += v * scale - first * scale, true; });
  const double mean = sum / static_cast<double>(x.count);
  for_elements<T>(x, r, [&](double v) {
    const double d = (v * scale - first * scale) - mean;
    return squares += d * d, true;
  });
  const double v = squares / divisor;
  return root ? __builtin_sqrt(v) / scale : v / scale / scale;
}

template <class T>
void sum_floats(const Fold& x, double divisor) {
  fold_all<T>(x, Values{}, nullptr, nullptr, [&](int64_t r, double s) {
    const double y = divisor == 0 ? __builtin_nan("") : s - s == 0 ? s / divisor : far_sum<T>(x, r, s, divisor);
    store1(static_cast<T*>(x.out) + row_offset(x.kept, x.out_strides, r), static_cast<compute_t<T>>(y));
  });
}

/// Integers add up in any order.
template <class T>
void sum_integers(const Fold& x, double divisor) {
  const Inner inner(x.folded, x.folded_strides);
  parallel_for(x.results, 1 + fold_piece / (x.count + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* base = static_cast<const T*>(x.data) + row_offset(x.kept, x.kept_strides, r);
      uint64_t total = 0;  // wraps around on overflow
      for (int64_t i = 0; i < x.count; i += inner.size) {
        const T* p = base + inner.offset(i / inner.size);
        for (int64_t k = 0; k < inner.size; ++k) total += static_cast<uint64_t>(p[k * inner.stride]);
      }
      const int64_t at = row_offset(x.kept, x.out_strides, r), value = static_cast<int64_t>(total);
      if (x.out_dtype == DType::int64)
        static_cast<int64_t*>(x.out)[at] = value;
      else
        static_cast<float*>(x.out)[at] =
            divisor == 0 ? __builtin_nanf("") : static_cast<float>(static_cast<double>(value) / divisor);
    }
  });
}

}  // namespace

template <>
void sum::run<Here>(const Fold& x, double divisor) {
  for_any(x.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      sum_integers<T>(x, divisor);
    else
      sum_floats<T>(x, divisor);
  });
}

template <>
void variance::run<Here>(const Fold& x, double divisor, bool root) {
  for_float(x.dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    const Buffer<C> first(x.results), mean(x.results);
    parallel_for(x.count > 0 ? x.results : 0, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        first.data()[r] = load1(static_cast<const T*>(x.data) + row_offset(x.kept, x.kept_strides, r));
    });
    const double n = static_cast<double>(x.count);
    fold_all<T>(x, Shifted{}, first.data(), nullptr,
                [&](int64_t r, double s) { mean.data()[r] = static_cast<C>(s / n); });
    fold_all<T>(x, Deviations{}, first.data(), mean.data(), [&](int64_t r, double s) {
      constexpr double small = sizeof(C) == 4 ? 1e-30 : 1e-280;
      const bool usual = (s > small && s < infinite) || x.count == 0;
      const double v = s / divisor, y = root ? __builtin_sqrt(v) : v;
      store1(static_cast<T*>(x.out) + row_offset(x.kept, x.out_strides, r),
             static_cast<C>(usual ? y : far_variance<T>(x, r, divisor, root)));
    });
  });
}

}  // namespace tutti::kernel
