// For kernels/gemm.cu: a block's tile of a product. 256 threads as 16 x 16, each with per_thread x per_thread elements,
// go along the inner dimension in steps that every thread copies four elements of a and of b for.
#pragma once
#include <cmath>

#include "tutti/backends/cuda/device.h"

namespace tutti {
namespace {

template <class T, int per_thread>
struct Tile {
  static constexpr int threads = 256, side = 16 * per_thread, depth = 64 / per_thread;
  /// Elements that are moved at once, at most 16 bytes: per thread in `groups` groups that lie 16 * width apart.
  static constexpr int most = 16 / static_cast<int>(sizeof(T)), width = per_thread < most ? per_thread : most;
  static constexpr int groups = per_thread / width;
  /// Fours of elements change places within a row of the shared tile, by its number, so that the copying threads, whose
  /// fours lie along the inner dimension, write to different banks.
  static constexpr int in_a_row = 128 / static_cast<int>(sizeof(T)) / depth, turn = 4 * (in_a_row > 1 ? in_a_row : 1);
  static constexpr int place(int k, int i) { return i ^ (k / 4 * turn); }
  using Row = T[side];
};

/// One operand as [outer, inner]: a's rows or b's columns are outer. What a tile is copied from.
struct Source {
  int64_t outer, inner, outer_stride, inner_stride;
  bool along_inner;  ///< the four elements of a thread lie along it
  bool packs;        ///< and at neighbouring, aligned places
};

/// The four elements of this thread, step by step.
template <class T, int per_thread>
class Copier {
  using Shape = Tile<T, per_thread>;
  static constexpr int side = Shape::side, depth = Shape::depth;

 public:
  __device__ Copier(const Source& s, int64_t first)
      : i_(static_cast<int>(s.along_inner ? threadIdx.x / (depth / 4) : threadIdx.x % (side / 4) * 4)),
        k_(static_cast<int>(s.along_inner ? threadIdx.x % (depth / 4) * 4 : threadIdx.x / (side / 4))),
        outer_left_(at_most_4(s.outer - first - i_)) {}

  /// The next load() is of this place of a matrix.
  __device__ void go_to(const Source& s, const T* matrix, int64_t first, int64_t inner) {
    p_ = matrix + ((first + i_) * s.outer_stride + (inner + k_) * s.inner_stride);
  }
  /// From memory, and on by one step; zeros outside of the matrix.
  __device__ void load(const Source& s, int64_t inner) {
    const int inner_left = at_most_4(s.inner - inner - k_);
    const T* const p = p_;
    p_ += s.inner_stride * depth;
    const int n = s.along_inner ? (outer_left_ > 0 ? inner_left : 0) : (inner_left > 0 ? outer_left_ : 0);
    if (s.packs && n == 4) {
      constexpr int V = Shape::most;
      TUTTI_UNROLL
      for (int j = 0; j < 4; j += V) {
        const auto pack = *reinterpret_cast<const Pack<T, V>*>(p + j);
        TUTTI_UNROLL
        for (int e = 0; e < V; ++e) v_[j + e] = pack.v[e];
      }
      return;
    }
    const int64_t step = s.along_inner ? s.inner_stride : s.outer_stride;
    TUTTI_UNROLL
    for (int j = 0; j < 4; ++j) v_[j] = j < n ? p[j * step] : T(0);
  }

  /// To the shared tile.
  __device__ void store(const Source& s, typename Shape::Row* tile) const {
    if (s.along_inner) {
      TUTTI_UNROLL
      for (int j = 0; j < 4; ++j) tile[k_ + j][Shape::place(k_, i_)] = v_[j];
      return;
    }
    T* p = &tile[k_][Shape::place(k_, i_)];
    constexpr int V = Shape::most;
    TUTTI_UNROLL
    for (int j = 0; j < 4; j += V) {
      Pack<T, V> pack;
      TUTTI_UNROLL
      for (int e = 0; e < V; ++e) pack.v[e] = v_[j + e];
      *reinterpret_cast<Pack<T, V>*>(p + j) = pack;
    }
  }

 private:
  __device__ static int at_most_4(int64_t n) { return n < 4 ? static_cast<int>(n) : 4; }

  int i_, k_, outer_left_;  // the first of the four within the tile
  const T* p_ = nullptr;
  T v_[4];
};

/// What thread `at` of 16 along a side needs of row k of a shared tile.
template <class T, int per_thread>
__device__ void fragment(const T* row, int k, int at, T (&v)[per_thread]) {
  using Shape = Tile<T, per_thread>;
  constexpr int V = Shape::width;
  TUTTI_UNROLL
  for (int g = 0; g < Shape::groups; ++g) {
    const auto pack = *reinterpret_cast<const Pack<T, V>*>(row + Shape::place(k, g * 16 * V + at * V));
    TUTTI_UNROLL
    for (int e = 0; e < V; ++e) v[g * V + e] = pack.v[e];
  }
}

/// sum += a b over one step, in order.
template <class T, int per_thread>
__device__ void multiply_tiles(const typename Tile<T, per_thread>::Row* a, const typename Tile<T, per_thread>::Row* b,
                               int down, int across, T (&sum)[per_thread][per_thread]) {
  TUTTI_UNROLL
  for (int k = 0; k < Tile<T, per_thread>::depth; ++k) {
    T x[per_thread], y[per_thread];
    fragment<T, per_thread>(a[k], k, down, x);
    fragment<T, per_thread>(b[k], k, across, y);
    TUTTI_UNROLL
    for (int i = 0; i < per_thread; ++i) {
      TUTTI_UNROLL
      for (int j = 0; j < per_thread; ++j) sum[i][j] = std::fma(x[i], y[j], sum[i][j]);
    }
  }
}

}  // namespace
}  // namespace tutti
