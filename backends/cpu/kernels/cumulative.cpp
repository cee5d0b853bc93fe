// Running sums and products, in float64 (integers: in 64 bits that wrap around).
#include "tutti/backends/contract/cumulative.h"

#include "tutti/backends/cpu/lines.h"
#include "tutti/backends/cpu/round.h"
#include "tutti/backends/cpu/scratch.h"

namespace tutti::kernel {
namespace {

constexpr int64_t piece = 1 << 16;  // of a long line: what one task takes

template <class T>
using wide_t = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <class T>
TUTTI_INLINE wide_t<T> wide(const T* p) {
  return static_cast<wide_t<T>>(load1(p));
}
template <class T>
TUTTI_INLINE void put(T* p, wide_t<T> v) {
  if constexpr (std::is_integral_v<T>)
    *p = static_cast<T>(v);
  else
    store_double(p, v);
}
/// n <= lanes elements `step` apart, as numbers of 64 bits.
template <class T>
TUTTI_INLINE batch<wide_t<T>> load_wide(const T* p, int64_t step, int64_t n) {
  using W = wide_t<T>;
  alignas(64) W v[lanes<W>];
  for (int64_t i = 0; i < lanes<W>; ++i) v[i] = i < n ? wide(p + i * step) : W(0);
  return batch<W>::load_aligned(v);
}
template <class T>
TUTTI_INLINE void store_wide(T* p, int64_t step, int64_t n, batch<wide_t<T>> b) {
  alignas(64) wide_t<T> v[lanes<wide_t<T>>];
  b.store_aligned(v);
  for (int64_t i = 0; i < n; ++i) put(p + i * step, v[i]);
}

/// Four sums at a time: one would wait for each addition.
template <class T>
wide_t<T> sum_of(const T* x, int64_t n) {
  wide_t<T> s[4]{};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) s[k] += wide(x + i + k);
  for (; i < n; ++i) s[0] += wide(x + i);
  return (s[0] + s[1]) + (s[2] + s[3]);
}
template <class T>
void sum_line(const T* x, T* y, int64_t n, wide_t<T> sum) {
  for (int64_t i = 0; i < n; ++i) put(y + i, sum += wide(x + i));
}

/// Lines of neighbours that are longer than a piece: the sums of the pieces first, then all pieces at once.
template <class T>
void sum_in_pieces(const Lines<1>& x) {
  using W = wide_t<T>;
  const int64_t pieces = (x.width + piece - 1) / piece;
  const Buffer<W> before(x.count * pieces);
  const auto each = [&](const auto& f) {
    parallel_for(x.count * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t line = i / pieces, at = i % pieces * piece, left = x.width - at;
        f(i, static_cast<const T*>(x.in[0]) + row_offset(x.outer, x.in_outer[0], line) + at,
          static_cast<T*>(x.out) + row_offset(x.outer, x.out_outer, line) + at, left < piece ? left : piece);
      }
    });
  };
  each([&](int64_t i, const T* from, T*, int64_t n) { before.data()[i] = sum_of(from, n); });
  for (int64_t line = 0; line < x.count; ++line) {
    W sum = 0;
    for (int64_t i = line * pieces; i < (line + 1) * pieces; ++i) {
      const W next = sum + before.data()[i];
      before.data()[i] = sum;
      sum = next;
    }
  }
  each([&](int64_t i, const T* from, T* to, int64_t n) { sum_line(from, to, n, before.data()[i]); });
}

template <class T>
void product_block(const Line<T, 1>& l, int64_t width, int64_t stride, T* out) {
  using W = wide_t<T>;
  alignas(64) W product[lines_block + lanes<W>];
  for (int64_t j = 0; j < l.n; ++j) product[j] = 1;
  for (int64_t i = 0; i < width; ++i) {
    const T* x = l.in[0] + i * stride;
    if constexpr (std::is_integral_v<T>)
      for (int64_t j = 0; j < l.n; ++j) product[j] *= wide(x + j * l.in_step[0]);
    else
      for_batches<W>(l.n, [&](int64_t j, int64_t n) {
        (batch<W>::load_aligned(product + j) * load_wide(x + j * l.in_step[0], l.in_step[0], n))
            .store_aligned(product + j);
      });
  }
  for (int64_t j = 0; j < l.n; ++j) put(out + j, product[j]);
}
template <class T>
wide_t<T> product_of(const T* x, int64_t n) {
  constexpr int chains = 8;
  wide_t<T> p[chains];
  for (auto& v : p) v = 1;
  int64_t i = 0;
  for (; i + chains <= n; i += chains)
    for (int k = 0; k < chains; ++k) p[k] *= wide(x + i + k);
  for (; i < n; ++i) p[0] *= wide(x + i);
  for (int k = 1; k < chains; ++k) p[0] *= p[k];
  return p[0];
}
template <class T>
void product_in_pieces(const Lines<1>& x, T* out) {
  const int64_t pieces = (x.width + piece - 1) / piece;
  const Buffer<wide_t<T>> parts(x.count * pieces);
  parallel_for(x.count * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i % pieces * piece, left = x.width - at;
      const T* from = static_cast<const T*>(x.in[0]) + row_offset(x.outer, x.in_outer[0], i / pieces) + at;
      parts.data()[i] = product_of(from, left < piece ? left : piece);
    }
  });
  for (int64_t line = 0; line < x.count; ++line) {
    wide_t<T> product = 1;
    for (int64_t i = 0; i < pieces; ++i) product *= parts.data()[line * pieces + i];
    put(out + line, product);
  }
}

/// f(T{}) for the floating dtypes and int64.
template <class F>
TUTTI_INLINE void for_wide(DType t, const F& f) {
  if (t == DType::int64)
    f(int64_t{});
  else
    for_float(t, f);
}

}  // namespace

template <>
void cumsum::run<Here>(const Lines<1>& x) {
  for_wide(x.dtype, [&]<class T>(T) {
    using W = wide_t<T>;
    if (contiguous_lines(x) && x.width > piece) return sum_in_pieces<T>(x);
    for_lines<T>(
        x, [&](const Line<T, 1>& l) { sum_line(l.in[0], l.out, x.width, W(0)); },
        [&](const Line<T, 1>& l) {
          alignas(64) W sum[lines_block + lanes<W>];
          for (int64_t j = 0; j < l.n; ++j) sum[j] = 0;
          for (int64_t i = 0; i < x.width; ++i)
            for_batches<W>(l.n, [&](int64_t j, int64_t n) {
              const auto s = batch<W>::load_aligned(sum + j) +
                             load_wide(l.in[0] + i * x.in_stride[0] + j * l.in_step[0], l.in_step[0], n);
              s.store_aligned(sum + j);
              store_wide(l.out + i * x.out_stride + j * l.out_step, l.out_step, n, s);
            });
        });
  });
}

template <>
void prod::run<Here>(const Lines<1>& x, void* out) {
  for_wide(x.dtype, [&]<class T>(T) {
    T* const y = static_cast<T*>(out);
    for (int64_t i = 0; x.width == 0 && i < x.count; ++i) put(y + i, wide_t<T>(1));
    if (contiguous_lines(x) && x.width > piece) return product_in_pieces<T>(x, y);
    for_lines<T>(
        x, [&](const Line<T, 1>& l) { put(y + l.first, product_of(l.in[0], x.width)); },
        [&](const Line<T, 1>& l) { product_block(l, x.width, x.in_stride[0], y + l.first); });
  });
}

}  // namespace tutti::kernel
