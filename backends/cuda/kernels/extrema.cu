// Largest and smallest elements along an axis, with their positions.
#include "tutti/backends/contract/extrema.h"

#include "tutti/backends/cuda/fold.h"

namespace tutti {
namespace {

/// x beats y: it is larger (smaller), or a NaN while y is none.
template <class C>
__device__ bool beats(C x, C y, bool largest) {
  if constexpr (std::is_integral_v<C>)
    return largest ? x > y : x < y;
  else
    return !(largest ? x <= y : x >= y) && !(y != y);
}

template <class T>
struct Extremum {
  using C = compute_t<T>;
  struct alignas(8) Acc {
    int64_t at;  // -1: nothing yet
    C value;
  };
  using Param = Nothing;
  T* values;  // may be null
  int64_t* indices;
  bool largest;
  __device__ Nothing param(const Fold&, int64_t, C) const { return {}; }
  __device__ Acc none() const { return {-1, C(0)}; }
  __device__ Acc combine(const Acc& a, const Acc& b) const {
    if (b.at < 0) return a;
    if (a.at < 0 || beats(b.value, a.value, largest)) return b;
    return b.at < a.at && !beats(a.value, b.value, largest) ? b : a;  // the first of equals
  }
  template <int V>
  __device__ void add(Acc& a, const C (&x)[V], int64_t i, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j)  // positions ascend
      if (a.at < 0 || beats(x[j], a.value, largest)) a = {i + j, x[j]};
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    indices[r] = a.at;
    if (values)
      values[r] = static_cast<const T*>(x.data)[offset_at(x.kept, x.kept_strides, r) + a.at * x.folded_strides[0]];
  }
};

}  // namespace

template <>
void kernel::extremum::run<Here>(const Lines<1>& x, void* values, int64_t* indices, bool largest) {
  Fold f{x.in[0], values, x.dtype, x.dtype, x.outer, x.in_outer[0], {}, {x.width}, {x.in_stride[0]}, x.count, x.width};
  for_any(x.dtype, [&]<class T>(T) { fold_all<T>(f, Extremum<T>{static_cast<T*>(values), indices, largest}); });
}

}  // namespace tutti
