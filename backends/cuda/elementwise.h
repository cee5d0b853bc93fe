// For kernel files: a function of N operands, element by element, over Elements<N>.
#pragma once
#include <tuple>
#include <utility>

#include "tutti/backends/cuda/device.h"

namespace tutti {
namespace {

/// V elements at p, or one V times.
template <int V, class T>
__device__ Pack<T, V> pack_at(const T* p, bool along) {
  if (along) return *reinterpret_cast<const Pack<T, V>*>(p);
  Pack<T, V> pack;
  TUTTI_UNROLL
  for (int j = 0; j < V; ++j) pack.v[j] = *p;
  return pack;
}

/// Works on packs of V elements along the innermost axis (V is 1 where the layout allows no more): one thread loads,
/// computes and stores a pack. Index is 32 bits wide where that is enough, since GPUs divide 64 slowly.
template <int V, class Index, class F, class Out, class... In, size_t... I>
__device__ void pack_of(const F& f, const Elements<sizeof...(In)>& e, Index i, std::index_sequence<I...>) {
  constexpr int n = sizeof...(In);
  int64_t out = 0, in[n] = {};
  for (int k = e.shape.n - 1; k >= 0; --k) {
    const bool innermost = k == e.shape.n - 1;
    const auto size = static_cast<Index>(innermost ? e.shape[k] / V : e.shape[k]);
    const auto at = static_cast<int64_t>(k == 0 ? i : i % size);
    i /= size;
    const int64_t step = innermost ? at * V : at;
    out += step * e.out_strides[k];
    for (int j = 0; j < n; ++j) in[j] += step * e.in_strides[j][k];
  }
  if constexpr (V == 1) {
    store(static_cast<Out*>(e.out) + out, f(load(static_cast<const In*>(e.in[I]) + in[I])...));
  } else {
    const int last = e.shape.n - 1;
    const std::tuple packs{pack_at<V>(static_cast<const In*>(e.in[I]) + in[I], e.in_strides[I][last] != 0)...};
    Pack<Out, V> y;
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) store(&y.v[j], f(load(&std::get<I>(packs).v[j])...));
    *reinterpret_cast<Pack<Out, V>*>(static_cast<Out*>(e.out) + out) = y;
  }
}

template <int V, class Index, class F, class Out, class... In>
__global__ void elementwise_kernel(F f, Elements<sizeof...(In)> e, Index packs) {
  const auto step = static_cast<Index>(thread_count());
  for (auto i = static_cast<Index>(thread_index()); i < packs; i += step)
    pack_of<V, Index, F, Out, In...>(f, e, i, std::make_index_sequence<sizeof...(In)>{});
  if constexpr (V > 1) {  // of a single axis fewer than V elements may be left
    const auto rest = static_cast<Index>(packs * V + static_cast<Index>(thread_index()));
    if (e.shape.n == 1 && rest < static_cast<Index>(e.shape[0]))
      pack_of<1, Index, F, Out, In...>(f, e, rest, std::make_index_sequence<sizeof...(In)>{});
  }
}

/// Whether packs of V may stand for V elements of this operand: they lie side by side, or are one constant.
inline bool packs_fit(const void* data, size_t element, const Dims& strides, int64_t V, bool may_repeat) {
  const int last = strides.n - 1;
  if (strides[last] == 0 && may_repeat) return true;
  if (strides[last] != 1 || reinterpret_cast<uintptr_t>(data) % (element * static_cast<size_t>(V)) != 0) return false;
  for (int k = 0; k < last; ++k)
    if (strides[k] % V != 0) return false;
  return true;
}

/// out = f(in...): f takes and returns what the elements are computed in, compute_t<Out> f(compute_t<In>...).
template <class Out, class... In, class F>
void elementwise(const Elements<sizeof...(In)>& e, const F& f) {
  constexpr int n = sizeof...(In);
  constexpr int V = static_cast<int>(std::max<size_t>(1, 16 / std::max({sizeof(Out), sizeof(In)...})));
  const int64_t count = e.shape.product();
  if (count == 0) return;
  const int last = e.shape.n - 1;
  const bool whole = last == 0 ? count >= V : last > 0 && e.shape[last] % V == 0;
  bool packed = V > 1 && whole && packs_fit(e.out, sizeof(Out), e.out_strides, V, false);
  constexpr size_t sizes[] = {sizeof(In)..., 0};
  for (int k = 0; packed && k < n; ++k) packed = packs_fit(e.in[k], sizes[k], e.in_strides[k], V, true);
  const auto run = [&]<class Index, int width>(Index, std::integral_constant<int, width>) {
    const int64_t packs = count / width;
    const int block = threads_for(packs);
    start(elementwise_kernel<width, Index, F, Out, In...>, blocks_for(packs, block), block, 0, f, e,
          static_cast<Index>(packs));
  };
  // Tensors beyond 2^31 elements are rare: for them there is one slower form.
  if (count >= int64_t{1} << 31)
    run(uint64_t{}, std::integral_constant<int, 1>{});
  else if (packed)
    run(uint32_t{}, std::integral_constant<int, V>{});
  else
    run(uint32_t{}, std::integral_constant<int, 1>{});
}

/// A function of an element and a number, which stands first or second: for kernels with a scalar operand.
template <class F, class T>
struct WithNumber {
  F f;
  T number;
  bool first;
  __device__ auto operator()(T x) const { return first ? f(number, x) : f(x, number); }
};

}  // namespace
}  // namespace tutti
