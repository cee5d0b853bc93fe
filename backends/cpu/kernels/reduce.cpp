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

template <class T>
void sum_floats(const Fold& x, double scale) {
  fold_all<T>(x, Values{}, nullptr, nullptr, [&](int64_t r, double s) {
    store1(static_cast<T*>(x.out) + row_offset(x.kept, x.out_strides, r), static_cast<compute_t<T>>(s * scale));
  });
}

/// Integers add up in any order.
template <class T>
void sum_integers(const Fold& x, double scale) {
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
        static_cast<float*>(x.out)[at] = static_cast<float>(static_cast<double>(value) * scale);
    }
  });
}

}  // namespace

template <>
void sum::run<Here>(const Fold& x, double scale) {
  for_any(x.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      sum_integers<T>(x, scale);
    else
      sum_floats<T>(x, scale);
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
      const double v = divisor > 0 ? s / divisor : s / 0.0;
      store1(static_cast<T*>(x.out) + row_offset(x.kept, x.out_strides, r),
             static_cast<C>(root ? __builtin_sqrt(v) : v));
    });
  });
}

}  // namespace tutti::kernel
