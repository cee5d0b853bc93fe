// Sums, variances and norms over any axes.
#include "tutti/backends/contract/reduce.h"

#include "tutti/backends/cpu/fold.h"
#include "tutti/backends/cpu/round.h"

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

/// C of C and of batch<C>.
template <class V>
struct Element {
  using type = V;
};
template <class C>
struct Element<batch<C>> {
  using type = C;
};

constexpr double infinite = __builtin_inf();

/// f(element as double) for the elements of one result, until f returns false.
template <class T, class F>
TUTTI_INLINE void for_elements(const Fold& x, int64_t r, const F& f) {
  const Inner inner(x.folded, x.folded_strides);
  const T* base = static_cast<const T*>(x.data) + offset_of_row(x.kept, x.kept_strides, r);
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

/// The variance, or its root, where squares left the compute type's range: in double (float64: scaled
/// down).
template <class T>
double far_variance(const Fold& x, int64_t r, double divisor, bool root) {
  constexpr double scale = sizeof(T) == 8 ? 0x1p-600 : 1;
  double first = 0, sum = 0, squares = 0;
  bool any = false, finite = true;
  for_elements<T>(x, r, [&](double v) {
    if (!any) first = v * scale;
    any = true;
    finite = v - v == 0;
    sum += v * scale - first;
    return finite;
  });
  if (!finite) return __builtin_nan("");
  const double mean = sum / static_cast<double>(x.count);
  for_elements<T>(x, r, [&](double v) {
    const double d = (v * scale - first) - mean;
    return squares += d * d, true;
  });
  const double v = squares / divisor;
  return root ? __builtin_sqrt(v) / scale : v / scale / scale;
}

/// Deviations whose squares would vanish, scaled by a power of two: the smallest that there are have normal squares,
/// and the largest (the sum of all squares is below lost<C> times their number) finite ones.
template <class C>
constexpr C magnified = sizeof(C) == 4 ? C(0x1p100) : C(0x1p600);
/// A square below the normal numbers is off by 2^-24 (float64: 2^-53) of the smallest normal one, or half of that.
template <class C>
constexpr double lost = sizeof(C) == 4 ? 0x1p-124 : 0x1p-1020;

struct SmallShifted : Add {
  template <class V, class C = typename Element<V>::type>
  TUTTI_INLINE V map(V x, V a, V) const {
    return (x - a) * V(magnified<C>);
  }
};
struct SmallDeviations : Add {
  template <class V, class C = typename Element<V>::type>
  TUTTI_INLINE V map(V x, V a, V b) const {
    const V d = (x - a) * V(magnified<C>) - b;
    return d * d;
  }
};

template <class T>
void sum_floats(const Fold& x, double divisor) {
  fold_all<T>(x, Values{}, nullptr, nullptr, [&](int64_t r, double s) {
    const double y = divisor == 0 ? __builtin_nan("") : s - s == 0 ? s / divisor : far_sum<T>(x, r, s, divisor);
    store_double(static_cast<T*>(x.out) + offset_of_row(x.kept, x.out_strides, r), y);
  });
}

/// Integers add up in any order.
template <class T>
void sum_integers(const Fold& x, double divisor) {
  const Inner inner(x.folded, x.folded_strides);
  parallel_for(x.results, 1 + fold_piece / (x.count + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* base = static_cast<const T*>(x.data) + offset_of_row(x.kept, x.kept_strides, r);
      uint64_t total = 0;  // wraps around on overflow
      for (int64_t i = 0; i < x.count; i += inner.size) {
        const T* p = base + inner.offset(i / inner.size);
        for (int64_t k = 0; k < inner.size; ++k) total += static_cast<uint64_t>(p[k * inner.stride]);
      }
      const int64_t at = offset_of_row(x.kept, x.out_strides, r), value = static_cast<int64_t>(total);
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
        first.data()[r] = load1(static_cast<const T*>(x.data) + offset_of_row(x.kept, x.kept_strides, r));
    });
    const double n = static_cast<double>(x.count);
    fold_all<T>(x, Shifted{}, first.data(), nullptr,
                [&](int64_t r, double s) { mean.data()[r] = static_cast<C>(s / n); });
    const auto put = [&](int64_t r, double v) {
      store_double(static_cast<T*>(x.out) + offset_of_row(x.kept, x.out_strides, r), v);
    };
    const Buffer<bool> small(x.results);
    bool any_small = false;
    fold_all<T>(x, Deviations{}, first.data(), mean.data(), [&](int64_t r, double s) {
      small.data()[r] = s < n * lost<C>;
      if (small.data()[r]) return __atomic_store_n(&any_small, true, __ATOMIC_RELAXED);
      const double v = s / divisor, y = root ? __builtin_sqrt(v) : v;
      put(r, s < infinite || x.count == 0 ? y : far_variance<T>(x, r, divisor, root));
    });
    if (!any_small) return;
    constexpr double scale = magnified<C>;
    fold_all<T>(x, SmallShifted{}, first.data(), nullptr,
                [&](int64_t r, double s) { mean.data()[r] = static_cast<C>(s / n); });
    fold_all<T>(x, SmallDeviations{}, first.data(), mean.data(), [&](int64_t r, double s) {
      const double v = s / divisor;
      if (small.data()[r]) put(r, root ? __builtin_sqrt(v) / scale : v / scale / scale);
    });
  });
}

}  // namespace tutti::kernel
