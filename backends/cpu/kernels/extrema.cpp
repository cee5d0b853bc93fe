// Largest and smallest elements along an axis, with their positions.
#include "tutti/backends/contract/extrema.h"

#include "tutti/backends/cpu/extrema.h"
#include "tutti/backends/cpu/lines.h"
#include "tutti/backends/cpu/scratch.h"

namespace tutti::kernel {
namespace {

constexpr int64_t long_line = 1 << 16;

template <bool largest, class T, class C = compute_t<T>>
int64_t one_line(const T* x, int64_t n) {
  C best = load1(x);
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<C>) {
    if (n >= 2 * lanes<C>) {  // the value, then its first place
      batch<C> m0 = vload(x), m1 = m0, m2 = m0, m3 = m0;
      const auto take = [](batch<C>& a, batch<C> v) { a = xsimd::select(beats<largest>(v, a), v, a); };
      for (; i + 4 * lanes<C> <= n; i += 4 * lanes<C>) {
        take(m0, vload(x + i));
        take(m1, vload(x + i + lanes<C>));
        take(m2, vload(x + i + 2 * lanes<C>));
        take(m3, vload(x + i + 3 * lanes<C>));
      }
      for (; i + lanes<C> <= n; i += lanes<C>) take(m0, vload(x + i));
      take(m0, m1);
      take(m2, m3);
      take(m0, m2);
      alignas(64) C v[lanes<C>];
      m0.store_aligned(v);
      for (C e : v) best = beats<largest>(e, best) ? e : best;
      for (; i < n; ++i) best = beats<largest>(load1(x + i), best) ? load1(x + i) : best;
      const batch<C> wanted(best);
      for (i = 0; i + lanes<C> <= n; i += lanes<C>) {
        const auto here = vload(x + i);
        if (best == best ? xsimd::any(here == wanted) : !xsimd::all(here == here)) break;
      }
      while (best == best ? load1(x + i) != best : load1(x + i) == load1(x + i)) ++i;
      return i;
    }
  }
  int64_t at = 0;
  for (i = 1; i < n; ++i)
    if (beats<largest>(load1(x + i), best)) {
      best = load1(x + i);
      at = i;
    }
  return at;
}

/// Positions are kept as floating numbers beside the values: runs are short enough for them to be exact.
template <bool largest, class T, class C = compute_t<T>>
void one_block(const Line<T, 1>& l, int64_t width, int64_t stride, int64_t* at) {
  if constexpr (std::is_floating_point_v<C>) {
    constexpr int64_t exact = 1 << 20;
    alignas(64) C best[lines_block], place[lines_block];
    for (int64_t start = 0; start < width; start += exact) {
      const int64_t end = width - start < exact ? width : start + exact;
      const T* x = l.in[0] + start * stride;
      for (int64_t i = 0; i < end - start; ++i)
        for_batches<C>(l.n, [&](int64_t j, int64_t n) {
          const auto v = load_strided(x + i * stride + j * l.in_step[0], l.in_step[0], n);
          if (i == 0) {
            v.store_aligned(best + j);
            batch<C>(C(0)).store_aligned(place + j);
            return;
          }
          const auto b = batch<C>::load_aligned(best + j);
          const auto better = beats<largest>(v, b);
          xsimd::select(better, v, b).store_aligned(best + j);
          xsimd::select(better, batch<C>(static_cast<C>(i)), batch<C>::load_aligned(place + j))
              .store_aligned(place + j);
        });
      for (int64_t j = 0; j < l.n; ++j)
        if (start == 0 || beats<largest>(best[j], load1(l.in[0] + at[j] * stride + j * l.in_step[0])))
          at[j] = start + static_cast<int64_t>(place[j]);
    }
  } else {
    for (int64_t j = 0; j < l.n; ++j) {
      const T* x = l.in[0] + j * l.in_step[0];
      at[j] = 0;
      for (int64_t i = 1; i < width; ++i)
        if (beats<largest>(x[i * stride], x[at[j] * stride])) at[j] = i;
    }
  }
}

/// Few long lines are cut into pieces of fixed size.
template <bool largest, class T>
void find_in_pieces(const Lines<1>& x, T* values, int64_t* indices) {
  const int64_t pieces = (x.width + long_line - 1) / long_line;
  const Buffer<int64_t> found(x.count * pieces);
  const auto line = [&](int64_t i) { return static_cast<const T*>(x.in[0]) + row_offset(x.outer, x.in_outer[0], i); };
  parallel_for(x.count * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t start = i % pieces * long_line, left = x.width - start;
      found.data()[i] = start + one_line<largest>(line(i / pieces) + start, left < long_line ? left : long_line);
    }
  });
  for (int64_t i = 0; i < x.count; ++i) {
    const T* p = line(i);
    int64_t best = found.data()[i * pieces];
    for (int64_t k = 1; k < pieces; ++k) {
      const int64_t other = found.data()[i * pieces + k];
      if (beats<largest>(load1(p + other), load1(p + best))) best = other;
    }
    indices[i] = best;
    if (values) values[i] = p[best];
  }
}

template <bool largest, class T>
void find(const Lines<1>& x, T* values, int64_t* indices) {
  if (contiguous_lines(x) && x.width > long_line) return find_in_pieces<largest>(x, values, indices);
  for_lines<T>(
      x,
      [&](const Line<T, 1>& l) {
        indices[l.first] = one_line<largest>(l.in[0], x.width);
        if (values) values[l.first] = l.in[0][indices[l.first]];
      },
      [&](const Line<T, 1>& l) {
        int64_t* at = indices + l.first;
        one_block<largest>(l, x.width, x.in_stride[0], at);
        for (int64_t j = 0; values && j < l.n; ++j)
          values[l.first + j] = l.in[0][at[j] * x.in_stride[0] + j * l.in_step[0]];
      });
}

}  // namespace

template <>
void extremum::run<Here>(const Lines<1>& x, void* values, int64_t* indices, bool largest) {
  for_any(x.dtype, [&]<class T>(T) {
    if (largest)
      find<true>(x, static_cast<T*>(values), indices);
    else
      find<false>(x, static_cast<T*>(values), indices);
  });
}

}  // namespace tutti::kernel
