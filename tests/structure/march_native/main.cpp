// An operation outside the library, with a broadcast operand: its kernel reads as many copies of that as the library's
// walk has written, on every instruction set. Against plain loops.
#include <tutti/backends/contract/kernel.h>
#include <tutti/tutti.h>

#include <cstdio>

#include "relu_squared.h"

using namespace tutti;

namespace {

template <class T>
int check(int64_t n, DType dtype) {
  Tensor x = randn({n}, {.dtype = dtype});
  x.requires_grad_();
  const Tensor weight = full({}, 0.75, {.dtype = dtype});
  const Tensor y = mine::relu_squared(x);
  mul(sum(y), weight).backward();  // the gradient of y is one number, repeated
  for (int64_t i = 0; i < n; ++i) {
    const double v = x.detach().data<T>()[i], p = v < 0 ? 0 : v;
    const double value = y.detach().data<T>()[i], gradient = x.grad().data<T>()[i];
    if (std::abs(value - p * p) > 1e-5 || std::abs(gradient - 1.5 * p) > 1e-5) {
      std::fprintf(stderr, "%s, element %lld of %lld: x = %g, y = %g, gradient %g\n",
                   isa::names[static_cast<size_t>(isa::level())], static_cast<long long>(i), static_cast<long long>(n),
                   v, value, gradient);
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main() {
  int failed = 0;
  for (int64_t n = 1; n <= 67; ++n) failed |= check<float>(n, DType::float32) | check<double>(n, DType::float64);
  if (!failed) std::printf("%s: right\n", isa::names[static_cast<size_t>(isa::level())]);
  return failed;
}
