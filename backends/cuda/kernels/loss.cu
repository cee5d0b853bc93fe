// Cross-entropy on logits, forward and backward: each line is read from memory once and no probabilities are stored. A
// target out of range counts as ignored; its error is on its way.
#include "tutti/backends/contract/loss.h"

#include "tutti/backends/cuda/complain.h"
#include "tutti/backends/cuda/elementwise.h"
#include "tutti/backends/cuda/fold.h"

namespace tutti {
namespace {

using kernel::CrossEntropy;

__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }
__device__ inline float log_of(float x) { return logf(x); }
__device__ inline double log_of(double x) { return log(x); }
__device__ inline float log1p_of(float x) { return log1pf(x); }
__device__ inline double log1p_of(double x) { return log1p(x); }

__device__ inline int64_t target_at(const CrossEntropy& o, int64_t line) {
  return o.target_dtype == DType::int64 ? static_cast<const int64_t*>(o.target)[line]
                                        : static_cast<const int32_t*>(o.target)[line];
}
__device__ inline bool counts(const CrossEntropy& o, int64_t target, int64_t classes) {
  return target != o.ignore_index && !outside(target, classes);
}
template <class T>
__device__ double weight_of(const CrossEntropy& o, int64_t k) {
  return o.weight ? static_cast<double>(load(static_cast<const T*>(o.weight) + k)) : 1;
}

/// Beyond this a line's logarithm is kept in two numbers.
constexpr double far = 128;

/// What a line is folded into: its largest element and sum of exp(x - most), rescaled whenever the largest grows; with
/// smoothing also the sums of w and of w (x - first).
template <class C, bool smooth>
struct LineSums {
  C most, sum;
};
template <class C>
struct LineSums<C, true> {
  C most, sum;
  double weights, weighted;
};

template <class T, bool smooth>
struct LineLoss {
  using C = compute_t<T>;
  using Acc = LineSums<C, smooth>;
  using Param = double;
  CrossEntropy o;
  cuda::Check check;
  C* lse;
  double* losses;
  T* out;  // null: they will be summed up
  __device__ double param(const Fold&, int64_t, C first) const {
    return first - first == 0 ? static_cast<double>(first) : 0;  // what it moves is taken back: any finite number does
  }
  __device__ Acc none() const {
    Acc a{};
    a.most = -static_cast<C>(INFINITY);
    return a;
  }
  /// What is subtracted in exponents: nothing while all are -infinity.
  __device__ static C shift_of(C most) { return most == -static_cast<C>(INFINITY) ? C(0) : most; }
  __device__ Acc combine(Acc a, const Acc& b) const {
    const C most = a.most > b.most ? a.most : b.most, shift = shift_of(most);
    a.sum = a.sum * exp_of(a.most - shift) + b.sum * exp_of(b.most - shift);
    a.most = most;
    if constexpr (smooth) {
      a.weights += b.weights;
      a.weighted += b.weighted;
    }
    return a;
  }
  template <int V>
  __device__ void add(Acc& a, const C (&x)[V], int64_t k, double first) const {
    C most = a.most, sum = 0;
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) most = x[j] > most ? x[j] : most;  // a NaN may be lost: the exponentials find it again
    const C shift = shift_of(most);
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) sum += exp_of(x[j] - shift);
    a.sum = a.most == most ? a.sum + sum : a.sum * exp_of(a.most - shift) + sum;
    a.most = most;
    if constexpr (smooth) {
      TUTTI_UNROLL
      for (int j = 0; j < V; ++j) {
        const double w = weight_of<T>(o, k + j);
        a.weights += w;
        a.weighted += w * (static_cast<double>(x[j]) - first);
      }
    }
  }
  __device__ void finish(const Fold& x, int64_t line, const Acc& a) const {
    const int64_t t = target_at(o, line);
    if (t != o.ignore_index && outside(t, x.count)) complain(check, line, t);
    C main = 0, rest = 0;
    double loss = 0;
    if (counts(o, t, x.count)) {
      const T* row = static_cast<const T*>(x.data) + offset_at(x.kept, x.kept_strides, line);
      const C log_sum = log_of(a.sum), chosen = load(row + t * (x.folded.n ? x.folded_strides[0] : 1));
      const bool apart = a.most > far || a.most < -far;
      main = apart ? a.most : a.most + log_sum;
      rest = apart ? log_sum : C(0);
      const double right = static_cast<double>(log_sum) - static_cast<double>(chosen - a.most);
      loss = (1 - o.smoothing) * right * weight_of<T>(o, t);
      if constexpr (smooth) {
        const double moved = a.weights * (static_cast<double>(a.most) - param(x, line, load(row)));
        loss += o.smoothing / static_cast<double>(x.count) *
                (a.weights * static_cast<double>(log_sum) - (a.weighted - moved));
      }
    }
    lse[line] = main;
    lse[x.results + line] = rest;
    if (losses) losses[line] = loss;
    if (out) out[line] = rounded<T>(loss);
  }
};

/// The sum of all losses, and of the weights of the lines that count.
template <class T>
struct TotalLoss : FoldSums<2> {
  CrossEntropy o;
  int64_t classes;
  T* out;
  double* divisor;
  template <int V>
  __device__ void add(Acc& a, const double (&loss)[V], int64_t line, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) {
      a.v[0] += loss[j];
      const int64_t t = target_at(o, line + j);
      if (counts(o, t, classes)) a.v[1] += weight_of<T>(o, t);
    }
  }
  __device__ void finish(const Fold&, int64_t, const Acc& a) const {
    *divisor = a.v[1];
    if (o.reduce) *out = rounded<T>(!o.mean ? a.v[0] : a.v[1] == 0 ? 0 : a.v[0] / a.v[1]);
  }
};

struct TotalWeight : FoldSums<1> {
  double* total;
  template <int V, class C>
  __device__ void add(Acc& a, const C (&w)[V], int64_t, Nothing) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) a.v[0] += static_cast<double>(w[j]);
  }
  __device__ void finish(const Fold&, int64_t, const Acc& a) const { *total = a.v[0]; }
};

/// n neighbours as one result.
Fold all_of(const void* data, int64_t n) {
  Fold f{};
  f.data = data;
  f.folded = {n};
  f.folded_strides = {1};
  f.results = 1;
  f.count = n;
  return f;
}

/// The gradient: `lanes` threads for each stretch of a line. `all`: null, or the sum of the weights.
template <class T, int V>
__global__ void cross_entropy_backward_kernel(Lines<1> x, CrossEntropy o, const compute_t<T>* lse,
                                              const double* divisor, const T* dy, const double* all, int lanes,
                                              int64_t stretches) {
  using C = compute_t<T>;
  const int groups = static_cast<int>(blockDim.x) / lanes;
  const int64_t stretch = (x.width + stretches - 1) / stretches + V - 1;  // whole packs
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const double smooth = o.smoothing / static_cast<double>(x.width), n = o.mean ? *divisor : 1;
  const double sum = smooth > 0 ? all ? *all : static_cast<double>(x.width) : 0;
  for (int64_t unit = int64_t{blockIdx.x} * groups + threadIdx.x / lanes; unit < x.count * stretches;
       unit += int64_t{gridDim.x} * groups) {
    const int64_t line = unit / stretches, begin = unit % stretches * (stretch / V * V);
    const int64_t end = begin + stretch / V * V < x.width ? begin + stretch / V * V : x.width;
    const T* in = static_cast<const T*>(x.in[0]) + offset_at(x.outer, x.in_outer[0], line);
    T* out = static_cast<T*>(x.out) + offset_at(x.outer, x.out_outer, line);
    const int64_t t = target_at(o, line);
    const bool here = counts(o, t, x.width) && !(o.mean && n == 0);
    const double factor = static_cast<double>(load(dy + (o.reduce ? 0 : line))) / n;
    const double w = here ? weight_of<T>(o, t) : 0, right = (1 - o.smoothing) * w;
    const C a = static_cast<C>(factor * (right + smooth * sum)), b = static_cast<C>(factor * smooth);
    const C shift = lse[line], rest = lse[x.count + line];
    const auto gradient = [&](C v, int64_t k) -> T {
      if (!here) return T{};
      const C p = exp_of((v - shift) - rest);
      if (k == t)  // from one number: p - 1 where p is nearly 1 must not be rounded twice
        return rounded<T>(factor * ((right + smooth * sum) * static_cast<double>(p) - right - smooth * w));
      T g;
      store(&g, b == 0 ? p * a : p * a - (o.weight ? b * static_cast<C>(weight_of<T>(o, k)) : b));
      return g;
    };
    for (int64_t i = begin + int64_t{lane} * V; i < end; i += int64_t{lanes} * V) {
      const auto from = *reinterpret_cast<const Pack<T, V>*>(in + i);
      Pack<T, V> to;
      TUTTI_UNROLL
      for (int j = 0; j < V; ++j) to.v[j] = gradient(load(&from.v[j]), i + j);
      *reinterpret_cast<Pack<T, V>*>(out + i) = to;
    }
  }
}

struct BinaryCrossEntropy {
  template <class C>
  __device__ C operator()(C x, C t) const {
    const C tail = log1p_of(exp_of(x < 0 ? x : -x));
    return ((x < 0 ? C(0) : x) - x * t) + tail;
  }
};

}  // namespace

template <>
void kernel::cross_entropy_forward::run<Here>(const Lines<1>& x, const CrossEntropy& o, void* out, void* lse,
                                              double* divisor) {
  for_float(x.dtype, [&]<class T>(T) {
    const Buffer<double> losses(x.count);
    const Fold lines{x.in[0], nullptr, x.dtype, x.dtype, x.outer,      x.in_outer[0], {}, {x.width},
                     {x.in_stride[0]}, x.count, x.width};
    const cuda::Check check = cuda::begin_check("cross_entropy", "target", x.width);
    const auto run = [&]<bool smooth>(std::bool_constant<smooth>) {
      fold_all<T>(lines, LineLoss<T, smooth>{o, check, static_cast<compute_t<T>*>(lse), losses.data(),
                                             o.reduce ? nullptr : static_cast<T*>(out)});
    };
    if (o.smoothing > 0)
      run(std::true_type{});
    else
      run(std::false_type{});
    fold_all<double>(all_of(losses.data(), x.count), TotalLoss<T>{{}, o, x.width, static_cast<T*>(out), divisor});
    if (x.count) cuda::end_check();
  });
}

template <>
void kernel::cross_entropy_backward::run<Here>(const Lines<1>& x, const CrossEntropy& o, const void* lse,
                                               const double* divisor, const void* dy) {
  if (x.count == 0) return;
  for_float(x.dtype, [&]<class T>(T) {
    constexpr int V = static_cast<int>(16 / sizeof(T));
    const Buffer<double> all(1);
    const bool sum = o.smoothing > 0 && o.weight;
    if (sum) fold_all<T>(all_of(o.weight, x.width), TotalWeight{{}, all.data()});
    const auto run = [&]<int width>(std::integral_constant<int, width>) {
      constexpr int block = 256;
      const int64_t packs = x.width / width, stretches = (packs + 8 * block - 1) / (8 * block);
      const int lanes = packs > 256 ? block : fold_power(packs / 4, 32);
      start(cross_entropy_backward_kernel<T, width>, blocks_for(x.count * stretches, block / lanes), block, 0, x, o,
            static_cast<const compute_t<T>*>(lse), divisor, static_cast<const T*>(dy), sum ? all.data() : nullptr,
            lanes, stretches);
    };
    const auto whole = [&](const void* p, const Dims& strides) {
      if (reinterpret_cast<uintptr_t>(p) % 16 != 0) return false;
      for (int64_t s : strides)
        if (s % V != 0) return false;
      return true;
    };
    if (x.width % V == 0 && whole(x.in[0], x.in_outer[0]) && whole(x.out, x.out_outer))
      run(std::integral_constant<int, V>{});
    else
      run(std::integral_constant<int, 1>{});
  });
}

template <>
void kernel::bce_with_logits::run<Here>(const Elements<2>& e) {
  for_float(e.out_dtype, [&]<class T>(T) { elementwise<T, T, T>(e, BinaryCrossEntropy{}); });
}

}  // namespace tutti
