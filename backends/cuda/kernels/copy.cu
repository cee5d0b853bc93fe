// Copies and conversions.
#include "tutti/backends/contract/copy.h"

#include "tutti/backends/cuda/convert.h"
#include "tutti/backends/cuda/elementwise.h"
#include "tutti/backends/cuda/transpose.h"

namespace tutti {
namespace {

/// Below, a tile would be mostly empty: threads along the output read what lies near in memory anyhow.
constexpr int64_t least_side = 16;

struct Same {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};
/// The bits of an element of To: what is computed in float would be rounded twice.
template <class To>
struct Converted {
  template <class T>
  __device__ bits_t<To> operator()(T x) const {
    return std::bit_cast<bits_t<To>>(convert<To>(x));
  }
};
/// A NaN is not zero.
struct NotZero {
  template <class T>
  __device__ uint8_t operator()(T x) const {
    return x != T(0);
  }
};

/// Axes by falling strides of the output, so that threads side by side write side by side; merged where both operands
/// step evenly.
void order_axes(Elements<1>& e) {
  const auto less = [&](int a, int b) { return e.out_strides[a] < e.out_strides[b]; };
  const auto move = [&](int to, int from) {
    e.shape[to] = e.shape[from];
    e.out_strides[to] = e.out_strides[from];
    e.in_strides[0][to] = e.in_strides[0][from];
  };
  bool moved = false;
  for (int i = 1; i < e.shape.n; ++i)
    for (int j = i; j > 0 && less(j - 1, j); --j) {
      std::swap(e.shape[j - 1], e.shape[j]);
      std::swap(e.out_strides[j - 1], e.out_strides[j]);
      std::swap(e.in_strides[0][j - 1], e.in_strides[0][j]);
      moved = true;
    }
  if (!moved) return;  // merged already
  int last = 0;
  for (int i = 1; i < e.shape.n; ++i) {
    const int64_t n = e.shape[i];
    if (e.out_strides[last] == e.out_strides[i] * n && e.in_strides[0][last] == e.in_strides[0][i] * n) {
      const int64_t merged = e.shape[last] * n;
      move(last, i);
      e.shape[last] = merged;
    } else {
      move(++last, i);
    }
  }
  e.shape.n = e.out_strides.n = e.in_strides[0].n = last + 1;
}

/// Whether the output lies along the last axis and the input along another one; then both are taken by tiles.
template <class T>
bool transposed(const Elements<1>& e) {
  const int last = e.shape.n - 1;
  const Dims& in = e.in_strides[0];
  if (last < 1 || e.out_strides[last] != 1 || in[last] == 1 || e.shape[last] < least_side) return false;
  int axis = last - 1;
  while (axis >= 0 && (in[axis] != 1 || e.shape[axis] < least_side)) --axis;
  if (axis < 0) return false;
  Transpose t{e.in[0], e.out, e.shape[axis], e.shape[last], e.out_strides[axis], in[last], 1, {}, {}, {}};
  for (int i = 0; i < last; ++i) {
    if (i == axis) continue;
    t.grid.push(e.shape[i]);
    t.to_grid.push(e.out_strides[i]);
    t.from_grid.push(in[i]);
    t.matrices *= e.shape[i];
  }
  return transpose<T>(t);
}

}  // namespace

template <>
void kernel::copy::run<Here>(const Elements<1>& given) {
  Elements<1> e = given;
  if (e.shape.product() == 0) return;
  order_axes(e);
  const bool to_bool = e.out_dtype == DType::boolean && e.dtype[0] != DType::boolean;
  const bool same = e.dtype[0] == e.out_dtype || (size_of(e.out_dtype) == 1 && size_of(e.dtype[0]) == 1 && !to_bool);
  if (same)
    return for_size(e.out_dtype, [&]<class T>(T) {
      if (!transposed<T>(e)) elementwise<T, T>(e, Same{});
    });
  for_any(e.dtype[0], [&]<class From>(From) {
    if (to_bool) return elementwise<uint8_t, From>(e, NotZero{});
    for_any(e.out_dtype, [&]<class To>(To) {
      if constexpr (!std::is_same_v<From, To>) elementwise<bits_t<To>, From>(e, Converted<To>{});
    });
  });
}

}  // namespace tutti
