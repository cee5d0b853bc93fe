// For kernel files: lines of Lines<N>. A line whose elements are neighbours is the work of a team of threads, which
// keeps it in registers; lines that lie across memory are a thread's each, neighbours side by side.
#pragma once
#include "tutti/backends/contract/lines.h"
#include "tutti/backends/cuda/collective.h"

namespace tutti {
namespace {

/// Some threads of a block that share a line: a part of a warp (a power of two), or the whole block.
struct Team {
  int size;
  __device__ int rank() const { return static_cast<int>(threadIdx.x) % size; }
  __device__ int number() const { return static_cast<int>(threadIdx.x) / size; }  ///< within the block
  __device__ int per_block() const { return static_cast<int>(blockDim.x) / size; }

  /// All threads of the block call it, and each gets its team's result. `none` is what adds nothing.
  template <class Op, class V>
  __device__ V reduce(Op op, V v, V none) const {
    if (size > 32) return block_reduce(op, v, none);
    for (int offset = size / 2; offset; offset >>= 1) v = op(v, __shfl_xor_sync(full_warp, v, offset));
    return v;
  }
  template <class V>
  __device__ V sum(V v) const {
    return reduce(Add{}, v, V{0});
  }
  /// Both at once.
  template <class V>
  __device__ void sum(V& a, V& b) const {
    for (int offset = (size > 32 ? 32 : size) / 2; offset; offset >>= 1) {
      a += __shfl_xor_sync(full_warp, a, offset);
      b += __shfl_xor_sync(full_warp, b, offset);
    }
    if (size <= 32) return;
    SHARED(V, of_warps, [2][32]);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    __syncthreads();  // an earlier sum may still be read
    if (lane == 0) {
      of_warps[0][warp] = a;
      of_warps[1][warp] = b;
    }
    __syncthreads();
    a = warp_sum(lane < warps ? of_warps[0][lane] : V{0});
    b = warp_sum(lane < warps ? of_warps[1][lane] : V{0});
  }
  template <class V>
  __device__ V largest(V v) const {
    return reduce(Larger{}, v, -static_cast<V>(INFINITY));
  }
  /// Of what all threads of a team agree in: whether any team that must keep step with this one says so.
  __device__ bool any(bool v) const { return size > 32 ? v : __any_sync(full_warp, v) != 0; }
};

/// E elements of a line for this thread, in packs of V, of the team's chunk that begins at element `start`.
template <int V, int E>
struct Chunk {
  static constexpr int packs = E / V;
  int64_t start;
  int left, first, step;  // elements from `start` to the end of the line, if in reach; this thread's packs
  __device__ Chunk(const Team& team, int64_t width, int64_t begin)
      : start(begin),
        left(static_cast<int>(width - begin < team.size * E ? width - begin : team.size * E)),
        first(team.rank() * V),
        step(team.size * V) {}
  __device__ int at(int k) const { return first + k * step; }

  /// f(k, place in the line) for this thread's packs that there are. (Packs are whole.)
  template <class F>
  __device__ void each_pack(F&& f) const {
    TUTTI_UNROLL
    for (int k = 0; k < packs; ++k)
      if (at(k) < left) f(k, start + at(k));
  }
  /// v = the elements, `fill` beyond the end (or everywhere, if there is no line).
  template <class T>
  __device__ void load(const T* line, compute_t<T> fill, compute_t<T> (&v)[E]) const {
    TUTTI_UNROLL
    for (int k = 0; k < packs; ++k) {
      Pack<T, V> pack{};
      const bool inside = line && at(k) < left;
      if (inside) pack = *reinterpret_cast<const Pack<T, V>*>(line + start + at(k));
      TUTTI_UNROLL
      for (int j = 0; j < V; ++j) v[k * V + j] = inside ? tutti::load(&pack.v[j]) : fill;
    }
  }
  /// line[i] = f(number of the element in `load`'s v), if there is a line.
  template <class T, class F>
  __device__ void store(T* line, F&& f) const {
    if (!line) return;
    each_pack([&](int k, int64_t place) {
      Pack<T, V> pack;
      TUTTI_UNROLL
      for (int j = 0; j < V; ++j) tutti::store(&pack.v[j], f(k * V + j));
      *reinterpret_cast<Pack<T, V>*>(line + place) = pack;
    });
  }
};

/// v = V elements at p.
template <int V, class T>
__device__ void load_pack(const T* p, compute_t<T> (&v)[V]) {
  const auto pack = *reinterpret_cast<const Pack<T, V>*>(p);
  TUTTI_UNROLL
  for (int j = 0; j < V; ++j) v[j] = load(&pack.v[j]);
}
template <int V, class T>
__device__ void store_pack(T* p, const compute_t<T> (&v)[V]) {
  Pack<T, V> pack;
  TUTTI_UNROLL
  for (int j = 0; j < V; ++j) store(&pack.v[j], v[j]);
  *reinterpret_cast<Pack<T, V>*>(p) = pack;
}

template <class T, int N>
__device__ const T* line_in(const Lines<N>& x, int k, int64_t line) {
  return static_cast<const T*>(x.in[k]) + offset_at(x.outer, x.in_outer[k], line);
}
template <class T, int N>
__device__ T* line_out(const Lines<N>& x, int64_t line) {
  return x.out ? static_cast<T*>(x.out) + offset_at(x.outer, x.out_outer, line) : nullptr;
}

template <int N>
bool contiguous_lines(const Lines<N>& x) {
  bool yes = x.width > 1 && (!x.out || x.out_stride == 1);
  for (int k = 0; k < N; ++k) yes = yes && x.in_stride[k] == 1;
  return yes;
}

/// Whether every line (of neighbours) is whole, aligned packs of V elements.
template <int V, int N>
bool packs_of_lines(const Lines<N>& x) {
  const auto fits = [&](const void* data, const Dims& outer) {
    bool yes = reinterpret_cast<uintptr_t>(data) % (size_of(x.dtype) * V) == 0;
    for (const int64_t stride : outer) yes = yes && stride % V == 0;
    return yes;
  };
  bool yes = x.width % V == 0 && (!x.out || fits(x.out, x.out_outer));
  for (int k = 0; k < N; ++k) yes = yes && fits(x.in[k], x.in_outer[k]);
  return yes;
}

/// How wide lines are shared out: E elements per thread; `once` if a team holds a line in its registers.
template <int v, int e, bool is_once>
struct LineShape {
  static constexpr int V = v, E = e;
  static constexpr bool once = is_once;
};
constexpr int most_line_threads = 512;

/// use(LineShape, threads of a team, threads of a block) for lines of neighbours. From a warp's worth of short lines to
/// lines that are read in chunks.
template <class T, class Use>
void with_shape(int64_t width, bool packs, Use&& use) {
  constexpr int V = 16 / static_cast<int>(sizeof(T)), small = 8;
  const auto with_packs = [&]<int v>(std::integral_constant<int, v>) {
    constexpr int large = v == 1 || sizeof(T) == 8 ? 16 : 32;  // single elements need registers for their places too
    if (width <= 32 * small) {
      int team = 1;
      while (team * small < width) team *= 2;
      return use(LineShape<v, small, true>{}, team, 256);
    }
    if (width <= 32 * large) return use(LineShape<v, large, true>{}, 32, 256);
    if (width <= most_line_threads * large) {
      const int team = threads_for((width + large - 1) / large, most_line_threads);
      return use(LineShape<v, large, true>{}, team, team);
    }
    use(LineShape<v, small, false>{}, most_line_threads, most_line_threads);
  };
  if (packs)
    with_packs(std::integral_constant<int, V>{});
  else
    with_packs(std::integral_constant<int, 1>{});
}

}  // namespace
}  // namespace tutti
