// For kernel files: the largest element and the sum of exponentials of a line, which softmax, log-sum-exp and
// cross-entropy share.
#pragma once
#include <limits>

#include "tutti/backends/cpu/lines.h"
#include "tutti/backends/cpu/math.h"

namespace tutti {
namespace {

template <class C>
inline constexpr C infinity = std::numeric_limits<C>::infinity();

template <class C>
TUTTI_INLINE C exp1(C x) {
  return exp_normal<C>(batch<C>(x)).get(0);
}
template <class C>
TUTTI_INLINE C log1(C x) {
  return sizeof(C) == 4 ? static_cast<C>(__builtin_logf(static_cast<float>(x))) : static_cast<C>(__builtin_log(x));
}

/// The largest of n neighbours; -infinity for none. A NaN may be lost: the exponentials find it again.
template <class T, class C = compute_t<T>>
TUTTI_INLINE C largest_of(const T* x, int64_t n) {
  C most = -infinity<C>;
  int64_t i = 0;
  if (n >= lanes<C>) {
    batch<C> a = vload(x), b = a, c = a, d = a;
    for (; i + 4 * lanes<C> <= n; i += 4 * lanes<C>) {
      a = xsimd::max(a, vload(x + i));
      b = xsimd::max(b, vload(x + i + lanes<C>));
      c = xsimd::max(c, vload(x + i + 2 * lanes<C>));
      d = xsimd::max(d, vload(x + i + 3 * lanes<C>));
    }
    for (; i + lanes<C> <= n; i += lanes<C>) a = xsimd::max(a, vload(x + i));
    most = max_lanes(xsimd::max(xsimd::max(a, b), xsimd::max(c, d)));
  }
  for (; i < n; ++i) most = load1(x + i) > most ? load1(x + i) : most;
  return most;
}

/// sum of exp(x - shift) over n neighbours; store(i, n, e) gets the exponentials.
template <class T, class Store, class C = compute_t<T>>
TUTTI_INLINE C sum_of_exp(const T* x, int64_t n, C shift, const Store& store) {
  const batch<C> s(shift);
  double total = 0;
  int64_t i = 0;
  const auto next = [&](batch<C>& sum) {
    const auto e = exp_normal<C>(vload(x + i) - s);
    sum = sum + e;
    store(i, lanes<C>, e);
    i += lanes<C>;
  };
  while (i + lanes<C> <= n) {
    batch<C> even(C(0)), odd(C(0));
    const int64_t end = n - i < 128 * lanes<C> ? n : i + 128 * lanes<C>;
    while (i + 2 * lanes<C> <= end) {
      next(even);
      next(odd);
    }
    if (i + lanes<C> <= end) next(even);
    total += static_cast<double>(sum_lanes(even + odd));
  }
  if (i < n) {
    const auto e = exp_normal<C>(load_strided(x + i, 1, n - i, -infinity<C>) - s);
    total += static_cast<double>(sum_lanes(
        xsimd::select(load_strided(x + i, 1, n - i, -infinity<C>) == batch<C>(-infinity<C>), batch<C>(C(0)), e)));
    store(i, n - i, e);
  }
  return static_cast<C>(total);
}

/// Largest elements and sums of exponentials of a block of lines in one pass over memory (online: the sum is rescaled
/// whenever the largest grows, once per four elements).
template <class T, int N, class C = compute_t<T>>
void block_statistics(const Line<T, N>& l, int64_t width, int64_t stride, C* most, C* sum) {
  const batch<C> zero(C(0)), low(-infinity<C>);
  for (int64_t i = 0; i < width; i += 4)
    for_batches<C>(l.n, [&](int64_t j, int64_t n) {
      const T* p = l.in[0] + i * stride + j * l.in_step[0];
      const auto at = [&](int64_t k) { return i + k < width ? load_strided(p + k * stride, l.in_step[0], n) : low; };
      const auto v0 = at(0), v1 = at(1), v2 = at(2), v3 = at(3);
      const auto before = i ? batch<C>::load_aligned(most + j) : low;
      const auto m = xsimd::max(before, xsimd::max(xsimd::max(v0, v1), xsimd::max(v2, v3)));
      const auto shift = xsimd::select(xsimd::abs(m) == batch<C>(infinity<C>), zero, m);
      auto s = (exp_normal<C>(v0 - shift) + exp_normal<C>(v1 - shift)) +
               (exp_normal<C>(v2 - shift) + exp_normal<C>(v3 - shift));
      if (i) s = multiply_add(batch<C>::load_aligned(sum + j), exp_normal<C>(before - shift), s);
      m.store_aligned(most + j);
      s.store_aligned(sum + j);
    });
}

}  // namespace
}  // namespace tutti
