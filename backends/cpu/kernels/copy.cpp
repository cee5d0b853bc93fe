// Copies and conversions on the CPU.
#include "tutti/backends/contract/copy.h"

#include "tutti/backends/cpu/elementwise.h"

namespace tutti {
namespace {

/// Not zero: 1. A NaN is not zero.
void to_bool(const Elements<1>& e) {
  for_compute(e.dtype[0], [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>)
      elementwise<T>(e, [](batch<T> x) { return select(differ(x, batch<T>(T{0})), batch<T>(T{1}), batch<T>(T{0})); });
    else
      elementwise<T>(e, [](T x) { return static_cast<T>(x != 0); });
  });
}

}  // namespace

template <>
void kernel::copy::run<Here>(const Elements<1>& e) {
  if (e.out_dtype == DType::boolean && e.dtype[0] != DType::boolean) return to_bool(e);
  Operands o = operands(e);
  // Through the output's compute type; but what float32 would round goes to a half type directly, to be rounded once.
  const bool direct = size_of(e.out_dtype) == 2 && size_of(e.dtype[0]) >= 4;
  for_compute(direct ? e.dtype[0] : e.out_dtype, [&]<class T>(T) { walk<Here, T>(o, nullptr, nullptr); });
}

}  // namespace tutti
