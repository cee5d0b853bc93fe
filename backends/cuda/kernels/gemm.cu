// Matrix products: by cuBLASLt where a few of its calls describe the product, else by tiles of our own, on any strides.
#include "tutti/backends/contract/simple_product.h"
#include "tutti/backends/cuda/cublaslt.h"
#include "tutti/backends/cuda/product_tile.h"

namespace tutti {
namespace {

using kernel::SimpleProduct;

/// A product in tiles. Along the inner dimension (of all sums, one after another) it is cut into parts, if the tiles
/// are too few for a GPU: each part's result goes to memory of its own, and they are added in order afterwards.
struct Job {
  SimpleProduct p;
  Source a, b;
  bool c_packs;
  int64_t down, across;            // tiles
  int steps_of_sum, steps, chunk;  // chunk: steps of a part
  int64_t parts;
  void* partial;  // [parts, matrices, rows, cols] if there are several
};

/// Tile number `at` of a matrix. Blocks that run at the same time share rows and columns: they go down eight tiles,
/// then to the next column.
struct Place {
  int row, col;
};
__device__ Place place_of(const Job& job, int64_t at) {
  constexpr int64_t band = 8;
  const int64_t of_band = band * job.across, first = at / of_band * band, left = job.down - first;
  const int64_t rows = left < band ? left : band, in_band = at % of_band;
  return {static_cast<int>(first + in_band % rows), static_cast<int>(in_band / rows)};
}

/// sum = a part of the tile at `place`: steps `step` to `end`.
template <class T, int per_thread>
__device__ void sum_steps(const Job& job, Place place, int64_t matrix, int step, int end, int down, int across,
                          T (&sum)[per_thread][per_thread]) {
  using Shape = Tile<T, per_thread>;
  SHARED_ALIGNED(16, T, a_tile, [2][Shape::depth][Shape::side]);
  SHARED_ALIGNED(16, T, b_tile, [2][Shape::depth][Shape::side]);
  const SimpleProduct& p = job.p;
  const int64_t row = int64_t{place.row} * Shape::side, col = int64_t{place.col} * Shape::side;
  Copier<T, per_thread> a(job.a, row), b(job.b, col);
  int64_t inner = step % job.steps_of_sum * Shape::depth;
  const auto go_to = [&](int64_t number) {
    a.go_to(job.a,
            static_cast<const T*>(p.a.data) + offset_at(p.kept.shape, p.kept.a, matrix) +
                offset_at(p.summed.shape, p.summed.a, number),
            row, inner);
    b.go_to(job.b,
            static_cast<const T*>(p.b.data) + offset_at(p.kept.shape, p.kept.b, matrix) +
                offset_at(p.summed.shape, p.summed.b, number),
            col, inner);
  };
  go_to(step / job.steps_of_sum);
  a.load(job.a, inner);
  b.load(job.b, inner);
  __syncthreads();  // the tile before may still be read
  a.store(job.a, a_tile[0]);
  b.store(job.b, b_tile[0]);
  __syncthreads();
  for (int now = 0;;) {
    const bool more = ++step < end;
    if (more) {
      inner += Shape::depth;
      if (inner >= p.a.cols) {
        inner = 0;
        go_to(step / job.steps_of_sum);
      }
      a.load(job.a, inner);  // on its way while the step before is computed
      b.load(job.b, inner);
    }
    multiply_tiles<T, per_thread>(a_tile[now], b_tile[now], down, across, sum);
    if (!more) return;
    now ^= 1;
    a.store(job.a, a_tile[now]);
    b.store(job.b, b_tile[now]);
    __syncthreads();
  }
}

/// Where results go.
template <class T>
struct Target {
  T* c;
  int64_t row_stride, col_stride;
  const T* bias;
  bool accumulate, packs;
};

template <class T, int per_thread>
__device__ void write_tile(const Job& job, const Target<T>& to, Place place, int down, int across,
                           const T (&sum)[per_thread][per_thread]) {
  using Shape = Tile<T, per_thread>;
  constexpr int V = Shape::width;
  TUTTI_UNROLL
  for (int i = 0; i < per_thread; ++i) {
    const int64_t row = int64_t{place.row} * Shape::side + i / V * 16 * V + down * V + i % V;
    if (row >= job.p.c.rows) continue;
    TUTTI_UNROLL
    for (int g = 0; g < Shape::groups; ++g) {
      const int64_t col = int64_t{place.col} * Shape::side + g * 16 * V + across * V;
      T* const c = to.c + row * to.row_stride + col * to.col_stride;
      if (to.packs && col + V <= job.p.c.cols) {
        auto* const target = reinterpret_cast<Pack<T, V>*>(c);
        Pack<T, V> pack{};
        if (to.accumulate) pack = *target;
        TUTTI_UNROLL
        for (int e = 0; e < V; ++e) {
          const T s = sum[i][g * V + e];
          pack.v[e] = to.accumulate ? pack.v[e] + s : to.bias ? s + to.bias[col + e] : s;
        }
        *target = pack;
        continue;
      }
      TUTTI_UNROLL
      for (int e = 0; e < V; ++e) {
        if (col + e >= job.p.c.cols) continue;
        const T s = sum[i][g * V + e];
        T& at = c[e * to.col_stride];
        at = to.accumulate ? at + s : to.bias ? s + to.bias[col + e] : s;
      }
    }
  }
}

/// Two blocks on a multiprocessor; of the largest tiles, whose sums alone fill half of the registers then, one.
template <class T, int per_thread>
__global__ void __launch_bounds__(256, per_thread * sizeof(T) < 32 ? 2 : 1) product_kernel(Job job) {
  const SimpleProduct& p = job.p;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;  // a warp is 4 x 8 threads: few banks for either operand
  const int down = warp / 2 * 4 + lane / 8, across = warp % 2 * 8 + lane % 8;
  const int64_t tiles = job.down * job.across, all = tiles * p.matrices * job.parts;
  for (int64_t at = blockIdx.x; at < all; at += gridDim.x) {
    const int64_t matrix = at / tiles % p.matrices;
    const auto part = static_cast<int>(at / tiles / p.matrices);
    T sum[per_thread][per_thread] = {};
    const int begin = part * job.chunk, end = min(begin + job.chunk, job.steps);
    if (begin < end) sum_steps<T, per_thread>(job, place_of(job, at % tiles), matrix, begin, end, down, across, sum);
    Target<T> to;
    if (job.parts > 1) {
      to = {static_cast<T*>(job.partial) + (part * p.matrices + matrix) * p.c.rows * p.c.cols,
            p.c.cols,
            1,
            nullptr,
            false,
            job.c_packs};
    } else {
      to = {static_cast<T*>(p.c.data) + offset_at(p.kept.shape, p.kept.c, matrix),
            p.c.row_stride,
            p.c.col_stride,
            p.bias ? static_cast<const T*>(p.bias) + offset_at(p.kept.shape, p.kept.bias, matrix) : nullptr,
            p.accumulate,
            job.c_packs};
    }
    write_tile<T, per_thread>(job, to, place_of(job, at % tiles), down, across, sum);
  }
}

/// c = the parts, in order, and the bias; a thread per element.
template <class T>
__global__ void add_parts(Job job) {
  const SimpleProduct& p = job.p;
  const int64_t area = p.c.rows * p.c.cols, all = p.matrices * area;
  for (int64_t at = thread_index(); at < all; at += thread_count()) {
    const int64_t matrix = at / area, row = at % area / p.c.cols, col = at % p.c.cols;
    const T* const from = static_cast<const T*>(job.partial) + at;
    T sum = from[0];
    for (int64_t i = 1; i < job.parts; ++i) sum += from[i * all];
    T& c = static_cast<T*>(
        p.c.data)[offset_at(p.kept.shape, p.kept.c, matrix) + row * p.c.row_stride + col * p.c.col_stride];
    if (p.bias) sum += static_cast<const T*>(p.bias)[offset_at(p.kept.shape, p.kept.bias, matrix) + col];
    c = p.accumulate ? c + sum : sum;
  }
}

int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

/// Whether fours of elements along the axis of stride `one` may be moved as packs of V.
bool packs_lie(const void* data, size_t element, int V, int64_t one, int64_t other, const Dims& kept,
               const Dims& summed) {
  if (one != 1 || other % V != 0 || reinterpret_cast<uintptr_t>(data) % (element * static_cast<size_t>(V)) != 0)
    return false;
  for (const Dims* strides : {&kept, &summed})
    for (const int64_t stride : *strides)
      if (stride % V != 0) return false;
  return true;
}

/// Tiles that keep a big GPU busy; and how much of the inner dimension makes a part worth its memory. Constants: the
/// same product is cut in the same way on every GPU.
constexpr int64_t enough_tiles = 128, least_inner = 256;

template <class T, int per_thread>
void by_tiles(const SimpleProduct& p) {
  using Shape = Tile<T, per_thread>;
  Job job{};
  job.p = p;
  const auto source = [&](int64_t outer, int64_t outer_stride, int64_t inner_stride, const void* data, const Dims& kept,
                          const Dims& summed) {
    const bool along_inner = outer_stride > inner_stride && (inner_stride == 1 || outer_stride != 1);
    return Source{outer,
                  p.a.cols,
                  outer_stride,
                  inner_stride,
                  along_inner,
                  packs_lie(data, sizeof(T), Shape::most, along_inner ? inner_stride : outer_stride,
                            along_inner ? outer_stride : inner_stride, kept, summed)};
  };
  job.a = source(p.c.rows, p.a.row_stride, p.a.col_stride, p.a.data, p.kept.a, p.summed.a);
  job.b = source(p.c.cols, p.b.col_stride, p.b.row_stride, p.b.data, p.kept.b, p.summed.b);
  job.down = parts_of(p.c.rows, Shape::side);
  job.across = parts_of(p.c.cols, Shape::side);
  const int64_t tiles = job.down * job.across * p.matrices, steps = parts_of(p.a.cols, Shape::depth) * p.sums;
  int64_t chunk = steps;
  if (tiles < enough_tiles && steps * Shape::depth >= 2 * least_inner)
    chunk = parts_of(steps, std::min(2 * enough_tiles / tiles, steps * Shape::depth / least_inner));
  job.parts = chunk ? parts_of(steps, chunk) : 1;
  job.steps_of_sum = static_cast<int>(parts_of(p.a.cols, Shape::depth));  // memory has room for no more than an int
  job.steps = static_cast<int>(steps);
  job.chunk = static_cast<int>(chunk);
  const bool split = job.parts > 1;
  const Buffer<T> partial(split ? job.parts * p.matrices * p.c.rows * p.c.cols : 0);
  job.partial = partial.data();
  job.c_packs = split ? p.c.cols % Shape::width == 0
                      : packs_lie(p.c.data, sizeof(T), Shape::width, p.c.col_stride, p.c.row_stride, p.kept.c, {});
  start(product_kernel<T, per_thread>, blocks_for(tiles * job.parts), Shape::threads, 0, job);
  if (split) start(add_parts<T>, blocks_for(p.matrices * p.c.rows * p.c.cols, 256), 256, 0, job);
}

/// The largest tiles that fill a GPU, unless they would mostly be empty.
template <class T>
void by_tiles(const SimpleProduct& p) {
  const auto fits = [&](int64_t side) {
    return p.c.rows > side / 2 && p.c.cols > side / 2 &&
           parts_of(p.c.rows, side) * parts_of(p.c.cols, side) * p.matrices >= enough_tiles;
  };
  if constexpr (sizeof(T) == 4)
    if (fits(128)) return by_tiles<T, 8>(p);
  if (fits(64) || (p.c.rows > 64 && p.c.cols > 64)) return by_tiles<T, 4>(p);
  by_tiles<T, 2>(p);
}

/// How cuBLASLt sees a matrix: one stride is 1, the other the distance of lines that do not overlap.
bool as_operand(const ConstMatrix& m, int64_t batch_stride, cuda::LibraryProduct::Operand& o) {
  o.data = m.data;
  o.batch_stride = batch_stride;
  o.transposed = false;
  if ((m.col_stride == 1 || m.cols == 1) && (m.row_stride >= m.cols || m.rows == 1)) {
    o.line = std::max(m.rows == 1 ? 1 : m.row_stride, m.cols);
    return true;
  }
  o.transposed = true;
  o.line = std::max(m.cols == 1 ? 1 : m.col_stride, m.rows);
  return (m.row_stride == 1 || m.rows == 1) && (m.col_stride >= m.rows || m.cols == 1);
}

/// False, and nothing done, if the library cannot, or would need many small calls.
template <class T>
bool by_library(const SimpleProduct& p) {
  constexpr int64_t most = 0x7fffffff;
  constexpr double work_of_a_call = 1e8;  // operations that take a GPU as long as a launch
  const SimpleProduct::Axes& k = p.kept;
  cuda::LibraryProduct l{};
  l.dtype = p.c.dtype;
  l.rows = p.c.rows;
  l.cols = p.c.cols;
  l.inner = p.a.cols;
  l.batch = 1;
  int axis = -1;  // of the batch: the longest goes into one call
  for (int i = 0; i < k.shape.n; ++i)
    if (axis < 0 || k.shape[i] > k.shape[axis]) axis = i;
  const auto along = [&](const Dims& strides) { return axis < 0 ? 0 : strides[axis]; };
  if (axis >= 0) l.batch = k.shape[axis];
  if (!as_operand(p.a, along(k.a), l.a) || !as_operand(p.b, along(k.b), l.b)) return false;
  cuda::LibraryProduct::Operand c{};
  if (!as_operand({p.c.data, p.c.dtype, p.c.rows, p.c.cols, p.c.row_stride, p.c.col_stride, {}}, along(k.c), c) ||
      c.transposed)
    return false;
  for (const int64_t size : {l.rows, l.cols, l.inner, l.batch, l.a.line, l.b.line, c.line})
    if (size > most) return false;
  l.c_line = c.line;
  l.c_batch_stride = c.batch_stride;
  l.bias_batch_stride = p.bias ? along(k.bias) : 0;
  const int64_t others = p.matrices / l.batch;
  if (others * p.sums > 1 && 2.0 * static_cast<double>(l.rows) * static_cast<double>(l.cols) *
                                     static_cast<double>(l.inner) * static_cast<double>(l.batch) <
                                 work_of_a_call)
    return false;
  Dims shape = k.shape;
  if (axis >= 0) shape[axis] = 1;
  const auto step = static_cast<int64_t>(size_of(p.c.dtype));
  const auto at = [&](const void* base, const Dims& kept, int64_t other, const Dims& summed, int64_t sum) {
    return static_cast<const char*>(base) +
           (row_offset(shape, kept, other) + row_offset(p.summed.shape, summed, sum)) * step;
  };
  for (int64_t other = 0; other < others; ++other)
    for (int64_t sum = 0; sum < p.sums; ++sum) {
      l.a.data = at(p.a.data, k.a, other, p.summed.a, sum);
      l.b.data = at(p.b.data, k.b, other, p.summed.b, sum);
      l.c = const_cast<char*>(at(p.c.data, k.c, other, p.summed.c, sum));
      l.bias = p.bias && sum == 0 ? at(p.bias, k.bias, other, p.summed.bias, sum) : nullptr;
      l.accumulate = p.accumulate || sum > 0;
      if (cuda::multiply(l)) continue;
      if (other + sum == 0) return false;
      SimpleProduct one{p.a, p.b, p.c, l.bias, l.accumulate, {}, {}, l.batch, 1};  // what is done stays
      one.a.data = l.a.data;
      one.b.data = l.b.data;
      one.c.data = l.c;
      if (axis >= 0) one.kept = {{l.batch}, {along(k.a)}, {along(k.b)}, {along(k.c)}, {along(k.bias)}};
      by_tiles<T>(one);
    }
  return true;
}

}  // namespace

template <>
void kernel::gemm::run<Here>(const Product& product) {
  const SimpleProduct p = simplified(product);
  if (p.matrices == 0 || p.c.rows == 0 || p.c.cols == 0) return;
  const bool nothing = p.a.cols == 0 || p.sums == 0;
  if (nothing && p.accumulate) return;
  const auto run = [&]<class T>(T) {
    if (nothing || !by_library<T>(p)) by_tiles<T>(p);
  };
  if (p.c.dtype == DType::float32)
    run(float{});
  else
    run(double{});
}

}  // namespace tutti
