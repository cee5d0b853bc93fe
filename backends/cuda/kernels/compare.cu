// Comparison, logic and selection.
#include "tutti/backends/contract/compare.h"

#include "tutti/backends/cuda/elementwise.h"

namespace tutti {
namespace {

/// All six comparisons in one kernel: what comes out where the first is less, equal, greater, or one is NaN.
struct Holds {
  uint8_t less, equal, greater, unordered;
  template <class T>
  __device__ uint8_t operator()(T a, T b) const {
    return a < b ? less : a > b ? greater : a == b ? equal : unordered;
  }
};
Holds holds(Compare op) {
  switch (op) {
    case Compare::eq:
      return {0, 1, 0, 0};
    case Compare::ne:
      return {1, 0, 1, 1};
    case Compare::lt:
      return {1, 0, 0, 0};
    case Compare::le:
      return {1, 1, 0, 0};
    case Compare::gt:
      return {0, 0, 1, 0};
    case Compare::ge:
      return {0, 1, 1, 0};
  }
  return {};
}

struct Both {
  __device__ uint8_t operator()(uint8_t a, uint8_t b) const { return a & b; }
};
struct Either {
  __device__ uint8_t operator()(uint8_t a, uint8_t b) const { return a | b; }
};

// Selection moves elements as they are: T is an unsigned integer of their size.
struct Choose {
  template <class T>
  __device__ T operator()(uint8_t condition, T a, T b) const {
    return condition ? a : b;
  }
};
template <class T>
struct FillWhere {
  T value;
  bool where_true;
  __device__ T operator()(T x, uint8_t mask) const { return (mask != 0) == where_true ? value : x; }
};

}  // namespace

template <>
void kernel::compare::run<Here>(Compare op, const Elements<2>& e) {
  for_any(e.dtype[0], [&]<class T>(T) { elementwise<uint8_t, T, T>(e, holds(op)); });
}

template <>
void kernel::compare_scalar::run<Here>(Compare op, const Elements<1>& e, Number number) {
  for_any(e.dtype[0], [&]<class T>(T) {
    using C = compute_t<T>;
    elementwise<uint8_t, T>(e, WithNumber<Holds, C>{holds(op), number.computed<C>(e.dtype[0]), false});
  });
}

template <>
void kernel::logic::run<Here>(Logic op, const Elements<2>& e) {
  if (op == Logic::both)
    elementwise<uint8_t, uint8_t, uint8_t>(e, Both{});
  else
    elementwise<uint8_t, uint8_t, uint8_t>(e, Either{});
}

template <>
void kernel::where::run<Here>(const Elements<3>& e) {
  for_size(e.out_dtype, [&]<class T>(T) { elementwise<T, uint8_t, T, T>(e, Choose{}); });
}

template <>
void kernel::masked_fill::run<Here>(const Elements<2>& e, Number value, bool where_true) {
  for_any(e.out_dtype, [&]<class T>(T) {
    using Bits = bits_t<T>;
    const auto bits = std::bit_cast<Bits>(value.element<T>(e.out_dtype));
    elementwise<Bits, Bits, uint8_t>(e, FillWhere<Bits>{bits, where_true});
  });
}

}  // namespace tutti
