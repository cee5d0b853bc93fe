// Picking and placing by index. Sums are added in index order whatever the number of threads: pieces never share a
// place that they write.
#include "tutti/backends/contract/index.h"

#include <cstring>

#include "tutti/backends/cpu/simd.h"

namespace tutti::kernel {
namespace {

constexpr int64_t grain = 32 * 1024;  // elements per piece

/// f(U{}) with an unsigned type of the dtype's size, for what only moves elements.
template <class F>
TUTTI_INLINE void for_size(DType t, F&& f) {
  switch (size_of(t)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

int64_t rows_per_piece(int64_t width) { return width >= grain ? 1 : grain / (width > 0 ? width : 1); }

TUTTI_INLINE int64_t offset_of(const Dims& outer, const Dims& strides, int64_t row) {
  return outer.n == 1 ? row * strides[0] : row_offset(outer, strides, row);
}

template <class T>
TUTTI_INLINE void copy_run(T* to, const T* from, int64_t n) {
  constexpr int64_t step = 64 / static_cast<int64_t>(sizeof(T));
  int64_t i = 0;
  for (; i + step <= n; i += step) std::memcpy(to + i, from + i, 64);  // inline: runs are often short
  for (; i < n; ++i) to[i] = from[i];
}

/// One run along the innermost axis.
template <class T>
TUTTI_INLINE void take_run(T* out, int64_t out_stride, const T* in, int64_t in_stride, const int64_t* index,
                           int64_t index_stride, int64_t axis_stride, int64_t n) {
  if (index_stride == 1 && out_stride == 1 && in_stride == 0 && axis_stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[index[i]];
  } else if (index_stride != 0) {
    for (int64_t i = 0; i < n; ++i) out[i * out_stride] = in[i * in_stride + index[i * index_stride] * axis_stride];
  } else if (out_stride == 1 && in_stride == 1) {
    copy_run(out, in + *index * axis_stride, n);
  } else {
    in += *index * axis_stride;
    for (int64_t i = 0; i < n; ++i) out[i * out_stride] = in[i * in_stride];
  }
}

/// Some index is outside [0, limit): the sign of v or of limit - 1 - v says so. In blocks, which vectorise.
TUTTI_INLINE bool any_outside(const int64_t* p, int64_t stride, int64_t n, int64_t limit) {
  constexpr int64_t block = 64;
  const auto last = static_cast<uint64_t>(limit - 1);
  uint64_t bad = 0;
  int64_t i = 0;
  for (; stride == 1 && i + block <= n; i += block)
    for (int64_t k = 0; k < block; ++k)
      bad |= static_cast<uint64_t>(p[i + k]) | (last - static_cast<uint64_t>(p[i + k]));
  for (; i < n; ++i) bad |= static_cast<uint64_t>(p[i * stride]) | (last - static_cast<uint64_t>(p[i * stride]));
  return bad >> 63;
}

/// f(T{}) for what is added up: every dtype but the half ones, which ops bring in float32.
template <class F>
TUTTI_INLINE void for_summed(const char* kernel, DType t, F&& f) {
  for_any(t, [&]<class T>(T x) {
    if constexpr (is_half<T>)
      throw_no_half(kernel, t);
    else
      f(x);
  });
}

template <class T>
TUTTI_INLINE void add_to(T* y, T x) {
  *y = static_cast<T>(*y + x);
}

template <class T>
TUTTI_INLINE void add_run(T* y, const T* x, int64_t n) {
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<T>)
    for (; i + lanes<T> <= n; i += lanes<T>) vstore(y + i, vload(y + i) + vload(x + i));
  for (; i < n; ++i) add_to(y + i, x[i]);
}

}  // namespace

template <>
void check_index::run<Here>(ConstRows index, int64_t limit, const char* op) {
  parallel_for(index.count, rows_per_piece(index.width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t* p = static_cast<const int64_t*>(index.data) + row_offset(index.outer, index.outer_strides, row);
      if (!any_outside(p, index.stride, index.width, limit)) continue;
      for (int64_t i = 0; i < index.width; ++i) {
        const int64_t value = p[i * index.stride];
        if (value < 0 || value >= limit) throw_index_error(op, "index", value, row * index.width + i, limit);
      }
    }
  });
}

template <>
void gather::run<Here>(const Elements<2>& e, int64_t axis_stride, int64_t) {
  const int64_t total = e.shape.product();
  if (total == 0) return;
  const int last = e.shape.n - 1;
  const bool scalar = last < 0;
  const int64_t width = scalar ? 1 : e.shape[last];
  const int64_t so = scalar ? 0 : e.out_strides[last], sx = scalar ? 0 : e.in_strides[0][last],
                si = scalar ? 0 : e.in_strides[1][last];
  Dims outer = e.shape, outer_o = e.out_strides, outer_x = e.in_strides[0], outer_i = e.in_strides[1];
  outer.n = outer_o.n = outer_x.n = outer_i.n = scalar ? 0 : last;
  for_size(e.out_dtype, [&]<class T>(T) {
    parallel_for(total, grain, [&](int64_t begin, int64_t end) {
      int64_t row = begin / width, column = begin % width;
      for (; begin < end; ++row, column = 0) {
        const int64_t n = width - column < end - begin ? width - column : end - begin;
        take_run(static_cast<T*>(e.out) + offset_of(outer, outer_o, row) + column * so, so,
                 static_cast<const T*>(e.in[0]) + offset_of(outer, outer_x, row) + column * sx, sx,
                 static_cast<const int64_t*>(e.in[1]) + offset_of(outer, outer_i, row) + column * si, si, axis_stride,
                 n);
        begin += n;
      }
    });
  });
}

template <>
void scatter_add::run<Here>(Rows y, ConstRows index, ConstRows x) {
  for_summed("scatter_add", y.dtype, [&]<class T>(T) {
    parallel_for(x.count, rows_per_piece(x.width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* to = static_cast<T*>(y.data) + offset_of(y.outer, y.outer_strides, row);
        const T* from = static_cast<const T*>(x.data) + offset_of(x.outer, x.outer_strides, row);
        const int64_t* at = static_cast<const int64_t*>(index.data) + offset_of(index.outer, index.outer_strides, row);
        if (y.stride == 1 && index.stride == 1 && x.stride == 1)
          for (int64_t j = 0; j < x.width; ++j) add_to(to + at[j], from[j]);
        else
          for (int64_t j = 0; j < x.width; ++j) add_to(to + at[j * index.stride] * y.stride, from[j * x.stride]);
      }
    });
  });
}

template <>
void index_add::run<Here>(const IndexAdd& a) {
  // Pieces are blocks of columns where rows are wide, else ranges of rows of y: each goes through all indices.
  constexpr int64_t block = 128, ranges = 8;
  const int64_t work = a.count * a.inner;
  const bool whole = work < grain, by_columns = a.inner >= 2 * block;
  const int64_t pieces = whole ? 1 : by_columns ? (a.inner + block - 1) / block : ranges;
  for_summed("index_add", a.dtype, [&]<class T>(T) {
    parallel_for(a.outer * pieces, whole ? rows_per_piece(work) : 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        T* y = static_cast<T*>(a.y) + piece / pieces * a.size * a.inner;
        const T* x = static_cast<const T*>(a.x) + piece / pieces * a.count * a.inner;
        const int64_t part = piece % pieces;
        int64_t first = 0, last = a.size, column = 0, columns = a.inner;
        if (!whole && by_columns) {
          column = part * block;
          columns = a.inner - column < block ? a.inner - column : block;
        } else if (!whole) {
          first = a.size * part / pieces;
          last = a.size * (part + 1) / pieces;
        }
        for (int64_t j = 0; j < a.count; ++j) {
          const int64_t row = a.index[j];
          if (row >= first && row < last) add_run(y + row * a.inner + column, x + j * a.inner + column, columns);
        }
      }
    });
  });
}

template <>
void triangle::run<Here>(Rows y, ConstRows x, int64_t height, int64_t diagonal, bool lower) {
  for_size(y.dtype, [&]<class T>(T) {
    parallel_for(y.count, rows_per_piece(y.width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* to = static_cast<T*>(y.data) + offset_of(y.outer, y.outer_strides, row);
        const T* from = static_cast<const T*>(x.data) + offset_of(x.outer, x.outer_strides, row);
        // Columns [0, edge) lie at or below the diagonal (lower), or strictly below it (upper).
        int64_t edge = row % height + diagonal + (lower ? 1 : 0);
        edge = edge < 0 ? 0 : edge > y.width ? y.width : edge;
        if (y.stride == 1 && x.stride == 1) {
          const int64_t kept = lower ? 0 : edge, zero = lower ? edge : 0;
          copy_run(to + kept, from + kept, lower ? edge : y.width - edge);
          std::memset(to + zero, 0, static_cast<size_t>(lower ? y.width - edge : edge) * sizeof(T));
          continue;
        }
        for (int64_t i = 0; i < edge; ++i) to[i * y.stride] = lower ? from[i * x.stride] : T{0};
        for (int64_t i = edge; i < y.width; ++i) to[i * y.stride] = lower ? T{0} : from[i * x.stride];
      }
    });
  });
}

}  // namespace tutti::kernel
