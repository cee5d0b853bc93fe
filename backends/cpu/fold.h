// For kernel files: folds over any axes of a strided tensor, with fixed pieces that are combined in fixed order, so
// that the bits do not depend on the number of threads. Values are combined in trees of eight batches, then along runs
// of at most 64 batches or rows, then in double: about as accurate as pairwise summation at the speed of memory.
//
// A fold is described by an Op:
//   batch<C> map(batch<C> x, batch<C> a, batch<C> b);  C map(C x, C a, C b);   a and b: two numbers per result, if
//   `Op::parameters` combine(V, V) for batches, C and double;  identity
#pragma once
#include "tutti/backends/contract/fold.h"
#include "tutti/backends/contract/view.h"
#include "tutti/backends/cpu/scratch.h"
#include "tutti/backends/cpu/strided.h"

namespace tutti {
namespace {

constexpr int64_t fold_piece = 1 << 16;      // elements that one task folds
constexpr int64_t fold_columns_block = 512;  // columns that one task keeps sums of
constexpr int64_t fold_run = 64;             // batches or rows that are combined in the elements' own precision

/// The base of Ops that add up.
struct Add {
  static constexpr double identity = 0;
  template <class V>
  TUTTI_INLINE V combine(V x, V y) const {
    return x + y;
  }
};

struct Inner {  // all axes but the innermost
  Dims outer, outer_strides;
  int64_t size = 1, stride = 1;
  TUTTI_INLINE Inner(const Dims& shape, const Dims& strides) : outer(shape), outer_strides(strides) {
    if (shape.n == 0) return;
    size = shape[shape.n - 1];
    stride = strides[shape.n - 1];
    --outer.n;
    --outer_strides.n;
  }
  TUTTI_INLINE int64_t offset(int64_t i) const { return outer.n ? offset_of_row(outer, outer_strides, i) : 0; }
};

/// at(0) .. at(7), combined in a tree. Spelled out: a loop over an array would go through memory.
template <class Op, class At>
TUTTI_INLINE auto tree8(const Op& op, const At& at) {
  return op.combine(op.combine(op.combine(at(0), at(1)), op.combine(at(2), at(3))),
                    op.combine(op.combine(at(4), at(5)), op.combine(at(6), at(7))));
}

template <class Op, class C>
TUTTI_INLINE double fold_lanes(const Op& op, const batch<C>& v) {
  return static_cast<double>(combine_lanes(v, [&](const auto& x, const auto& y) { return op.combine(x, y); }));
}

/// n elements `stride` apart, folded.
template <class T, class Op, class C = compute_t<T>>
double fold_segment(const Op& op, const T* p, int64_t stride, int64_t n, C a, C b) {
  double total = op.identity;
  int64_t i = 0;
  if (stride == 1) {
    const batch<C> va(a), vb(b);
    while (i + 8 * lanes<C> <= n) {
      const int64_t groups = (n - i) / (8 * lanes<C>);
      batch<C> run(static_cast<C>(op.identity));
      for (int64_t g = 0; g < (groups < fold_run / 8 ? groups : fold_run / 8); ++g, i += 8 * lanes<C>) {
        const T* const at = p + i;
        run = op.combine(run, tree8(op, [&](int k) { return op.map(vload(at + k * lanes<C>), va, vb); }));
      }
      total = op.combine(total, fold_lanes(op, run));
    }
    if (i < n) {
      const batch<C> none(static_cast<C>(op.identity));
      batch<C> run = none;
      for (; i + lanes<C> <= n; i += lanes<C>) run = op.combine(run, op.map(vload(p + i), va, vb));
      if (i < n)
        run =
            op.combine(run, xsimd::select(first_lanes<C>(n - i), op.map(load_strided(p + i, 1, n - i), va, vb), none));
      return op.combine(total, fold_lanes(op, run));
    }
  }
  for (; i < n; ++i) total = op.combine(total, static_cast<double>(op.map(load1(p + i * stride), a, b)));
  return total;
}

/// One result at a time: rows whose elements are neighbours (or nothing is).
template <class T, class Op, class Finish>
void fold_rows(const Fold& x, const Op& op, const compute_t<T>* a, const compute_t<T>* b, const Finish& finish) {
  using C = compute_t<T>;
  const Inner inner(x.folded, x.folded_strides);
  const auto range = [&](int64_t r, int64_t begin, int64_t end) {
    const T* base = static_cast<const T*>(x.data) + offset_of_row(x.kept, x.kept_strides, r);
    const C pa = a ? a[r] : C(0), pb = b ? b[r] : C(0);
    if (inner.outer.n == 0) return fold_segment(op, base + begin * inner.stride, inner.stride, end - begin, pa, pb);
    double total = op.identity;
    while (begin < end) {
      const int64_t at = begin % inner.size, left = inner.size - at, n = end - begin < left ? end - begin : left;
      const T* p = base + inner.offset(begin / inner.size) + at * inner.stride;
      total = op.combine(total, fold_segment(op, p, inner.stride, n, pa, pb));
      begin += n;
    }
    return total;
  };
  const int64_t pieces = (x.count + fold_piece - 1) / fold_piece;
  if (pieces <= 1) {
    parallel_for(x.results, 1 + fold_piece / (x.count + 16), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) finish(r, range(r, 0, x.count));
    });
    return;
  }
  const Buffer<double> parts(x.results * pieces);
  parallel_for(x.results * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % pieces * fold_piece, to = from + fold_piece;
      parts.data()[i] = range(i / pieces, from, to < x.count ? to : x.count);
    }
  });
  for (int64_t r = 0; r < x.results; ++r) {
    double total = op.identity;
    for (int64_t i = 0; i < pieces; ++i) total = op.combine(total, parts.data()[r * pieces + i]);
    finish(r, total);
  }
}

/// Up to `fold_run` rows of `cols` neighbouring results, into tile[0 .. cols rounded up to lanes).
template <class T, class Op, class C = compute_t<T>>
void fold_tile(const Op& op, const T* const* rows, int64_t count, int64_t stride, int64_t cols, const C* a, const C* b,
               C* tile) {
  constexpr int64_t L = lanes<C>;
  const int64_t full = stride == 1 ? cols / L * L : 0;
  // The columns that fill no vector: their vector ends with the last column, and its sums are moved at the end.
  const bool overlap = full > 0 && full < cols;
  const batch<C> zero(C(0));
  for (int64_t first = 0; first < count;) {
    const T* const* const r = rows + first;
    const bool eight = count - first >= 8;
    const auto add = [&](int64_t j, const auto& load) {
      const auto value = [&](int k) { return load(r[k]); };
      batch<C> sum = eight ? tree8(op, value) : value(0);
      if (first > 0) sum = op.combine(batch<C>::load_aligned(tile + j), sum);
      sum.store_aligned(tile + j);
    };
    const auto whole = [&](int64_t j, int64_t from) {
      const batch<C> va = a ? vload(a + from) : zero, vb = b ? vload(b + from) : zero;
      add(j, [&](const T* p) { return op.map(vload(p + from), va, vb); });
    };
    int64_t j = 0;
    for (; j < full; j += L) whole(j, j);
    if (overlap) {
      whole(full, cols - L);
      j = cols;
    }
    for (; j < cols; j += L) {
      const int64_t n = cols - j < L ? cols - j : L;
      const batch<C> va = a ? load_strided(a + j, 1, n) : zero, vb = b ? load_strided(b + j, 1, n) : zero;
      add(j, [&](const T* p) { return op.map(load_strided(p + j * stride, stride, n), va, vb); });
    }
    first += eight ? 8 : 1;
  }
  if (overlap)
    for (int64_t j = full; j < cols; ++j) tile[j] = tile[j + full + L - cols];
}

/// Many neighbouring results at a time: columns.
template <class T, class Op, class Finish>
void fold_columns(const Fold& x, const Op& op, const compute_t<T>* a, const compute_t<T>* b, const Finish& finish) {
  using C = compute_t<T>;
  const Inner kept(x.kept, x.kept_strides);
  const int64_t cols = kept.size, width = cols < fold_columns_block ? cols : fold_columns_block;
  const int64_t blocks = (cols + width - 1) / width;
  const int64_t piece = (fold_piece / width + fold_run - 1) / fold_run * fold_run;  // rows that one task folds
  const int64_t pieces = x.count <= piece ? 1 : (x.count + piece - 1) / piece, outer = x.results / cols;
  const Buffer<double> parts(pieces > 1 ? x.results * pieces : 0);
  const int64_t cost = width * (x.count < piece ? x.count + 8 : piece);
  parallel_for(outer * blocks * pieces, 1 + fold_piece / 2 / cost, [&](int64_t begin, int64_t end) {
    alignas(64) C tile[fold_columns_block];
    alignas(64) double sums[fold_columns_block];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t o = unit / (blocks * pieces), j = unit / pieces % blocks * width, part = unit % pieces;
      const int64_t n = cols - j < width ? cols - j : width, first = part * piece;
      const int64_t last = first + piece < x.count ? first + piece : x.count, r = o * cols + j;
      const T* base = static_cast<const T*>(x.data) + kept.offset(o) + j * kept.stride;
      for (int64_t k = 0; k < n; ++k) sums[k] = op.identity;
      for (int64_t i = first; i < last; i += fold_run) {
        const T* rows[fold_run];
        const int64_t count = last - i < fold_run ? last - i : fold_run;
        for (int64_t k = 0; k < count; ++k) rows[k] = base + offset_of_row(x.folded, x.folded_strides, i + k);
        fold_tile(op, rows, count, kept.stride, n, a ? a + r : nullptr, b ? b + r : nullptr, tile);
        for (int64_t k = 0; k < n; ++k) sums[k] = op.combine(sums[k], static_cast<double>(tile[k]));
      }
      if (pieces == 1)
        for (int64_t k = 0; k < n; ++k) finish(r + k, sums[k]);
      else
        for (int64_t k = 0; k < n; ++k) parts.data()[part * x.results + r + k] = sums[k];
    }
  });
  if (pieces == 1) return;
  parallel_for(x.results, 1 + fold_piece / 4 / pieces, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      double total = parts.data()[r];
      for (int64_t i = 1; i < pieces; ++i) total = op.combine(total, parts.data()[i * x.results + r]);
      finish(r, total);
    }
  });
}

/// Fewer neighbouring results than a vector has lanes, and nothing between the rows: as many rows as there are lanes,
/// side by side, are one row of whole vectors.
template <class T, class Op, class Finish>
void fold_side_by_side(const Fold& x, const Op& op, const compute_t<T>* a, const compute_t<T>* b,
                       const Finish& finish) {
  using C = compute_t<T>;
  constexpr int64_t L = lanes<C>;
  const int64_t cols = x.results, wide = L * cols;
  C wide_a[L * L], wide_b[L * L];
  double sums[L * L];
  for (int64_t j = 0; j < wide; ++j) {
    wide_a[j] = a ? a[j % cols] : C(0);
    wide_b[j] = b ? b[j % cols] : C(0);
  }
  Fold y = x;
  y.results = y.kept[0] = y.folded_strides[0] = wide;
  y.count = y.folded[0] = x.count / L;
  fold_columns<T>(y, op, a ? wide_a : nullptr, b ? wide_b : nullptr, [&](int64_t r, double s) { sums[r] = s; });
  const T* const rest = static_cast<const T*>(x.data) + y.count * wide;
  for (int64_t j = 0; j < cols; ++j) {
    double total = sums[j];
    for (int64_t k = 1; k < L; ++k) total = op.combine(total, sums[k * cols + j]);
    for (int64_t k = 0; k < x.count % L; ++k)
      total = op.combine(total, static_cast<double>(op.map(load1(rest + k * cols + j), wide_a[j], wide_b[j])));
    finish(j, total);
  }
}

/// finish(result, folded value) for every result; a and b (may be null) hold a number per result.
template <class T, class Op, class Finish>
TUTTI_INLINE void fold_all(const Fold& x, const Op& op, const compute_t<T>* a, const compute_t<T>* b,
                           const Finish& finish) {
  if (x.results == 0) return;
  const int64_t along = x.folded.n ? x.folded_strides[x.folded.n - 1] : 1;
  const int64_t across = x.kept.n ? x.kept_strides[x.kept.n - 1] : 0;
  if (x.kept.n == 1 && across == 1 && x.folded.n == 1 && along == x.results && x.results < lanes<compute_t<T>> &&
      x.count >= lanes<compute_t<T>>)
    fold_side_by_side<T>(x, op, a, b, finish);
  else if (x.kept.n > 0 && (across == 1 || (along > across && x.count > 1)))
    fold_columns<T>(x, op, a, b, finish);
  else
    fold_rows<T>(x, op, a, b, finish);
}

}  // namespace
}  // namespace tutti
