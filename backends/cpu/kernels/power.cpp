// Powers and limits on the CPU.
#include "tutti/backends/contract/unary.h"
#include "tutti/backends/cpu/elementwise.h"
#include "tutti/backends/cpu/math.h"

namespace tutti {
namespace {

template <class T>
TUTTI_INLINE T power(T x, T exponent) {
  if constexpr (sizeof(T) == 4)
    return ::powf(x, exponent);
  else
    return ::pow(x, exponent);
}

}  // namespace

template <>
void kernel::pow::run<Here>(const Elements<2>& e) {
  for_real(e.out_dtype, [&]<class T>(T) {
    elementwise<T>(e, [](batch<T> x, batch<T> exponent) {
      T v[batch<T>::size], p[batch<T>::size];
      x.store_unaligned(v);
      exponent.store_unaligned(p);
      for (size_t i = 0; i < batch<T>::size; ++i) v[i] = power(v[i], p[i]);
      return batch<T>::load_unaligned(v);
    });
  });
}

template <>
void kernel::pow_scalar::run<Here>(const Elements<1>& e, double exponent) {
  for_real(e.out_dtype, [&]<class T>(T) {
    using B = batch<T>;
    const B one(T{1});
    if (exponent == 2) return elementwise<T>(e, [](B x) { return x * x; });
    if (exponent == 3) return elementwise<T>(e, [](B x) { return x * x * x; });
    if (exponent == 1) return elementwise<T>(e, [](B x) { return x; });
    if (exponent == -1) return elementwise<T>(e, [=](B x) { return one / x; });
    const T p = static_cast<T>(exponent);
    elementwise<T>(e, [=](B x) { return each_lane(x, [=](T v) { return power(v, p); }); });
  });
}

template <>
void kernel::clamp::run<Here>(const Elements<1>& e, Number low, Number high) {
  for_compute(e.out_dtype, [&]<class T>(T) {
    const T l = low.computed<T>(e.out_dtype), h = high.computed<T>(e.out_dtype);
    if constexpr (std::is_floating_point_v<T>)
      elementwise<T>(e, [=](batch<T> x) { return limit(x, l, h); });
    else
      elementwise<T>(e, [=](T x) { return x < l ? l : x > h ? h : x; });
  });
}

template <>
void kernel::clamp_backward::run<Here>(const Elements<2>& e, Number low, Number high) {
  for_real(e.out_dtype, [&]<class T>(T) {
    using B = batch<T>;
    const B l(low.computed<T>(e.out_dtype)), h(high.computed<T>(e.out_dtype)), zero(T{0});
    elementwise<T>(e, [=](B dy, B x) { return select(x >= l && x <= h, dy, zero); });
  });
}

}  // namespace tutti
