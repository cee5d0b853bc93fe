// Optimizer steps and passes over gradients. Everything is elementwise except the two partial reductions, and work is
// cut at fixed places, so no result depends on the number of threads.
#include "tutti/backends/contract/optimizer.h"

#include "tutti/backends/cpu/part.h"
#include "tutti/backends/cpu/scratch.h"

namespace tutti::kernel {
namespace {

/// body(slot, first, count) for the parts of slots that make up elements [begin, end).
template <class F>
TUTTI_INLINE void for_parts(const ParameterSlots& all, int64_t begin, int64_t end, F&& body) {
  int64_t low = 0, high = all.count - 1;  // the last slot that begins at or before `begin`
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (all.slots[middle].begin <= begin)
      low = middle;
    else
      high = middle - 1;
  }
  for (int64_t i = low; begin < end; ++i) {
    const ParameterSlot& slot = all.slots[i];
    const int64_t first = begin - slot.begin, left = slot.numel - first, n = left < end - begin ? left : end - begin;
    if (n > 0) body(slot, first, n);
    begin += n > 0 ? n : 0;
  }
}

/// `n` elements (a whole batch, or the last few with zeros behind them: the same arithmetic for both).
template <bool whole, class T>
TUTTI_INLINE auto load_part(const T* p, int64_t n) {
  if constexpr (whole) {
    return vload(p);
  } else {
    T few[lanes<compute_t<T>>] = {};
    for (int64_t i = 0; i < n; ++i) few[i] = p[i];
    return vload(few);
  }
}
template <bool whole, class T>
TUTTI_INLINE void store_part(T* p, batch<compute_t<T>> v, int64_t n) {
  if constexpr (whole) {
    vstore(p, v);
  } else {
    T few[lanes<compute_t<T>>];
    vstore(few, v);
    for (int64_t i = 0; i < n; ++i) p[i] = few[i];
  }
}

/// step.operator()<whole>(i, n) over [0, n) by batches of C.
template <class C, class F>
TUTTI_INLINE void by_batches(int64_t n, F&& step) {
  int64_t i = 0;
  for (; i + lanes<C> <= n; i += lanes<C>) step.template operator()<true>(i, lanes<C>);
  if (i < n) step.template operator()<false>(i, n - i);
}

template <class T>
void adam(const ParameterSlot& s, const ParameterRates& r, const AdamConfig& config, int64_t first, int64_t count) {
  using C = compute_t<T>;
  T* w = static_cast<T*>(s.weight) + first;
  const T* g = static_cast<const T*>(s.gradient) + first;
  C* mean = static_cast<C*>(s.state[0]) + first;
  C* square = static_cast<C*>(s.state[1]) + first;
  const batch<C> beta2(static_cast<C>(config.beta2)), rest1(static_cast<C>(1 - config.beta1)),
      rest2(static_cast<C>(1 - config.beta2)), eps(static_cast<C>(config.eps)), c0(static_cast<C>(r.correction[0])),
      c1(static_cast<C>(r.correction[1]));
  const batch<C> keep(static_cast<C>(config.decoupled ? 1 - r.lr * r.weight_decay : 1)),
      decay(static_cast<C>(config.decoupled ? 0 : r.weight_decay));
  by_batches<C>(count, [&]<bool whole>(int64_t i, int64_t n) {
    batch<C> x = load_part<whole>(w + i, n), dx = load_part<whole>(g + i, n);
    const batch<C> old_mean = load_part<whole>(mean + i, n), old_square = load_part<whole>(square + i, n);
    dx = multiply_add(decay, x, dx);
    const batch<C> m = multiply_add(rest1, dx - old_mean, old_mean);
    const batch<C> v = multiply_add(beta2, old_square, rest2 * dx * dx);
    const batch<C> step = c0 * m / multiply_add(xsimd::sqrt(v), c1, eps);
    store_part<whole>(mean + i, m, n);
    store_part<whole>(square + i, v, n);
    store_part<whole>(w + i, x * keep - step, n);
  });
}

template <class T>
void sgd(const ParameterSlot& s, const ParameterRates& r, const SgdConfig& config, int64_t first, int64_t count) {
  using C = compute_t<T>;
  T* w = static_cast<T*>(s.weight) + first;
  const T* g = static_cast<const T*>(s.gradient) + first;
  const batch<C> lr(static_cast<C>(r.lr)), decay(static_cast<C>(r.weight_decay));
  if (!s.state[0]) {
    by_batches<C>(count, [&]<bool whole>(int64_t i, int64_t n) {
      const batch<C> x = load_part<whole>(w + i, n);
      store_part<whole>(w + i, x - lr * multiply_add(decay, x, load_part<whole>(g + i, n)), n);
    });
    return;
  }
  C* velocity = static_cast<C*>(s.state[0]) + first;
  const batch<C> momentum(static_cast<C>(config.momentum));
  const batch<C> fresh(static_cast<C>(r.first != 0 ? 1 : 1 - config.dampening));
  const batch<C> kept(static_cast<C>(r.first != 0 ? 0 : config.momentum));
  const bool nesterov = config.nesterov;
  by_batches<C>(count, [&]<bool whole>(int64_t i, int64_t n) {
    const batch<C> x = load_part<whole>(w + i, n), dx = multiply_add(decay, x, load_part<whole>(g + i, n));
    const batch<C> v = multiply_add(kept, load_part<whole>(velocity + i, n), fresh * dx);
    store_part<whole>(velocity + i, v, n);
    store_part<whole>(w + i, x - lr * (nesterov ? multiply_add(momentum, v, dx) : v), n);
  });
}

/// A factor in the type C, no larger than it holds: infinity times a gradient of 0 would be NaN.
template <class C>
TUTTI_INLINE C finite_factor(double f) {
  constexpr double most = sizeof(C) == 4 ? 0x1p127 : 0x1p1023;
  return static_cast<C>(f < most ? f : most);
}

/// Sums in the gradient's own precision over short runs, and those in float64.
template <class T>
double square_sum(const T* g, int64_t count, double scale) {
  using C = compute_t<T>;
  constexpr int64_t run = 1024;
  const batch<C> factor(finite_factor<C>(scale));
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += run) {
    batch<C> sum(C(0));
    by_batches<C>(count - begin < run ? count - begin : run, [&]<bool whole>(int64_t i, int64_t n) {
      const batch<C> x = factor * load_part<whole>(g + begin + i, n);
      sum = multiply_add(x, x, sum);
    });
    total += static_cast<double>(sum_lanes(sum));
  }
  return total;
}

template <class T>
double largest(const T* g, int64_t count) {
  using C = compute_t<T>;
  batch<C> top(C(0)), odd(C(0));  // `odd` turns NaN with the first NaN or infinity, and stays it
  by_batches<C>(count, [&]<bool whole>(int64_t i, int64_t n) {
    const batch<C> x = xsimd::abs(load_part<whole>(g + i, n));
    top = xsimd::max(top, x);
    odd = odd + (x - x);
  });
  const C check = sum_lanes(odd);
  if (check == check) return static_cast<double>(max_lanes(top));
  double result = 0;  // rare: tell a NaN from an infinity
  for (int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(load1(g + i));
    if (x != x) return x;
    const double size = x < 0 ? -x : x;
    result = size > result ? size : result;
  }
  return result;
}

/// body(slot, first, count) for all slots, in pieces side by side.
template <class F>
TUTTI_INLINE void for_slots(const ParameterSlots& all, F&& body) {
  parallel_for(all.total, ParameterSlots::piece, [&](int64_t begin, int64_t end) { for_parts(all, begin, end, body); });
}

/// The joint 2-norm of all gradients, each multiplied by `scale` before it is squared.
double scaled_norm(const ParameterSlots& slots, double scale) {
  const int64_t pieces = (slots.total + ParameterSlots::piece - 1) / ParameterSlots::piece;
  const Buffer<double> partial(pieces);
  parallel_for(slots.total, ParameterSlots::piece, [&](int64_t begin, int64_t end) {
    double sum = 0;
    for_parts(slots, begin, end, [&](const ParameterSlot& s, int64_t first, int64_t n) {
      for_float(s.dtype, [&]<class T>(T) { sum += square_sum(static_cast<const T*>(s.gradient) + first, n, scale); });
    });
    partial.data()[begin / ParameterSlots::piece] = sum;
  });
  double sum = 0;
  for (int64_t i = 0; i < pieces; ++i) sum += partial.data()[i];
  return __builtin_sqrt(sum);
}

/// The largest |gradient|; NaN if there is a NaN.
double largest_of(const ParameterSlots& slots) {
  const int64_t pieces = (slots.total + ParameterSlots::piece - 1) / ParameterSlots::piece;
  const Buffer<double> partial(pieces);
  const auto larger = [](double x, double top) { return x > top || x != x ? x : top; };
  parallel_for(slots.total, ParameterSlots::piece, [&](int64_t begin, int64_t end) {
    double top = 0;
    for_parts(slots, begin, end, [&](const ParameterSlot& s, int64_t first, int64_t n) {
      for_float(s.dtype, [&]<class T>(T) { top = larger(largest(static_cast<const T*>(s.gradient) + first, n), top); });
    });
    partial.data()[begin / ParameterSlots::piece] = top;
  });
  double top = 0;
  for (int64_t i = 0; i < pieces; ++i) top = larger(partial.data()[i], top);
  return top;
}

/// The power of two near 1 / top that brings every gradient into the range of squares. Where one that is not 0 may be
/// float32, it is one that float32 holds too; one so small that it holds none, or so large that theirs vanish beside
/// it, is float64's.
double scale_for(const ParameterSlots& slots, double top) {
  const bool wide = slots.dtypes == uint32_t{1} << static_cast<int>(DType::float64);
  int exponent = 0;
  (void)__builtin_frexp(top, &exponent);
  const int most = wide || top < 0x1p-149 ? 1000 : 126;
  return __builtin_ldexp(1, -exponent < -1000 ? -1000 : -exponent > most ? most : -exponent);
}

}  // namespace

template <>
void adam_step::run<Here>(ParameterSlots slots, AdamConfig config) {
  for_slots(slots, [&](const ParameterSlot& s, int64_t first, int64_t n) {
    for_float(s.dtype, [&]<class T>(T) { adam<T>(s, slots.rates[s.rates], config, first, n); });
  });
}

template <>
void sgd_step::run<Here>(ParameterSlots slots, SgdConfig config) {
  for_slots(slots, [&](const ParameterSlot& s, int64_t first, int64_t n) {
    for_float(s.dtype, [&]<class T>(T) { sgd<T>(s, slots.rates[s.rates], config, first, n); });
  });
}

template <>
void gradient_norm::run<Here>(ParameterSlots slots, double max_norm, GradientLimit* limit, GradientRefusal*,
                              unsigned long long) {
  *limit = {.norm = 0, .factor = {1, 1}, .scale = 0, .refused = false};
  double norm = scaled_norm(slots, 1), scale = 1;
  // Squares of large or small numbers leave the range of float32: then divide by the largest first.
  if (!(norm > 1e-12 && __builtin_isfinite(norm))) {
    const double top = largest_of(slots);
    if (!__builtin_isfinite(top)) {
      limit->norm = top;
      limit->refused = true;
    }
    if (limit->refused || top == 0) return;
    scale = scale_for(slots, top);
    norm = scaled_norm(slots, scale);
  }
  limit->norm = norm / scale;
  if (limit->norm <= max_norm) return;
  const double factor = max_norm / norm * scale, half = __builtin_sqrt(factor);
  const bool small = factor < 1e-30;
  limit->factor[0] = small ? half : factor;
  limit->factor[1] = small ? half : 1;
}

template <>
void gradient_has_nan::run<Here>(ParameterSlots slots, GradientLimit* limit, GradientRefusal*, unsigned long long) {
  const double top = largest_of(slots);
  limit->refused = top != top;
}

template <>
void gradient_scale::run<Here>(ParameterSlots slots, const GradientLimit* limit, GradientRefusal*, unsigned long long) {
  const double a = limit->factor[0], b = limit->factor[1];
  for_slots(slots, [&](const ParameterSlot& s, int64_t first, int64_t count) {
    for_float(s.dtype, [&]<class T>(T) {
      using C = compute_t<T>;
      T* g = static_cast<T*>(s.gradient) + first;
      const batch<C> x(static_cast<C>(a)), y(static_cast<C>(b));
      by_batches<C>(count, [&]<bool whole>(int64_t i, int64_t n) {
        store_part<whole>(g + i, load_part<whole>(g + i, n) * x * y, n);
      });
    });
  });
}

template <>
void gradient_clamp::run<Here>(ParameterSlots slots, double most, const GradientLimit*, GradientRefusal*,
                               unsigned long long) {
  for_slots(slots, [&](const ParameterSlot& s, int64_t first, int64_t count) {
    for_float(s.dtype, [&]<class T>(T) {
      using C = compute_t<T>;
      T* g = static_cast<T*>(s.gradient) + first;
      const batch<C> high(static_cast<C>(most)), low(static_cast<C>(-most));
      by_batches<C>(count, [&]<bool whole>(int64_t i, int64_t n) {
        store_part<whole>(g + i, xsimd::min(high, xsimd::max(low, load_part<whole>(g + i, n))), n);
      });
    });
  });
}

}  // namespace tutti::kernel
