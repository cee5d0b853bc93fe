// Layer and RMS normalisation, backward. Lines up to fused_width are read once, for all gradients; the parameters' are
// summed over parts (runs of lines, cut by their number alone), and then over the parts.
#include "tutti/backends/contract/normalization.h"

#include "tutti/backends/cuda/normal_lines.h"

namespace tutti {
namespace {

constexpr int of_thread = 8;  // elements of a line
/// Threads of a block; float64 takes twice the registers.
template <class T>
inline constexpr int fused_threads = sizeof(T) == 8 ? 384 : most_line_threads;
template <class T>
inline constexpr int64_t fused_width = int64_t{of_thread} * fused_threads<T>;

template <class T>
struct Job {
  Lines<2> x_dy;
  const T* weight;
  const compute_t<T>* statistics;
  bool center;
  int64_t part_lines, parts;
  compute_t<T>* sums;  // [parts, 2, width]: dweight, dbias; null: not wanted
};

/// What normalises a line: the factor, mean and scale; and what its x are multiplied by first.
template <class C>
struct Normal {
  C first, mean, scale, power;
  __device__ C of(C x) const { return ((x - first) - mean) * scale; }
};

/// Of line `line` (anything, if it is not `here`); the source is multiplied by its power. All threads come here.
template <class T, class Source>
__device__ Normal<compute_t<T>> normal_of(const Job<T>& job, Source& source, int64_t line, bool here) {
  using C = compute_t<T>;
  Normal<C> n{0, here ? job.statistics[2 * line] : C(0), here ? job.statistics[2 * line + 1] : C(0), 1};
  if (source.team.any(n.scale < 0)) {
    const C power = power_of(source.largest());
    if (n.scale < 0) {
      n.power = power;
      n.scale = -n.scale;
      source.multiply(power);
    }
  }
  if (job.center) n.first = source.first();
  return n;
}

/// dx of one chunk.
template <int V, class T, class Chunk, class C, class Values>
__device__ void write_dx(const Job<T>& job, T* out, const Chunk& part, const Normal<C>& n, C of_g, C of_gx,
                         const Values& x, const Values& dy) {
  part.each_pack([&](int k, int64_t at) {
    C w[V] = {}, dx[V];
    if (job.weight) load_pack<V>(job.weight + at, w);
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) {
      const C d = dy[k * V + j], g = job.weight ? d * w[j] : d;
      dx[j] = ((g - of_g) - n.of(x[k * V + j]) * of_gx) * n.scale * n.power;
    }
    store_pack<V>(out + at, dx);
  });
}

/// sum_g += g and sum_gx += g normal(x) over one chunk.
template <int V, class T, class Chunk, class C, class Values>
__device__ void add_sums(const Job<T>& job, const Chunk& part, const Normal<C>& n, const Values& x, const Values& dy,
                         C& sum_g, C& sum_gx) {
  C a = 0, b = 0;
  part.each_pack([&](int k, int64_t at) {
    C w[V] = {};
    if (job.weight) load_pack<V>(job.weight + at, w);
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) {
      const C d = dy[k * V + j], g = job.weight ? d * w[j] : d;
      a += g;
      b = std::fma(g, n.of(x[k * V + j]), b);
    }
  });
  sum_g += a;
  sum_gx += b;
}

/// A part per team.
template <class T, class S>
__global__ void __launch_bounds__(fused_threads<T>, 1) fused_kernel(Job<T> job, Team team) {
  using C = compute_t<T>;
  const Lines<2>& x = job.x_dy;
  const auto width = static_cast<C>(x.width);
  const Chunk<S::V, S::E> all(team, x.width, 0);
  for (int64_t first = int64_t{blockIdx.x} * team.per_block(); first < job.parts;
       first += int64_t{gridDim.x} * team.per_block()) {
    const int64_t number = first + team.number(), begin = number * job.part_lines;
    C dweight[S::E] = {}, dbias[S::E] = {};
    for (int64_t i = 0; i < job.part_lines; ++i) {
      const int64_t line = begin + i;
      const bool here = line < x.count;
      LineOf<T, S> source(team, here ? line_in<T>(x, 0, line) : nullptr, x.width);
      C dy[S::E];
      all.load(here ? line_in<T>(x, 1, line) : nullptr, C(0), dy);
      const Normal<C> n = normal_of(job, source, line, here);
      source.each_chunk([&](const auto& part, const auto& v) {
        if (job.sums) {
          TUTTI_UNROLL
          for (int j = 0; j < S::E; ++j) {
            dweight[j] = std::fma(dy[j], n.of(v[j]), dweight[j]);
            dbias[j] += dy[j];
          }
        }
        if (!x.out) return;
        C a = 0, b = 0;
        add_sums<S::V>(job, part, n, v, dy, a, b);
        team.sum(a, b);
        if (here) write_dx<S::V>(job, line_out<T>(x, line), part, n, job.center ? a / width : C(0), b / width, v, dy);
      });
    }
    if (!job.sums || number >= job.parts) continue;
    C* const sums = job.sums + number * 2 * x.width;
    all.store(sums, [&](int j) { return dweight[j]; });
    all.store(sums + x.width, [&](int j) { return dbias[j]; });
  }
}

/// dx of wide lines: a block per line, which is read twice.
template <class T, class S>
__global__ void __launch_bounds__(most_line_threads, 1) wide_kernel(Job<T> job, Team team) {
  using C = compute_t<T>;
  const Lines<2>& x = job.x_dy;
  const auto width = static_cast<C>(x.width);
  for (int64_t line = blockIdx.x; line < x.count; line += gridDim.x) {
    LineOf<T, S> source(team, line_in<T>(x, 0, line), x.width);
    const T* const gradient = line_in<T>(x, 1, line);
    const Normal<C> n = normal_of(job, source, line, true);
    C a = 0, b = 0;
    source.each_chunk([&](const auto& part, const auto& v) {
      C dy[S::E];
      part.load(gradient, C(0), dy);
      add_sums<S::V>(job, part, n, v, dy, a, b);
    });
    team.sum(a, b);
    a = job.center ? a / width : C(0);
    b = b / width;
    source.each_chunk([&](const auto& part, const auto& v) {
      C dy[S::E];
      part.load(gradient, C(0), dy);
      write_dx<S::V>(job, line_out<T>(x, line), part, n, a, b, v, dy);
    });
  }
}

constexpr int column_threads = 256;
constexpr int64_t column_blocks(int64_t width, int pack) {
  return (width + column_threads * pack - 1) / (column_threads * pack);
}
/// A part of the parameters' gradients for wide lines: a thread per pack of V columns.
template <class T, int V>
__global__ void __launch_bounds__(column_threads, 1) columns_kernel(Job<T> job) {
  using C = compute_t<T>;
  const Lines<2>& x = job.x_dy;
  const Team team{column_threads};
  const int64_t across = column_blocks(x.width, V);
  for (int64_t at = blockIdx.x; at < across * job.parts; at += gridDim.x) {
    const int64_t number = at / across, begin = number * job.part_lines;
    const int64_t end = begin + job.part_lines < x.count ? begin + job.part_lines : x.count;
    const Chunk<V, V> columns(team, x.width, at % across * column_threads * V);
    C dweight[V] = {}, dbias[V] = {};
    for (int64_t line = begin; line < end; ++line) {
      const T* const in = line_in<T>(x, 0, line);
      LineOf<T, LineShape<V, of_thread, false>> source(team, in, x.width);
      const Normal<C> n = normal_of(job, source, line, true);
      C v[V], dy[V];
      columns.load(in, C(0), v);
      columns.load(line_in<T>(x, 1, line), C(0), dy);
      TUTTI_UNROLL
      for (int j = 0; j < V; ++j) {
        dweight[j] = std::fma(dy[j], n.of(v[j] * n.power), dweight[j]);
        dbias[j] += dy[j];
      }
    }
    C* const sums = job.sums + number * 2 * x.width;
    columns.store(sums, [&](int j) { return dweight[j]; });
    columns.store(sums + x.width, [&](int j) { return dbias[j]; });
  }
}

/// The sums over all parts, in float64: of 32 columns a block, by 32 threads each.
constexpr int side = 32;
template <class T>
__global__ void __launch_bounds__(side* side, 1)
    finish_kernel(const compute_t<T>* sums, int64_t width, int64_t parts, T* dweight, T* dbias) {
  SHARED(double, of_rows, [side][side]);
  const int across = static_cast<int>(threadIdx.x) % side, row = static_cast<int>(threadIdx.x) / side;
  const int64_t blocks = (width + side - 1) / side;
  for (int64_t at = blockIdx.x; at < 2 * blocks; at += gridDim.x) {
    const int64_t which = at / blocks, column = at % blocks * side + across;
    T* const out = which ? dbias : dweight;
    double sum = 0;
    for (int64_t i = row; out && column < width && i < parts; i += side)
      sum += static_cast<double>(sums[(2 * i + which) * width + column]);
    __syncthreads();
    of_rows[row][across] = sum;
    __syncthreads();
    if (row || !out || column >= width) continue;
    for (int r = 1; r < side; ++r) sum += of_rows[r][across];
    if constexpr (is_half<T>)
      out[column] = T::from(sum);
    else
      out[column] = static_cast<T>(sum);
  }
}

template <class T>
void backward(Job<T> job, T* dweight, T* dbias) {
  const Lines<2>& x = job.x_dy;
  const bool wanted = dweight || dbias;
  // About a thousand parts, of 4 to 64 lines: enough for a big GPU, and few enough to be added quickly.
  job.part_lines = std::clamp<int64_t>((x.count + 1055) / 1056, 4, 64);
  job.parts = (x.count + job.part_lines - 1) / job.part_lines;
  const Buffer<compute_t<T>> sums(wanted ? job.parts * 2 * x.width : 0);
  job.sums = wanted ? sums.data() : nullptr;
  constexpr int V = 16 / sizeof(T);
  const bool packs = packs_of_lines<V>(x) && aligned<V, T>(job.weight);
  const auto run = [&]<int v>(std::integral_constant<int, v>) {
    if (x.width <= fused_width<T>) {
      int team = 1;
      while (team < 32 && team * of_thread < x.width) team *= 2;
      int block = 256;
      if (team * of_thread < x.width)
        team = block = threads_for((x.width + of_thread - 1) / of_thread, fused_threads<T>);
      start(fused_kernel<T, LineShape<v, of_thread, true>>, blocks_for(job.parts, block / team), block, 0, job,
            Team{team});
      return;
    }
    if (x.out)
      start(wide_kernel<T, LineShape<v, of_thread, false>>, blocks_for(x.count), most_line_threads, 0, job,
            Team{most_line_threads});
    if (wanted) start(columns_kernel<T, v>, blocks_for(column_blocks(x.width, v) * job.parts), column_threads, 0, job);
  };
  if (x.count > 0) {
    if (packs)
      run(std::integral_constant<int, V>{});
    else
      run(std::integral_constant<int, 1>{});
  }
  if (wanted)
    start(finish_kernel<T>, blocks_for(2 * ((x.width + side - 1) / side)), side * side, 0, job.sums, x.width, job.parts,
          dweight, dbias);
}

}  // namespace

template <>
void kernel::normalize_backward::run<Here>(const Lines<2>& x_dy, const void* weight, const void* statistics,
                                           void* dweight, void* dbias, bool center) {
  if (x_dy.width == 0) return;
  for_float(x_dy.dtype, [&]<class T>(T) {
    backward<T>(
        {x_dy, static_cast<const T*>(weight), static_cast<const compute_t<T>*>(statistics), center, 0, 0, nullptr},
        static_cast<T*>(dweight), static_cast<T*>(dbias));
  });
}

}  // namespace tutti
