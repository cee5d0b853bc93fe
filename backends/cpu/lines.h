// For kernel files: walking the lines of Lines<N>. Lines whose elements are neighbours are taken one by one, vectorised
// along themselves; all others are taken in blocks of neighbouring lines, vectorised across them.
#pragma once
#include "tutti/backends/contract/lines.h"
#include "tutti/backends/contract/view.h"
#include "tutti/backends/cpu/strided.h"

namespace tutti {
namespace {

constexpr int64_t lines_block = 256;     // neighbouring lines that one task takes
constexpr int64_t lines_work = 1 << 14;  // elements that are worth a task

/// Operands of one line, or of `n` neighbouring lines that start `in_step` (`out_step`) apart.
template <class T, int N>
struct Line {
  const T* in[N];
  T* out;
  int64_t first, n, in_step[N], out_step;
};

template <int N>
TUTTI_INLINE bool contiguous_lines(const Lines<N>& x) {
  if (x.width <= 1) return false;
  for (int k = 0; k < N; ++k)
    if (x.in_stride[k] != 1) return false;
  return !x.out || x.out_stride == 1;
}

/// one(Line) for each line of neighbours, or block(Line) for each block of up to lines_block lines.
template <class T, int N, class One, class Block>
TUTTI_INLINE void for_lines(const Lines<N>& x, const One& one, const Block& block) {
  if (x.count == 0 || x.width == 0) return;
  if (contiguous_lines(x)) {
    parallel_for(x.count, 1 + lines_work / x.width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Line<T, N> l{{}, nullptr, i, 1, {}, 0};
        for (int k = 0; k < N; ++k) l.in[k] = static_cast<const T*>(x.in[k]) + offset_of_row(x.outer, x.in_outer[k], i);
        if (x.out) l.out = static_cast<T*>(x.out) + offset_of_row(x.outer, x.out_outer, i);
        one(l);
      }
    });
    return;
  }
  const int last = x.outer.n - 1;
  const int64_t run = last < 0 ? 1 : x.outer[last], blocks = (run + lines_block - 1) / lines_block;
  const int64_t work = x.width * (run < lines_block ? run : lines_block);
  parallel_for(x.count / run * blocks, 1 + lines_work / work, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i % blocks * lines_block, first = i / blocks * run + at;
      Line<T, N> l{{}, nullptr, first, run - at < lines_block ? run - at : lines_block, {}, 0};
      for (int k = 0; k < N; ++k) {
        l.in[k] = static_cast<const T*>(x.in[k]) + row_offset(x.outer, x.in_outer[k], first);
        l.in_step[k] = last < 0 ? 0 : x.in_outer[k][last];
      }
      if (x.out) {
        l.out = static_cast<T*>(x.out) + row_offset(x.outer, x.out_outer, first);
        l.out_step = last < 0 ? 0 : x.out_outer[last];
      }
      block(l);
    }
  });
}

/// f(j, n) for the batches of n <= lanes lines that make up a block.
template <class C, class F>
TUTTI_INLINE void for_batches(int64_t lines, const F& f) {
  int64_t j = 0;
  for (; j + lanes<C> <= lines; j += lanes<C>) f(j, lanes<C>);
  if (j < lines) f(j, lines - j);
}

}  // namespace
}  // namespace tutti
