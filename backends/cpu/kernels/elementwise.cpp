// The walk of elementwise operations over strided operands, shared by all of them.
#include "tutti/backends/cpu/elementwise.h"

#include "tutti/backends/cpu/pack.h"

namespace tutti {
namespace {

constexpr int64_t piece_size = 32768;               // elements per parallel piece
constexpr int64_t chunk_size = 512;                 // elements per buffer: a few of these stay in the first-level cache
constexpr int64_t tile_rows = 16, tile_cols = 128;  // a row of 4-byte elements along the tile's rows is one cache line
constexpr int64_t narrow = 16;                      // below, runs of the innermost axis are gathered into chunks
constexpr int64_t narrow_repeated = 128;  // the same where an input repeats its run, and the others have no gaps
constexpr int inputs = Operands::max - 1;

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// How a run of the innermost axis is brought to the operation.
enum class Form : uint8_t { direct, constant, packed, transposed };

template <class T>
struct Walker {
  Operands& o;
  Stretch<T> stretch;
  const void* f;
  Form access[Operands::max] = {};
  int last = 0;           // the innermost axis
  int64_t width = 1;      // its size
  bool buffered = false;  // some operand is packed

  static constexpr DType native = dtype_of<T>();
  static constexpr int64_t size = sizeof(T);

  int64_t inner(int k) const { return o.strides[k][last]; }
  bool is_native(int k) const {
    return o.dtype[k] == native || (size == 1 && size_of(o.dtype[k]) == 1);  // bool is computed as uint8
  }

  void classify() {
    for (int k = 0; k < o.count; ++k) {
      access[k] = inner(k) == size && is_native(k) ? Form::direct
                  : k > 0 && inner(k) == 0         ? Form::constant
                                                   : Form::packed;
      buffered |= access[k] == Form::packed;
    }
  }

  /// Repeats one element as often as a vector has lanes.
  void fill(T* to, int k, const char* from) const {
    T value;
    pack(&value, from, o.dtype[k], 0, 1);
    if constexpr (std::is_floating_point_v<T>)
      batch<T>(value).store_unaligned(to);
    else
      *to = value;
  }

  /// n elements from these addresses on, along the innermost axis. `ready` may have buffers with transposed inputs.
  void run(char* const* at, int64_t n, const T* const* ready = nullptr) const {
    alignas(64) T constant[inputs][std::is_floating_point_v<T> ? lanes<T> : 1];
    const T* in[inputs];
    int64_t step[inputs];
    bool any = buffered;
    for (int k = 1; k < o.count; ++k) {
      step[k - 1] = access[k] != Form::constant;
      if (access[k] == Form::constant) {
        fill(constant[k - 1], k, at[k]);
        in[k - 1] = constant[k - 1];
      } else {
        in[k - 1] = access[k] == Form::transposed ? ready[k - 1] : reinterpret_cast<const T*>(at[k]);
      }
    }
    if (!any) return stretch(f, reinterpret_cast<T*>(at[0]), in, step, n);
    run_buffered(at, n, in, step);
  }

  void run_buffered(char* const* at, int64_t n, const T* const* in, const int64_t* step) const {
    alignas(64) T buffer[Operands::max][chunk_size];
    for (int64_t begin = 0; begin < n; begin += chunk_size) {
      const int64_t m = least(chunk_size, n - begin);
      const T* here[inputs];
      for (int k = 1; k < o.count; ++k) {
        here[k - 1] = in[k - 1] + begin * step[k - 1];
        if (access[k] != Form::packed) continue;
        pack(buffer[k], at[k] + begin * inner(k), o.dtype[k], inner(k), m);
        here[k - 1] = buffer[k];
      }
      const bool direct = access[0] == Form::direct;
      T* out = direct ? reinterpret_cast<T*>(at[0]) + begin : buffer[0];
      stretch(f, out, here, step, m);
      if (!direct) unpack(at[0] + begin * inner(0), o.dtype[0], inner(0), out, m);
    }
  }

  /// The only input, converted, without an operation.
  void copy(char* const* at, int64_t n) const {
    if (access[0] == Form::direct) {
      T* to = reinterpret_cast<T*>(at[0]);
      if (access[1] != Form::constant) return pack(to, at[1], o.dtype[1], inner(1), n);
      T value;
      pack(&value, at[1], o.dtype[1], 0, 1);
      for (int64_t i = 0; i < n; ++i) to[i] = value;
    } else if (access[1] == Form::direct) {
      unpack(at[0], o.dtype[0], inner(0), reinterpret_cast<const T*>(at[1]), n);
    } else {
      alignas(64) T buffer[chunk_size];
      for (int64_t i = 0; i < n; i += chunk_size) {
        const int64_t m = least(chunk_size, n - i);
        pack(buffer, at[1] + i * inner(1), o.dtype[1], inner(1), m);
        unpack(at[0] + i * inner(0), o.dtype[0], inner(0), buffer, m);
      }
    }
  }

  /// A position in the iteration space: an index and every operand's address there.
  struct Cursor {
    const Operands& o;
    Dims index;
    char* at[Operands::max];
    Cursor(const Operands& operands, int64_t linear) : o(operands), index(operands.shape) {
      for (int k = 0; k < o.count; ++k) at[k] = o.data[k];
      for (int i = o.shape.n - 1; i >= 0; --i) {
        index[i] = linear % o.shape[i];
        linear /= o.shape[i];
        for (int k = 0; k < o.count; ++k) at[k] += index[i] * o.strides[k][i];
      }
    }
    /// n elements on along the innermost axis, at most to its end.
    void advance(int64_t n) {
      int i = o.shape.n - 1;
      index[i] += n;
      for (int k = 0; k < o.count; ++k) at[k] += n * o.strides[k][i];
      for (; i > 0 && index[i] == o.shape[i]; --i) {
        index[i] = 0;
        ++index[i - 1];
        for (int k = 0; k < o.count; ++k) at[k] += o.strides[k][i - 1] - o.shape[i] * o.strides[k][i];
      }
    }
  };

  void rows() const {
    const int64_t grain = width >= piece_size ? piece_size : piece_size / width * width;
    parallel_for(o.shape.product(), grain, [this](int64_t begin, int64_t end) {
      Cursor c(o, begin);
      while (begin < end) {
        const int64_t n = least(width - c.index[last], end - begin);
        if (stretch)
          run(c.at, n);
        else
          copy(c.at, n);
        begin += n;
        c.advance(n);
      }
    });
  }

  /// Whether the elements lie one after the other, in the order of the iteration space.
  bool dense(int k) const {
    int64_t step = size;
    for (int i = last; i >= 0; step *= o.shape[i], --i)
      if (o.strides[k][i] != step) return false;
    return is_native(k);
  }
  /// Whether every run of the innermost axis is the same one, as a bias is.
  bool repeated(int k) const {
    for (int i = 0; i < last; ++i)
      if (o.strides[k][i] != 0) return false;
    return k > 0;
  }
  /// Whether chunks of many runs cost nothing but the copies of what is repeated.
  bool only_repeats() const {
    bool any = false;
    for (int k = 0; k < o.count; ++k) {
      if (dense(k)) continue;
      if (!repeated(k)) return false;
      any = true;
    }
    return any;
  }

  /// Narrow runs: chunks of many, gathered from and scattered to runs, or copied once where all are the same.
  void gathered() const {
    enum class Source : uint8_t { dense, repeated, runs } source[Operands::max];
    bool gather = false;
    for (int k = 0; k < o.count; ++k) {
      source[k] = dense(k) ? Source::dense : repeated(k) ? Source::repeated : Source::runs;
      gather |= k > 0 && source[k] == Source::runs;
    }
    const int64_t chunk = chunk_size / width * width;
    parallel_for(o.shape.product(), piece_size / width * width, [&](int64_t begin, int64_t end) {
      alignas(64) T buffer[Operands::max][chunk_size];
      int64_t step[inputs];
      for (int k = 0; k < inputs; ++k) step[k] = 1;
      for (int k = 1; k < o.count; ++k)
        for (int64_t i = 0; source[k] == Source::repeated && i < least(chunk, end - begin); i += width)
          pack(buffer[k] + i, o.data[k], o.dtype[k], inner(k), width);
      for (; begin < end; begin += chunk) {
        const int64_t n = least(chunk, end - begin);
        const T* in[inputs];
        for (int k = 1; k < o.count; ++k)
          in[k - 1] = source[k] == Source::dense ? reinterpret_cast<const T*>(o.data[k]) + begin : buffer[k];
        const bool direct = source[0] == Source::dense;
        T* out = direct ? reinterpret_cast<T*>(o.data[0]) + begin : buffer[0];
        if (gather) {
          Cursor c(o, begin);
          for (int64_t i = 0; i < n; i += width, c.advance(width))
            for (int k = 1; k < o.count; ++k)
              if (source[k] == Source::runs) pack(buffer[k] + i, c.at[k], o.dtype[k], inner(k), width);
        }
        if (stretch)
          stretch(f, out, in, step, n);
        else if (direct)
          pack(out, reinterpret_cast<const char*>(in[0]), native, size, n);
        if (direct) continue;
        const T* result = stretch ? out : in[0];
        Cursor c(o, begin);
        for (int64_t i = 0; i < n; i += width, c.advance(width))
          unpack(c.at[0], o.dtype[0], inner(0), result + i, width);
      }
    });
  }

  /// The axis along which a strided input is contiguous, or -1.
  int transposed_axis() const {
    for (int k = 1; k < o.count; ++k) {
      if (access[k] != Form::packed || !is_native(k)) continue;
      for (int i = 0; i < last; ++i)
        if (o.strides[k][i] == size && o.shape[i] >= 4) return i;
    }
    return -1;
  }

  /// Tiles of tile_rows along `axis` by tile_cols along the innermost one.
  void tiles(int axis) {
    buffered = false;
    for (int k = 0; k < o.count; ++k) {
      if (k > 0 && access[k] == Form::packed && is_native(k) && o.strides[k][axis] == size)
        access[k] = Form::transposed;
      buffered |= access[k] == Form::packed;
    }
    // One element per tile. `axis` is walked fastest: the transposed input is then read along its rows, page by page.
    Operands grid = o;
    grid.shape[axis] = (width + tile_cols - 1) / tile_cols;
    grid.shape[last] = (o.shape[axis] + tile_rows - 1) / tile_rows;
    for (int k = 0; k < o.count; ++k) {
      grid.strides[k][axis] = o.strides[k][last] * tile_cols;
      grid.strides[k][last] = o.strides[k][axis] * tile_rows;
    }
    parallel_for(grid.shape.product(), piece_size / (tile_rows * tile_cols), [&](int64_t begin, int64_t end) {
      Cursor c(grid, begin);
      for (; begin < end; ++begin, c.advance(1))
        tile(c.at, axis, least(tile_rows, o.shape[axis] - c.index[last] * tile_rows),
             least(tile_cols, width - c.index[axis] * tile_cols));
    });
  }

  void tile(char* const* at, int axis, int64_t rows, int64_t cols) const {
    if (!stretch && access[0] == Form::direct && access[1] == Form::transposed)
      return transpose_tile(reinterpret_cast<T*>(at[0]), o.strides[0][axis] / size, reinterpret_cast<const T*>(at[1]),
                            inner(1) / size, rows, cols);
    alignas(64) T buffer[inputs][tile_rows * tile_cols];
    for (int k = 1; k < o.count; ++k)
      if (access[k] == Form::transposed)
        transpose_tile(buffer[k - 1], tile_cols, reinterpret_cast<const T*>(at[k]), inner(k) / size, rows, cols);
    char* row[Operands::max];
    const T* ready[inputs] = {};
    for (int64_t r = 0; r < rows; ++r) {
      for (int k = 0; k < o.count; ++k) row[k] = at[k] + r * o.strides[k][axis];
      for (int k = 0; k < inputs; ++k) ready[k] = buffer[k] + r * tile_cols;
      if (stretch)
        run(row, cols, ready);
      else
        unpack(row[0], o.dtype[0], inner(0), ready[0], cols);
    }
  }
};

/// Swaps axes so that the output's strides fall: the innermost is then where it is contiguous, if it is anywhere.
void order_axes(Operands& o) {
  for (int i = 1; i < o.shape.n; ++i)
    for (int j = i; j > 0 && o.strides[0][j - 1] < o.strides[0][j]; --j) {
      const auto swap = [j](Dims& d) {
        const int64_t t = d[j];
        d[j] = d[j - 1];
        d[j - 1] = t;
      };
      swap(o.shape);
      for (int k = 0; k < o.count; ++k) swap(o.strides[k]);
    }
}

template <class T>
void walk_typed(Operands& o, Stretch<T> stretch, const void* f) {
  if (o.shape.product() == 0) return;
  if (o.shape.n == 0) {  // a single element
    o.shape.n = 1;
    o.shape[0] = 1;
    for (int k = 0; k < o.count; ++k) {
      o.strides[k].n = 1;
      o.strides[k][0] = static_cast<int64_t>(size_of(o.dtype[k]));
    }
  }
  order_axes(o);
  Walker<T> w{o, stretch, f};
  w.last = o.shape.n - 1;
  w.width = o.shape[w.last];
  w.classify();
  if (w.last > 0 && (w.width < narrow || (w.width < narrow_repeated && w.only_repeats()))) return w.gathered();
  if (const int axis = w.buffered ? w.transposed_axis() : -1; axis >= 0) return w.tiles(axis);
  w.rows();
}

}  // namespace

template <>
void walk<Here, float>(Operands& o, Stretch<float> s, const void* f) {
  walk_typed<float>(o, s, f);
}
template <>
void walk<Here, double>(Operands& o, Stretch<double> s, const void* f) {
  walk_typed<double>(o, s, f);
}
template <>
void walk<Here, int64_t>(Operands& o, Stretch<int64_t> s, const void* f) {
  walk_typed<int64_t>(o, s, f);
}
template <>
void walk<Here, int32_t>(Operands& o, Stretch<int32_t> s, const void* f) {
  walk_typed<int32_t>(o, s, f);
}
template <>
void walk<Here, uint8_t>(Operands& o, Stretch<uint8_t> s, const void* f) {
  walk_typed<uint8_t>(o, s, f);
}

}  // namespace tutti
