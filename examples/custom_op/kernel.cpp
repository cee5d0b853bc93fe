// Compiled once for every instruction set: `Here` is the one of this time. The lambdas see whole registers
// (batch<float> or batch<double>); elementwise() takes care of strides, half types and threads.
#include "kernel.h"

#include <tutti/backends/cpu/elementwise.h>

using namespace tutti;

namespace {

/// max(x, 0), but NaN stays NaN.
template <class B>
TUTTI_INLINE B positive_part(const B& x) {
  return xsimd::select(x < B(0), B(0), x);
}

}  // namespace

template <>
void mine::relu_squared_forward::run<Here>(const Elements<1>& e) {
  for_real(e.out_dtype, [&]<class T>(T) {
    elementwise<T>(e, [](auto x) {
      const auto p = positive_part(x);
      return p * p;
    });
  });
}

template <>
void mine::relu_squared_backward::run<Here>(const Elements<2>& e) {
  for_real(e.out_dtype, [&]<class T>(T) {
    elementwise<T>(e, [](auto x, auto dy) {
      const auto p = positive_part(x);
      return (p + p) * dy;
    });
  });
}
