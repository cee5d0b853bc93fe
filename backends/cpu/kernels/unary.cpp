// Functions of one tensor on the CPU, and their gradients.
#include "tutti/backends/contract/unary.h"

#include "tutti/backends/cpu/elementwise.h"
#include "tutti/backends/cpu/math.h"

namespace tutti {
namespace {

/// tanh(x); float32: |x| + |x|³ P(x²) below 0.625 (Cephes, tanhf), 1 - 2 / (e^(2 |x|) + 1) above.
TUTTI_INLINE batch<float> tanh_full(batch<float> x) {
  using B = batch<float>;
  constexpr float p[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                         -3.33332819422e-1f};
  const B t = xsimd::abs(x), square = t * t;
  const B near = multiply_add(horner(square, p) * square, t, t);
  const B far = B(1.f) - B(2.f) / (exp_normal<float>(t + t) + B(1.f));
  return xsimd::copysign(xsimd::select(t < B(0.625f), near, far), x);
}
TUTTI_INLINE batch<double> tanh_full(batch<double> x) { return xsimd::tanh(x); }

template <class T>
void run_integer(Unary f, const Elements<1>& e) {
  using U = std::make_unsigned_t<T>;  // the most negative number stays as it is
  const auto negative = [](T x) { return static_cast<T>(U{0} - static_cast<U>(x)); };
  if (f == Unary::neg)
    elementwise<T>(e, negative);
  else
    elementwise<T>(e, [=](T x) { return x < 0 ? negative(x) : x; });
}

template <class T>
void run_float(Unary f, const Elements<1>& e) {
  using B = batch<T>;
  const B one(T{1});
  switch (f) {
    case Unary::neg:
      return elementwise<T>(e, [=](B x) { return x * -one; });  // xsimd's own may be 0 - x, which loses -0
    case Unary::abs:
      return elementwise<T>(e, [](B x) { return xsimd::abs(x); });
    case Unary::exp:
      return elementwise<T>(e, [](B x) { return exp_full<T>(x); });
    case Unary::log:
      return elementwise<T>(e, [](B x) { return log_full<T>(x); });
    case Unary::log1p:
      return elementwise<T>(e, [](B x) { return select(x == B(T{0}), x, xsimd::log1p(x)); });  // -0 stays
    case Unary::sqrt:
      return elementwise<T>(e, [](B x) { return xsimd::sqrt(x); });
    case Unary::rsqrt:
      return elementwise<T>(e, [=](B x) { return one / xsimd::sqrt(x); });
    case Unary::reciprocal:
      return elementwise<T>(e, [=](B x) { return one / x; });
    case Unary::square:
      return elementwise<T>(e, [](B x) { return x * x; });
    case Unary::sin:
      return elementwise<T>(e, [](B x) { return xsimd::sin(x); });
    case Unary::cos:
      return elementwise<T>(e, [](B x) { return xsimd::cos(x); });
    case Unary::tanh:
      return elementwise<T>(e, [](B x) { return tanh_full(x); });
    case Unary::sigmoid:
      return elementwise<T>(e, [](B x) { return logistic<T>(x); });
    case Unary::relu:
      return elementwise<T>(e, [](B x) { return xsimd::max(B(T{0}), x); });  // the second where one is NaN
    case Unary::silu:
      return elementwise<T>(e, [](B x) { return silu<T>(x); });
    case Unary::gelu:
      return elementwise<T>(e, [](B x) { return gelu_erf<T>(x); });
    case Unary::gelu_tanh:
      return elementwise<T>(e, [](B x) { return gelu_logistic<T>(x); });
  }
}

template <class T>
void run_backward(Unary f, const Elements<2>& e) {
  using B = batch<T>;
  const B zero(T{0}), one(T{1}), two(T{2}), half(T{0.5});
  switch (f) {
    case Unary::neg:
      return elementwise<T>(e, [](B dy, B) { return -dy; });
    case Unary::abs:
      return elementwise<T>(e, [=](B dy, B x) { return select(x > zero, dy, select(x < zero, -dy, x * zero)); });
    case Unary::exp:
      return elementwise<T>(e, [](B dy, B y) { return dy * y; });
    case Unary::log:
      return elementwise<T>(e, [](B dy, B x) { return dy / x; });
    case Unary::log1p:
      return elementwise<T>(e, [=](B dy, B x) { return dy / (one + x); });
    case Unary::sqrt:
      return elementwise<T>(e, [=](B dy, B y) { return half * dy / y; });
    case Unary::rsqrt:
      return elementwise<T>(e, [=](B dy, B y) { return -half * dy * (y * y * y); });
    case Unary::reciprocal:
      return elementwise<T>(e, [](B dy, B y) { return -dy * (y * y); });
    case Unary::square:
      return elementwise<T>(e, [=](B dy, B x) { return two * dy * x; });
    case Unary::sin:
      return elementwise<T>(e, [](B dy, B x) { return dy * xsimd::cos(x); });
    case Unary::cos:
      return elementwise<T>(e, [](B dy, B x) { return -dy * xsimd::sin(x); });
    case Unary::tanh:
      return elementwise<T>(e, [=](B dy, B y) { return dy * (one - y * y); });
    case Unary::sigmoid:
      return elementwise<T>(e, [=](B dy, B y) { return dy * (y * (one - y)); });
    case Unary::relu:
      return elementwise<T>(e, [=](B dy, B y) { return select(y <= zero, zero, dy); });
    case Unary::silu:
      return elementwise<T>(e, [](B dy, B x) { return dy * silu_slope<T>(x); });
    case Unary::gelu:
      return elementwise<T>(e, [](B dy, B x) { return dy * gelu_erf_slope<T>(x); });
    case Unary::gelu_tanh:
      return elementwise<T>(e, [](B dy, B x) { return dy * gelu_logistic_slope<T>(x); });
  }
}

}  // namespace

template <>
void kernel::unary::run<Here>(Unary f, const Elements<1>& e) {
  for_compute(e.out_dtype, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>)
      run_float<T>(f, e);
    else
      run_integer<T>(f, e);
  });
}

template <>
void kernel::unary_backward::run<Here>(Unary f, const Elements<2>& e) {
  for_real(e.out_dtype, [&]<class T>(T) { run_backward<T>(f, e); });
}

}  // namespace tutti
