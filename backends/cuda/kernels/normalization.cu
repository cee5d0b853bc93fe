// Layer and RMS normalisation, forward.
#include "tutti/backends/contract/normalization.h"

#include "tutti/backends/cuda/normal_lines.h"

namespace tutti {
namespace {

/// Squares that leave their range, or vanish where eps does not make up for it.
template <class C>
__device__ bool out_of_range(C mean_square) {
  return !(mean_square < static_cast<C>(INFINITY) && mean_square > C(sizeof(C) == 4 ? 0x1p-122 : 0x1p-1018));
}

template <class C>
struct Moments {
  C mean, mean_square;  // of the deviations
};

/// Two passes over a line that `source` reads; the second is exact where the first would cancel.
template <int V, class C, class Source>
__device__ Moments<C> moments_of(const Source& source, bool center, C first) {
  const auto count = static_cast<C>(source.width);
  C mean = 0, squares = 0;
  if (center) {
    source.each_chunk([&](const auto& part, const auto& v) {
      C sum = 0;
      part.each_pack([&](int k, int64_t) {
        TUTTI_UNROLL
        for (int j = 0; j < V; ++j) sum += v[k * V + j] - first;
      });
      mean += sum;
    });
    mean = source.team.sum(mean) / count;
  }
  source.each_chunk([&](const auto& part, const auto& v) {
    C sum = 0;
    part.each_pack([&](int k, int64_t) {
      TUTTI_UNROLL
      for (int j = 0; j < V; ++j) {
        const C d = (v[k * V + j] - first) - mean;
        sum = std::fma(d, d, sum);
      }
    });
    squares += sum;
  });
  return {mean, source.team.sum(squares) / count};
}

template <class T, class S>
__global__ void __launch_bounds__(most_line_threads, 1)
    forward_kernel(Lines<1> x, const T* weight, const T* bias, compute_t<T>* statistics, double eps, bool center,
                   Team team) {
  using C = compute_t<T>;
  for (int64_t number = int64_t{blockIdx.x} * team.per_block(); number < x.count;
       number += int64_t{gridDim.x} * team.per_block()) {
    const int64_t line = number + team.number();
    const bool here = line < x.count;
    LineOf<T, S> source(team, here ? line_in<T>(x, 0, line) : nullptr, x.width);
    C first = center ? source.first() : C(0);
    Moments<C> m = moments_of<S::V>(source, center, first);
    C scale = 1 / std::sqrt(m.mean_square + static_cast<C>(eps)), sign = 1;
    // The same of the line times a power of two, which brings it near 1. All threads go along, if one must.
    if (team.any(here && out_of_range(m.mean_square + static_cast<C>(eps)))) {
      const bool far = out_of_range(m.mean_square + static_cast<C>(eps));
      const C power = far ? power_of(source.largest()) : C(1);
      if (team.any(power != 1)) {
        source.multiply(power);
        first = center ? source.first() : C(0);
        const Moments<C> near = moments_of<S::V>(source, center, first);
        if (power != 1) {
          m = near;
          scale = static_cast<C>(1 / std::sqrt(static_cast<double>(m.mean_square) +
                                               eps * static_cast<double>(power) * static_cast<double>(power)));
          sign = -1;
        }
      }
    }
    if (here && team.rank() == 0) {
      statistics[2 * line] = m.mean;
      statistics[2 * line + 1] = sign * scale;
    }
    T* const out = here ? line_out<T>(x, line) : nullptr;
    if (!out) continue;
    source.each_chunk([&](const auto& part, const auto& v) {
      part.each_pack([&](int k, int64_t at) {
        C w[S::V] = {}, b[S::V] = {}, y[S::V];
        if (weight) load_pack<S::V>(weight + at, w);
        if (bias) load_pack<S::V>(bias + at, b);
        TUTTI_UNROLL
        for (int j = 0; j < S::V; ++j) {
          const C normal = ((v[k * S::V + j] - first) - m.mean) * scale;
          y[j] = weight ? bias ? std::fma(normal, w[j], b[j]) : normal * w[j] : bias ? normal + b[j] : normal;
        }
        store_pack<S::V>(out + at, y);
      });
    });
  }
}

}  // namespace

template <>
void kernel::normalize_forward::run<Here>(const Lines<1>& x, const void* weight, const void* bias, void* statistics,
                                          double eps, bool center, bool /*known*/) {  // one pass over memory either way
  if (x.width == 0 || x.count == 0) return;
  for_float(x.dtype, [&]<class T>(T) {
    constexpr int V = 16 / sizeof(T);
    const bool packs = packs_of_lines<V>(x) && aligned<V, T>(weight) && aligned<V, T>(bias);
    with_shape<T>(x.width, packs, [&]<class S>(S, int team, int block) {
      start(forward_kernel<T, S>, blocks_for(x.count, block / team), block, 0, x, static_cast<const T*>(weight),
            static_cast<const T*>(bias), static_cast<compute_t<T>*>(statistics), eps, center, Team{team});
    });
  });
}

}  // namespace tutti
