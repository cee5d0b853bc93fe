// For kernel files: folds over any axes of a strided tensor. Fixed pieces are folded by threads that are told apart by
// the problem's size alone and combined in a fixed order, so that the bits depend on nothing else.
//
// A fold is described by an Op (a value, copied to the kernel), whose functions are for the device:
//   Acc           what is folded into: trivially copyable, a multiple of 4 bytes
//   Param         what it wants to know of a result while folding (Nothing)
//   Param param(Fold, result, its first element)                  only where there is one
//   Acc none()    of no elements
//   void add<V>(Acc&, const C (&x)[V], int64_t i, const Param&)   elements i, i + 1, ... of a result
//   Acc combine(Acc, Acc)
//   void finish(Fold, result, Acc)                                writes
#pragma once
#include "tutti/backends/contract/fold.h"
#include "tutti/backends/cuda/collective.h"

namespace tutti {
namespace {

constexpr int fold_threads = 256;
constexpr int64_t fold_blocks = 1024;  // work for all multiprocessors, on the largest devices too
constexpr int64_t fold_loads = 8;      // of a thread, below which pieces are not cut further

struct Nothing {};

/// The base of Ops that add up N numbers.
template <int N, class Number = double>
struct FoldSums {
  struct Acc {
    Number v[N];
  };
  using Param = Nothing;
  template <class C>
  __device__ Nothing param(const Fold&, int64_t, C) const {
    return {};
  }
  __device__ Acc none() const { return {}; }
  __device__ Acc combine(Acc a, const Acc& b) const {
    TUTTI_UNROLL
    for (int i = 0; i < N; ++i) a.v[i] += b.v[i];
    return a;
  }
};

/// How the work is cut. A block of fold_threads folds `groups` neighbouring results, or packs of them: across,
/// neighbours in a warp are neighbouring results; else they are neighbours along the folded elements.
struct FoldPlan {
  bool across, narrow;  // narrow: numbers of elements fit into 32 bits, whose division is fast
  int groups;
  int64_t tiles, pieces, piece;  // elements of a piece
};

/// The offset of element i of a strided grid.
__device__ inline int64_t fold_offset(const Dims& shape, const Dims& strides, int64_t i, bool narrow) {
  if (shape.n <= 1 || !narrow) return offset_at(shape, strides, i);
  int64_t at = 0;
  auto rest = static_cast<uint32_t>(i);
  for (int k = shape.n - 1; k > 0; --k) {
    const auto size = static_cast<uint32_t>(shape[k]);
    at += int64_t{rest % size} * strides[k];
    rest /= size;
  }
  return at + int64_t{rest} * strides[0];
}

template <class A>
__device__ A shuffle_xor(const A& a, int bits) {
  static_assert(sizeof(A) % 4 == 0);
  constexpr int words = static_cast<int>(sizeof(A) / 4);
  unsigned word[words];
  memcpy(word, &a, sizeof a);
  TUTTI_UNROLL
  for (int i = 0; i < words; ++i) word[i] = __shfl_xor_sync(full_warp, word[i], bits);
  A other;
  memcpy(&other, word, sizeof a);
  return other;
}

/// Combines what the threads of a result have. The first of them (true) gets it.
template <class Op, class Acc>
__device__ bool fold_in_block(const Op& op, Acc& acc, bool across, int groups) {
  constexpr int warps = fold_threads / 32;
  SHARED(Acc, of_warp, [warps][32]);
  const int t = static_cast<int>(threadIdx.x), lanes = fold_threads / groups;
  if (!across && lanes <= 32) {
    for (int bits = lanes / 2; bits; bits /= 2) acc = op.combine(acc, shuffle_xor(acc, bits));
    return t % lanes == 0;
  }
  for (int bits = 16; bits >= groups; bits /= 2) acc = op.combine(acc, shuffle_xor(acc, bits));
  if (lanes > 1) {
    __syncthreads();  // an earlier one may still be read
    if (t % 32 < groups) of_warp[t / 32][t % 32] = acc;
    __syncthreads();
    const int apart = groups <= 32 ? 1 : groups / 32;  // warps that hold the same results
    if (t < groups)
      for (int w = t / 32 + apart; w < warps; w += apart) acc = op.combine(acc, of_warp[w][t % 32]);
  }
  return t < groups;
}

/// T's elements are loaded in packs of V, of which R == V belong to neighbouring results, or R == 1 to the same.
template <class T, class Op, int V, int R>
__global__ void fold_kernel(Fold x, Op op, FoldPlan plan, typename Op::Acc* parts) {
  using C = compute_t<T>;
  using P = Pack<T, V>;
  constexpr int step = V / R;  // elements of a result that a pack has
  const int t = static_cast<int>(threadIdx.x), lanes = fold_threads / plan.groups;
  const int group = plan.across ? t % plan.groups : t / lanes, lane = plan.across ? t / plan.groups : t % lanes;
  for (int64_t unit = blockIdx.x; unit < plan.tiles * plan.pieces; unit += gridDim.x) {
    const int64_t part = unit / plan.tiles, result = (unit % plan.tiles * plan.groups + group) * R;
    const bool here = result < x.results;
    typename Op::Acc acc[R];
    TUTTI_UNROLL
    for (int j = 0; j < R; ++j) acc[j] = op.none();
    if (here && x.count > 0) {
      const T* base = static_cast<const T*>(x.data) + fold_offset(x.kept, x.kept_strides, result, plan.narrow);
      typename Op::Param param[R];
      TUTTI_UNROLL
      for (int j = 0; j < R; ++j) param[j] = op.param(x, result + j, load(base + j));
      const auto at = [&](int64_t i) { return base + fold_offset(x.folded, x.folded_strides, i, plan.narrow); };
      const auto add = [&](int64_t i, const P& p) {
        if constexpr (R == 1) {
          C v[V];
          TUTTI_UNROLL
          for (int j = 0; j < V; ++j) v[j] = load(&p.v[j]);
          op.add(acc[0], v, i, param[0]);
        } else {
          TUTTI_UNROLL
          for (int j = 0; j < R; ++j) {
            const C v[1] = {load(&p.v[j])};
            op.add(acc[j], v, i, param[j]);
          }
        }
      };
      const int64_t end = part * plan.piece + plan.piece < x.count ? part * plan.piece + plan.piece : x.count;
      const int64_t stride = int64_t{lanes} * step;
      int64_t i = part * plan.piece + int64_t{lane} * step;
      for (; i + 3 * stride + step <= end; i += 4 * stride) {  // four loads on their way at a time
        P p[4];
        TUTTI_UNROLL
        for (int u = 0; u < 4; ++u) p[u] = *reinterpret_cast<const P*>(at(i + u * stride));
        TUTTI_UNROLL
        for (int u = 0; u < 4; ++u) add(i + u * stride, p[u]);
      }
      for (; i + step <= end; i += stride) add(i, *reinterpret_cast<const P*>(at(i)));
      if constexpr (step > 1)
        for (; i < end; ++i) {  // at most one thread has part of a pack left
          const C v[1] = {load(at(i))};
          op.add(acc[0], v, i, param[0]);
        }
    }
    TUTTI_UNROLL
    for (int j = 0; j < R; ++j) {
      const bool first = fold_in_block(op, acc[j], plan.across, plan.groups);
      if (!first || !here) continue;
      if (plan.pieces == 1)
        op.finish(x, result + j, acc[j]);
      else
        parts[part * x.results + result + j] = acc[j];
    }
  }
}

/// The pieces of each result.
template <class Op>
__global__ void __launch_bounds__(fold_threads, 1)
    fold_parts_kernel(Fold x, Op op, int64_t pieces, int groups, const typename Op::Acc* parts) {
  const int t = static_cast<int>(threadIdx.x), lanes = fold_threads / groups;
  const int64_t tiles = (x.results + groups - 1) / groups;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t result = tile * groups + t % groups;
    typename Op::Acc acc = op.none();
    if (result < x.results)
      for (int64_t i = t / groups; i < pieces; i += lanes) acc = op.combine(acc, parts[i * x.results + result]);
    const bool first = fold_in_block(op, acc, true, groups);
    if (first && result < x.results) op.finish(x, result, acc);
  }
}

/// The power of two that is at least n, of 1 ... most.
inline int fold_power(int64_t n, int most) {
  int p = 1;
  while (p < n && p < most) p *= 2;
  return p;
}

/// `pack`: elements of a load; `results`: to how many results they belong.
inline FoldPlan fold_plan(const Fold& x, bool across, int pack, int results) {
  constexpr int64_t limit = int64_t{1} << 31;
  const int64_t packs = x.results / results;
  int lanes;
  if (across) {
    const int64_t side_by_side = x.kept.n ? x.kept[x.kept.n - 1] / results : 1;
    lanes = std::min(fold_threads / fold_power(side_by_side, 32), fold_power(x.count, fold_threads));
  } else {
    lanes = x.count > int64_t{64} * fold_loads * pack ? fold_threads : fold_power(x.count / (4 * pack), 32);
  }
  FoldPlan p{across, x.count < limit && x.results < limit, fold_threads / lanes, 0, 1, x.count};
  p.tiles = (packs + p.groups - 1) / p.groups;
  const int64_t row = int64_t{lanes} * (pack / results);  // elements that the threads of a result load at a time
  const int64_t most = x.count / (row * fold_loads), wanted = std::min((fold_blocks + p.tiles - 1) / p.tiles, most);
  if ((across || lanes == fold_threads) && wanted > 1) {
    p.piece = ((x.count + wanted - 1) / wanted + row - 1) / row * row;
    p.pieces = (x.count + p.piece - 1) / p.piece;
  }
  return p;
}

/// Whether packs of V may stand for V elements: the innermost axis of `inner` has them side by side, all else moves by
/// whole packs.
inline bool fold_packs_fit(const Fold& x, size_t element, const Dims& inner, const Dims& strides, const Dims& others,
                           int64_t V, bool may_end) {
  const int last = inner.n - 1;
  if (last < 0 || strides[last] != 1 || (inner[last] % V != 0 && !may_end) ||
      reinterpret_cast<uintptr_t>(x.data) % (element * static_cast<size_t>(V)) != 0)
    return false;
  for (int k = 0; k < last; ++k)
    if (strides[k] % V != 0) return false;
  for (int64_t s : others)
    if (s % V != 0) return false;
  return true;
}

template <class T, int V, int R, class Op>
void fold_start(const Fold& x, const Op& op, bool across) {
  using Acc = typename Op::Acc;
  const FoldPlan plan = fold_plan(x, across, V, R);
  const Buffer<Acc> parts(plan.pieces > 1 ? plan.pieces * x.results : 0);
  start(fold_kernel<T, Op, V, R>, blocks_for(plan.tiles * plan.pieces), fold_threads, 0, x, op, plan, parts.data());
  if (plan.pieces == 1) return;
  const int groups = fold_power(x.results, 32);
  start(fold_parts_kernel<Op>, blocks_for(x.results, groups), fold_threads, 0, x, op, plan.pieces, groups,
        static_cast<const Acc*>(parts.data()));
}

/// op.finish for every result of x.
template <class T, class Op>
void fold_all(const Fold& x, const Op& op) {
  if (x.results == 0) return;
  constexpr int wide = static_cast<int>(16 / sizeof(T)), several = wide < 4 ? wide : 4;
  const int64_t along = x.folded.n ? x.folded_strides[x.folded.n - 1] : 1;
  const int64_t next = x.kept.n ? x.kept_strides[x.kept.n - 1] : 0;
  const bool across = x.kept.n > 0 && (next == 1 || along > next) && x.count > 1;
  const bool one_line = x.kept.n == 0 && x.folded.n == 1;  // its last pack need not be whole
  if (across && fold_packs_fit(x, sizeof(T), x.kept, x.kept_strides, x.folded_strides, several, false))
    fold_start<T, several, several>(x, op, true);
  else if (!across && fold_packs_fit(x, sizeof(T), x.folded, x.folded_strides, x.kept_strides, wide, one_line))
    fold_start<T, wide, 1>(x, op, false);
  else
    fold_start<T, 1, 1>(x, op, across);
}

/// v, rounded once: by way of float, a half type would round twice.
template <class T>
__device__ T rounded(double v) {
  if constexpr (is_half<T>)
    return T::from(v);
  else
    return static_cast<T>(v);
}
/// Where result r is written.
template <class T>
__device__ T* fold_out(const Fold& x, int64_t r) {
  return static_cast<T*>(x.out) + offset_at(x.kept, x.out_strides, r);
}

}  // namespace
}  // namespace tutti
