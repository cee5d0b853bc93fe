// Functions of one tensor. Their gradients: unary_backward.cu.
#include "tutti/backends/contract/unary.h"

#include "tutti/backends/cuda/elementwise.h"
#include "tutti/backends/cuda/math.h"

namespace tutti {
namespace {

// The most negative integer stays as it is.
struct Negative {
  template <class T>
  __device__ T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(x));
    else
      return -x;
  }
};
struct Absolute {
  template <class T>
  __device__ T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>)
      return x;
    else if constexpr (std::is_integral_v<T>)
      return x < 0 ? Negative{}(x) : x;
    else
      return std::abs(x);
  }
};

/// The function `f` of a floating number.
template <Unary f>
struct Function {
  template <class T>
  __device__ T operator()(T x) const {
    if constexpr (f == Unary::exp)
      return std::exp(x);
    else if constexpr (f == Unary::log)
      return std::log(x);
    else if constexpr (f == Unary::log1p)
      return std::log1p(x);
    else if constexpr (f == Unary::sqrt)
      return std::sqrt(x);
    else if constexpr (f == Unary::rsqrt)
      return T(1) / std::sqrt(x);
    else if constexpr (f == Unary::reciprocal)
      return T(1) / x;
    else if constexpr (f == Unary::square)
      return x * x;
    else if constexpr (f == Unary::sin)
      return std::sin(x);
    else if constexpr (f == Unary::cos)
      return std::cos(x);
    else if constexpr (f == Unary::tanh)
      return std::tanh(x);
    else if constexpr (f == Unary::sigmoid)
      return logistic(x);
    else if constexpr (f == Unary::relu)
      return T(0) > x ? T(0) : x;  // NaN stays
    else if constexpr (f == Unary::silu)
      return silu(x);
    else if constexpr (f == Unary::gelu)
      return gelu_erf(x);
    else
      return gelu_logistic(x);
  }

 private:
  template <class T>
  static __device__ T silu(T x) {
    const T y = T(-1000) > x ? T(-1000) : x;  // 0, not NaN, at -infinity
    return y * logistic(y);
  }
};

/// use(g) with the function `f`, of which neg and abs are not.
template <class Use>
void with_function(Unary f, Use&& use) {
  switch (f) {
    case Unary::neg:
    case Unary::abs:
      return;
    case Unary::exp:
      return use(Function<Unary::exp>{});
    case Unary::log:
      return use(Function<Unary::log>{});
    case Unary::log1p:
      return use(Function<Unary::log1p>{});
    case Unary::sqrt:
      return use(Function<Unary::sqrt>{});
    case Unary::rsqrt:
      return use(Function<Unary::rsqrt>{});
    case Unary::reciprocal:
      return use(Function<Unary::reciprocal>{});
    case Unary::square:
      return use(Function<Unary::square>{});
    case Unary::sin:
      return use(Function<Unary::sin>{});
    case Unary::cos:
      return use(Function<Unary::cos>{});
    case Unary::tanh:
      return use(Function<Unary::tanh>{});
    case Unary::sigmoid:
      return use(Function<Unary::sigmoid>{});
    case Unary::relu:
      return use(Function<Unary::relu>{});
    case Unary::silu:
      return use(Function<Unary::silu>{});
    case Unary::gelu:
      return use(Function<Unary::gelu>{});
    case Unary::gelu_tanh:
      return use(Function<Unary::gelu_tanh>{});
  }
}

}  // namespace

template <>
void kernel::unary::run<Here>(Unary f, const Elements<1>& e) {
  if (f == Unary::neg) return for_any(e.out_dtype, [&]<class T>(T) { elementwise<T, T>(e, Negative{}); });
  if (f == Unary::abs) return for_any(e.out_dtype, [&]<class T>(T) { elementwise<T, T>(e, Absolute{}); });
  for_float(e.out_dtype, [&]<class T>(T) {
    with_function(f, [&]<class F>(F function) { elementwise<T, T>(e, function); });
  });
}

}  // namespace tutti
