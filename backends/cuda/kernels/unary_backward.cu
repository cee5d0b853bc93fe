// Gradients of the functions of one tensor (unary.cu).
#include "tutti/backends/contract/unary.h"

#include "tutti/backends/cuda/elementwise.h"
#include "tutti/backends/cuda/math.h"

namespace tutti {
namespace {

/// dy f'(x), where z is f(x) or x, whatever makes it shorter (contract/unary.h).
template <Unary f>
struct Gradient {
  template <class T>
  __device__ T operator()(T dy, T z) const {
    if constexpr (f == Unary::neg)
      return -dy;
    else if constexpr (f == Unary::abs)
      return z > 0 ? dy : z < 0 ? -dy : z * T(0);
    else if constexpr (f == Unary::exp)
      return dy * z;
    else if constexpr (f == Unary::log)
      return dy / z;
    else if constexpr (f == Unary::log1p)
      return dy / (T(1) + z);
    else if constexpr (f == Unary::sqrt)
      return T(0.5) * dy / z;
    else if constexpr (f == Unary::rsqrt)
      return T(-0.5) * dy * (z * z * z);
    else if constexpr (f == Unary::reciprocal)
      return -dy * (z * z);
    else if constexpr (f == Unary::square)
      return T(2) * dy * z;
    else if constexpr (f == Unary::sin)
      return dy * std::cos(z);
    else if constexpr (f == Unary::cos)
      return -dy * std::sin(z);
    else if constexpr (f == Unary::tanh)
      return dy * (T(1) - z * z);
    else if constexpr (f == Unary::sigmoid)
      return dy * (z * (T(1) - z));
    else if constexpr (f == Unary::relu)
      return z <= 0 ? T(0) : dy;
    else if constexpr (f == Unary::silu)
      return dy * silu_slope(z);
    else if constexpr (f == Unary::gelu)
      return dy * gelu_erf_slope(z);
    else
      return dy * gelu_logistic_slope(z);
  }

 private:
  template <class T>
  static __device__ T silu_slope(T x) {
    const T y = limit(x, T(-1000), T(1000)), s = logistic(y);
    return s * std::fma(y, T(1) - s, T(1));
  }
};

/// use(g) with the gradient of `f`.
template <class Use>
void with_gradient(Unary f, Use&& use) {
  switch (f) {
    case Unary::neg:
      return use(Gradient<Unary::neg>{});
    case Unary::abs:
      return use(Gradient<Unary::abs>{});
    case Unary::exp:
      return use(Gradient<Unary::exp>{});
    case Unary::log:
      return use(Gradient<Unary::log>{});
    case Unary::log1p:
      return use(Gradient<Unary::log1p>{});
    case Unary::sqrt:
      return use(Gradient<Unary::sqrt>{});
    case Unary::rsqrt:
      return use(Gradient<Unary::rsqrt>{});
    case Unary::reciprocal:
      return use(Gradient<Unary::reciprocal>{});
    case Unary::square:
      return use(Gradient<Unary::square>{});
    case Unary::sin:
      return use(Gradient<Unary::sin>{});
    case Unary::cos:
      return use(Gradient<Unary::cos>{});
    case Unary::tanh:
      return use(Gradient<Unary::tanh>{});
    case Unary::sigmoid:
      return use(Gradient<Unary::sigmoid>{});
    case Unary::relu:
      return use(Gradient<Unary::relu>{});
    case Unary::silu:
      return use(Gradient<Unary::silu>{});
    case Unary::gelu:
      return use(Gradient<Unary::gelu>{});
    case Unary::gelu_tanh:
      return use(Gradient<Unary::gelu_tanh>{});
  }
}

}  // namespace

template <>
void kernel::unary_backward::run<Here>(Unary f, const Elements<2>& e) {
  for_float(e.out_dtype, [&]<class T>(T) {
    with_gradient(f, [&]<class F>(F gradient) { elementwise<T, T, T>(e, gradient); });
  });
}

}  // namespace tutti
