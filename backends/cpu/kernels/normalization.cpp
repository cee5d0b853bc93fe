// Layer and RMS normalisation, forward and backward, fused: each line is read from memory once.
#include "tutti/backends/contract/normalization.h"

#include "tutti/backends/cpu/lines.h"
#include "tutti/backends/cpu/round.h"
#include "tutti/backends/cpu/scratch.h"

namespace tutti::kernel {
namespace {

constexpr int64_t run_length = 64;    // batches that are summed in the elements' own precision
constexpr int64_t most_blocks = 128;  // of lines, each with its own sums for dweight and dbias

/// sum of what f(batch, sum) adds to a sum over n neighbours.
template <class T, class F, class C = compute_t<T>>
TUTTI_INLINE double sum_over(const T* x, int64_t n, const F& f) {
  double total = 0;
  const int64_t full = n / lanes<C> * lanes<C>;
  for (int64_t start = 0; start < full; start += run_length * lanes<C>) {
    const int64_t end = full - start < run_length * lanes<C> ? full : start + run_length * lanes<C>;
    batch<C> s0(C(0)), s1 = s0, s2 = s0, s3 = s0;
    int64_t i = start;
    for (; i + 4 * lanes<C> <= end; i += 4 * lanes<C>) {
      s0 = f(vload(x + i), s0);
      s1 = f(vload(x + i + lanes<C>), s1);
      s2 = f(vload(x + i + 2 * lanes<C>), s2);
      s3 = f(vload(x + i + 3 * lanes<C>), s3);
    }
    for (; i < end; i += lanes<C>) s0 = f(vload(x + i), s0);
    total += static_cast<double>(sum_lanes((s0 + s1) + (s2 + s3)));
  }
  if (full == n) return total;
  const batch<C> zero(C(0)), rest = f(load_strided(x + full, 1, n - full), zero);
  return total + static_cast<double>(sum_lanes(xsimd::select(first_lanes<C>(n - full), rest, zero)));
}

/// A power of two that brings the line's largest |x| near 1; 1 if that is 0 or not finite.
template <class T, class C = compute_t<T>>
C scale_of(const T* x, int64_t n) {
  C largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const C v = load1(x + i), size = v < 0 ? -v : v;
    if (v - v != 0) return 1;
    largest = size > largest ? size : largest;
  }
  if (largest == 0) return 1;
  constexpr int limit = sizeof(C) == 4 ? 126 : 1022;
  int exponent = 0;
  __builtin_frexp(static_cast<double>(largest), &exponent);
  return static_cast<C>(__builtin_ldexp(1, exponent > limit ? -limit : exponent < -limit ? limit : -exponent));
}

/// to = from * scale; they may be the same.
template <class T, class C = compute_t<T>>
void scale_line(const T* from, T* to, int64_t n, C scale) {
  for (int64_t i = 0; i < n; ++i) store1(to + i, load1(from + i) * scale);
}

/// y = ((x - first) - mean) * scale * weight + bias.
template <class T, class C = compute_t<T>>
void write_line(const T* x, T* y, int64_t n, const T* weight, const T* bias, C mean, C scale, bool center) {
  const batch<C> first(center ? load1(x) : C(0)), m(mean), r(scale);
  const auto write = [&](const auto& affine) {
    for_batches<C>(n, [&](int64_t i, int64_t k) {
      store_strided(y + i, 1, k, affine(((load_strided(x + i, 1, k) - first) - m) * r, i, k));
    });
  };
  if (weight && bias)
    write([&](batch<C> v, int64_t i, int64_t k) {
      return multiply_add(v, load_strided(weight + i, 1, k), load_strided(bias + i, 1, k));
    });
  else if (weight)
    write([&](batch<C> v, int64_t i, int64_t k) { return v * load_strided(weight + i, 1, k); });
  else if (bias)
    write([&](batch<C> v, int64_t i, int64_t k) { return v + load_strided(bias + i, 1, k); });
  else
    write([](batch<C> v, int64_t, int64_t) { return v; });
}

/// Mean (relative to the first element) and scale of a line; false where its squares overflowed, or vanished where eps
/// does not make up for it.
template <class T, class C = compute_t<T>>
bool measure_line(const T* x, int64_t n, C* statistics, double eps, bool center) {
  const double count = static_cast<double>(n);
  const batch<C> first(center ? load1(x) : C(0));
  C mean = 0;
  if (center)
    mean = static_cast<C>(sum_over(x, n, [&](const auto& v, const auto& s) { return s + (v - first); }) / count);
  const batch<C> m(mean);
  const double squares = sum_over(x, n, [&](const auto& v, const auto& s) {
    const auto d = (v - first) - m;
    return multiply_add(d, d, s);
  });
  statistics[0] = mean;
  statistics[1] = static_cast<C>(1 / __builtin_sqrt(squares / count + eps));
  constexpr double smallest = sizeof(C) == 4 ? 0x1p-122 : 0x1p-1018, infinite = __builtin_inf();
  return squares < infinite && squares / count + eps > smallest;
}

template <class T, class C = compute_t<T>>
void forward_line(const T* x, T* y, int64_t n, const T* weight, const T* bias, C* statistics, double eps, bool center,
                  bool known) {
  if (known ? !(statistics[1] < 0) : measure_line(x, n, statistics, eps, center))
    return write_line(x, y, n, weight, bias, statistics[0], statistics[1], center);
  const C power = scale_of(x, n);
  if (power == 1) return write_line(x, y, n, weight, bias, statistics[0], statistics[1], center);
  const Buffer<T> line(n);  // the same of the line near 1
  scale_line(x, line.data(), n, power);
  if (!known) {
    const auto p = static_cast<double>(power);
    measure_line(line.data(), n, statistics, eps * p * p, center);
    statistics[1] = -statistics[1];
  }
  write_line(line.data(), y, n, weight, bias, statistics[0], -statistics[1], center);
}

/// What the two passes over a line in the backward share.
template <class T, class C = compute_t<T>>
struct BackwardLine {
  const T *x, *dy, *weight;
  batch<C> first, mean, scale;
  TUTTI_INLINE batch<C> normal(int64_t i, int64_t n) const {
    return ((load_strided(x + i, 1, n) - first) - mean) * scale;
  }
  TUTTI_INLINE batch<C> weighted(batch<C> d, int64_t i, int64_t n) const {
    return weight ? d * load_strided(weight + i, 1, n) : d;
  }
};

/// dx of one line, and its share of dweight and dbias (null: not wanted).
template <class T, class C = compute_t<T>>
void backward_line(const BackwardLine<T>& l, T* dx, int64_t n, bool center, C* dweight, C* dbias) {
  batch<C> sum_g(C(0)), sum_gx(C(0));
  for_batches<C>(n, [&](int64_t i, int64_t k) {
    const auto normal = l.normal(i, k), d = load_strided(l.dy + i, 1, k);  // lanes beyond k: d = 0
    const auto g = l.weighted(d, i, k);
    sum_g = sum_g + g;
    sum_gx = multiply_add(g, normal, sum_gx);
    if (dweight) multiply_add(d, normal, batch<C>::load_aligned(dweight + i)).store_aligned(dweight + i);
    if (dbias) (batch<C>::load_aligned(dbias + i) + d).store_aligned(dbias + i);
  });
  if (!dx) return;
  const C count = static_cast<C>(n);
  const batch<C> a(center ? sum_lanes(sum_g) / count : C(0)), b(sum_lanes(sum_gx) / count);
  for_batches<C>(n, [&](int64_t i, int64_t k) {
    const auto g = l.weighted(load_strided(l.dy + i, 1, k), i, k);
    store_strided(dx + i, 1, k, ((g - a) - l.normal(i, k) * b) * l.scale);
  });
}

}  // namespace

template <>
void normalize_forward::run<Here>(const Lines<1>& x, const void* weight, const void* bias, void* statistics, double eps,
                                  bool center, bool known) {
  if (x.width == 0) return;
  for_float(x.dtype, [&]<class T>(T) {
    parallel_for(x.count, 1 + lines_work / (x.width + 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        forward_line(static_cast<const T*>(x.in[0]) + offset_of_row(x.outer, x.in_outer[0], i),
                     static_cast<T*>(x.out) + offset_of_row(x.outer, x.out_outer, i), x.width,
                     static_cast<const T*>(weight), static_cast<const T*>(bias),
                     static_cast<compute_t<T>*>(statistics) + 2 * i, eps, center, known);
    });
  });
}

template <>
void normalize_backward::run<Here>(const Lines<2>& x, const void* weight, const void* statistics, void* dweight,
                                   void* dbias, bool center) {
  if (x.width == 0) return;
  for_float(x.dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    const bool sums = dweight || dbias;
    const int64_t padded = (x.width + lanes<C> - 1) / lanes<C> * lanes<C>;
    // Blocks of at least `run_length` lines, and at most `most_blocks` of them.
    const int64_t block = x.count > run_length * most_blocks ? (x.count + most_blocks - 1) / most_blocks : run_length;
    const int64_t blocks = (x.count + block - 1) / block;
    const Buffer<double> parts(sums ? blocks * 2 * x.width : 0);
    const auto lines = [&](int64_t begin, int64_t end, C* dw, C* db) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = static_cast<const T*>(x.in[0]) + offset_of_row(x.outer, x.in_outer[0], i);
        const C* s = static_cast<const C*>(statistics) + 2 * i;
        const BackwardLine<T> l{row,
                                static_cast<const T*>(x.in[1]) + offset_of_row(x.outer, x.in_outer[1], i),
                                static_cast<const T*>(weight),
                                batch<C>(center ? load1(row) : C(0)),
                                batch<C>(s[0]),
                                batch<C>(s[1])};
        T* dx = x.out ? static_cast<T*>(x.out) + offset_of_row(x.outer, x.out_outer, i) : nullptr;
        if (!(s[1] < 0)) {
          backward_line(l, dx, x.width, center, dw, db);
          continue;
        }
        const C power = scale_of(row, x.width);
        const Buffer<T> near(x.width);
        scale_line(row, near.data(), x.width, power);
        backward_line(BackwardLine<T>{near.data(), l.dy, l.weight, batch<C>(center ? load1(near.data()) : C(0)), l.mean,
                                      batch<C>(-s[1])},
                      dx, x.width, center, dw, db);
        if (dx) scale_line(dx, dx, x.width, power);
      }
    };
    if (!sums) {
      parallel_for(x.count, 1 + lines_work / (x.width + 1),
                   [&](int64_t begin, int64_t end) { lines(begin, end, nullptr, nullptr); });
      return;
    }
    parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
      const Buffer<C> room(2 * padded);
      C* const dw = room.data();
      C* const db = dw + padded;
      for (int64_t b = begin; b < end; ++b) {
        double* part = parts.data() + b * 2 * x.width;
        const int64_t last = (b + 1) * block < x.count ? (b + 1) * block : x.count;
        for (int64_t i = b * block; i < last; i += run_length) {
          for (int64_t k = 0; k < 2 * padded; ++k) dw[k] = 0;
          lines(i, i + run_length < last ? i + run_length : last, dweight ? dw : nullptr, dbias ? db : nullptr);
          for (int64_t k = 0; k < x.width; ++k) {
            part[k] = static_cast<double>(dw[k]) + (i == b * block ? 0 : part[k]);
            part[x.width + k] = static_cast<double>(db[k]) + (i == b * block ? 0 : part[x.width + k]);
          }
        }
      }
    });
    parallel_for(x.width, 256, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        double w = 0, b = 0;
        for (int64_t i = 0; i < blocks; ++i) {
          w += parts.data()[i * 2 * x.width + k];
          b += parts.data()[i * 2 * x.width + x.width + k];
        }
        if (dweight) store_double(static_cast<T*>(dweight) + k, w);
        if (dbias) store_double(static_cast<T*>(dbias) + k, b);
      }
    });
  });
}

}  // namespace tutti::kernel
