// Softmax and log-softmax, forward and backward, and log-sum-exp.
#include "tutti/backends/contract/softmax.h"

#include <cmath>

#include "tutti/backends/cuda/lines.h"

namespace tutti {
namespace {

enum class Form { softmax, log_softmax, log_sum_exp };

/// m, or 0 where x - m would make NaN of infinities that are alike.
template <class C>
__device__ C finite(C m) {
  return m - m == 0 ? m : C(0);
}

/// The largest of some numbers, and the sum of their exponentials relative to it, of one pass over them.
template <class C>
struct Running {
  C most = -static_cast<C>(INFINITY), sum = 0;

  template <int n>
  __device__ void add(const C (&v)[n]) {
    C now = most;
    TUTTI_UNROLL
    for (int j = 0; j < n; ++j) now = Larger{}(v[j], now);
    const C shift = finite(now);
    C part = 0;
    TUTTI_UNROLL
    for (int j = 0; j < n; ++j) part += std::exp(v[j] - shift);
    sum = relative_to(shift) + part;
    most = now;
  }
  __device__ C relative_to(C shift) const { return sum * std::exp(most - shift); }
};

/// What a line's elements become: of x or, where `exponential`, of exp(x - most).
template <class C>
struct Result {
  C most, last;  // the sum's logarithm or reciprocal
  bool log;
  __device__ Result(Form form, C largest, C sum) : most(largest), log(form == Form::log_softmax) {
    last = log ? std::log(sum) : 1 / sum;
  }
  __device__ C of(C x) const { return log ? (x - most) - last : std::exp(x - most) * last; }
};

template <class C>
__device__ C log_of_sum(C most, C sum) {
  return finite(most) + std::log(sum);
}
/// NaN for a line with +infinity, or with nothing but -infinity.
template <class C>
__device__ C sum_or_nan(C most, C sum) {
  return sum + (most - most);
}

/// A line per team.
template <class T, class S>
__global__ void __launch_bounds__(most_line_threads, 1) forward_kernel(Lines<1> x, T* sums, Form form, Team team) {
  using C = compute_t<T>;
  constexpr C none = -static_cast<C>(INFINITY);
  for (int64_t first = int64_t{blockIdx.x} * team.per_block(); first < x.count;
       first += int64_t{gridDim.x} * team.per_block()) {
    const int64_t line = first + team.number();
    const bool here = line < x.count;
    const T* const in = here ? line_in<T>(x, 0, line) : nullptr;
    T* const out = here ? line_out<T>(x, line) : nullptr;
    C v[S::E];
    if constexpr (S::once) {
      const Chunk<S::V, S::E> all(team, x.width, 0);
      all.load(in, none, v);
      C most = none;
      TUTTI_UNROLL
      for (int j = 0; j < S::E; ++j) most = Larger{}(v[j], most);
      most = team.largest(most);
      const C shift = form == Form::log_sum_exp ? finite(most) : most;
      C sum = 0;
      TUTTI_UNROLL
      for (int j = 0; j < S::E; ++j) {
        const C e = std::exp(v[j] - shift);
        sum += e;
        if (form == Form::softmax) v[j] = e;
      }
      sum = team.sum(sum);
      if (form == Form::log_sum_exp) {
        if (here && team.rank() == 0) store(sums + line, log_of_sum(most, sum));
        continue;
      }
      const Result<C> result(form, most, sum);
      all.store(out, [&](int j) { return result.log ? result.of(v[j]) : v[j] * result.last; });
    } else {
      Running<C> mine;
      for (int64_t begin = 0; begin < x.width; begin += team.size * S::E) {
        Chunk<S::V, S::E>(team, x.width, begin).load(in, none, v);
        mine.add(v);
      }
      const C most = team.largest(mine.most), sum = team.sum(mine.relative_to(finite(most)));
      if (form == Form::log_sum_exp) {
        if (here && team.rank() == 0) store(sums + line, log_of_sum(most, sum));
        continue;
      }
      const Result<C> result(form, most, sum_or_nan(most, sum));
      for (int64_t begin = 0; begin < x.width; begin += team.size * S::E) {
        const Chunk<S::V, S::E> part(team, x.width, begin);
        part.load(in, none, v);
        part.store(out, [&](int j) { return result.of(v[j]); });
      }
    }
  }
}

template <class C>
__device__ C summand(bool log, C y, C dy, C sum) {
  return log ? sum + dy : std::fma(y, dy, sum);
}
template <class C>
__device__ C gradient(bool log, C y, C dy, C sum) {
  return log ? dy - std::exp(y) * sum : y * (dy - sum);
}

template <class T, class S>
__global__ void __launch_bounds__(most_line_threads, 1) backward_kernel(Lines<2> y_dy, bool log, Team team) {
  using C = compute_t<T>;
  for (int64_t first = int64_t{blockIdx.x} * team.per_block(); first < y_dy.count;
       first += int64_t{gridDim.x} * team.per_block()) {
    const int64_t line = first + team.number();
    const bool here = line < y_dy.count;
    const T* const y = here ? line_in<T>(y_dy, 0, line) : nullptr;
    const T* const dy = here ? line_in<T>(y_dy, 1, line) : nullptr;
    T* const out = here ? line_out<T>(y_dy, line) : nullptr;
    C p[S::E], d[S::E], sum = 0;
    for (int64_t begin = 0; begin < y_dy.width; begin += team.size * S::E) {
      const Chunk<S::V, S::E> part(team, y_dy.width, begin);
      part.load(y, C(0), p);
      part.load(dy, C(0), d);
      C of_chunk = 0;
      TUTTI_UNROLL
      for (int j = 0; j < S::E; ++j) of_chunk = summand(log, p[j], d[j], of_chunk);
      sum += of_chunk;
      if constexpr (S::once) break;
    }
    sum = team.sum(sum);
    for (int64_t begin = 0; begin < y_dy.width; begin += team.size * S::E) {
      const Chunk<S::V, S::E> part(team, y_dy.width, begin);
      if constexpr (!S::once) {
        part.load(y, C(0), p);
        part.load(dy, C(0), d);
      }
      part.store(out, [&](int j) { return gradient(log, p[j], d[j], sum); });
      if constexpr (S::once) break;
    }
  }
}

// Lines across memory: neighbouring threads have neighbouring lines, and `rows` threads, `lines` apart, share one.
constexpr int across_threads = 256;

template <class T>
__global__ void __launch_bounds__(across_threads, 1) forward_across(Lines<1> x, T* sums, Form form, int rows) {
  using C = compute_t<T>;
  SHARED(C, mosts, [across_threads]);
  SHARED(C, parts, [across_threads]);
  const int lines = across_threads / rows, row = static_cast<int>(threadIdx.x) / lines,
            of_block = static_cast<int>(threadIdx.x) % lines;
  for (int64_t first = int64_t{blockIdx.x} * lines; first < x.count; first += int64_t{gridDim.x} * lines) {
    const int64_t line = first + of_block;
    const bool here = line < x.count;
    const int64_t width = here ? x.width : 0;
    const T* const in = here ? line_in<T>(x, 0, line) : nullptr;
    Running<C> mine;
    for (int64_t i = row; i < width; i += int64_t{4} * rows) {
      C v[4];
      TUTTI_UNROLL
      for (int j = 0; j < 4; ++j) {
        const int64_t at = i + int64_t{j} * rows;
        v[j] = at < width ? load(in + at * x.in_stride[0]) : -static_cast<C>(INFINITY);
      }
      mine.add(v);
    }
    __syncthreads();
    mosts[threadIdx.x] = mine.most;
    parts[threadIdx.x] = mine.sum;
    __syncthreads();
    C most = mosts[of_block], sum = 0;
    for (int r = 1; r < rows; ++r) most = Larger{}(mosts[r * lines + of_block], most);
    for (int r = 0; r < rows; ++r)
      sum += Running<C>{mosts[r * lines + of_block], parts[r * lines + of_block]}.relative_to(finite(most));
    if (form == Form::log_sum_exp) {
      if (here && row == 0) store(sums + line, log_of_sum(most, sum));
      continue;
    }
    T* const out = here ? line_out<T>(x, line) : nullptr;
    const Result<C> result(form, most, sum_or_nan(most, sum));
    for (int64_t i = row; i < width; i += rows) store(out + i * x.out_stride, result.of(load(in + i * x.in_stride[0])));
  }
}

template <class T>
__global__ void __launch_bounds__(across_threads, 1) backward_across(Lines<2> y_dy, bool log, int rows) {
  using C = compute_t<T>;
  SHARED(C, parts, [across_threads]);
  const int lines = across_threads / rows, row = static_cast<int>(threadIdx.x) / lines,
            of_block = static_cast<int>(threadIdx.x) % lines;
  for (int64_t first = int64_t{blockIdx.x} * lines; first < y_dy.count; first += int64_t{gridDim.x} * lines) {
    const int64_t line = first + of_block;
    const bool here = line < y_dy.count;
    const int64_t width = here ? y_dy.width : 0;
    const T* const y = here ? line_in<T>(y_dy, 0, line) : nullptr;
    const T* const dy = here ? line_in<T>(y_dy, 1, line) : nullptr;
    C mine = 0;
    for (int64_t i = row; i < width; i += rows)
      mine = summand(log, load(y + i * y_dy.in_stride[0]), load(dy + i * y_dy.in_stride[1]), mine);
    __syncthreads();
    parts[threadIdx.x] = mine;
    __syncthreads();
    C sum = 0;
    for (int r = 0; r < rows; ++r) sum += parts[r * lines + of_block];
    T* const out = here ? line_out<T>(y_dy, line) : nullptr;
    for (int64_t i = row; i < width; i += rows)
      store(out + i * y_dy.out_stride,
            gradient(log, load(y + i * y_dy.in_stride[0]), load(dy + i * y_dy.in_stride[1]), sum));
  }
}

int rows_for(int64_t width) { return width >= 128 ? 8 : width >= 32 ? 4 : 1; }

template <class T>
void forward(const Lines<1>& x, T* sums, Form form) {
  if (!contiguous_lines(x)) {
    const int rows = rows_for(x.width);
    start(forward_across<T>, blocks_for(x.count, across_threads / rows), across_threads, 0, x, sums, form, rows);
    return;
  }
  with_shape<T>(x.width, packs_of_lines<16 / sizeof(T)>(x), [&]<class S>(S, int team, int block) {
    start(forward_kernel<T, S>, blocks_for(x.count, block / team), block, 0, x, sums, form, Team{team});
  });
}

}  // namespace

template <>
void kernel::softmax_forward::run<Here>(const Lines<1>& x, bool log) {
  if (x.count == 0 || x.width == 0) return;
  for_float(x.dtype, [&]<class T>(T) { forward<T>(x, nullptr, log ? Form::log_softmax : Form::softmax); });
}

template <>
void kernel::softmax_backward::run<Here>(const Lines<2>& x, bool log) {
  if (x.count == 0 || x.width == 0) return;
  for_float(x.dtype, [&]<class T>(T) {
    if (!contiguous_lines(x)) {
      const int rows = rows_for(x.width);
      start(backward_across<T>, blocks_for(x.count, across_threads / rows), across_threads, 0, x, log, rows);
      return;
    }
    with_shape<T>(x.width, packs_of_lines<16 / sizeof(T)>(x), [&]<class S>(S, int team, int block) {
      start(backward_kernel<T, S>, blocks_for(x.count, block / team), block, 0, x, log, Team{team});
    });
  });
}

template <>
void kernel::log_sum_exp::run<Here>(const Lines<1>& x, void* out) {
  if (x.count == 0) return;
  for_float(x.dtype, [&]<class T>(T) { forward<T>(x, static_cast<T*>(out), Form::log_sum_exp); });
}

}  // namespace tutti
