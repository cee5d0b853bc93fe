// Limits on gradients before a step. What one kernel finds the next one reads on the device; the host waits for
// nothing.
#include "tutti/backends/contract/optimizer.h"
#include "tutti/backends/cuda/collective.h"
#include "tutti/backends/cuda/parameter_slots.h"

namespace tutti {
namespace {

/// Of a piece. Squares are summed in float64, whose range holds those of every other type.
struct Measured {
  double square_sum;
  double largest;  // |gradient|; NaN if there is a NaN
};

/// `scaled`: the second pass, with its factor; it has nothing to do where that is 0.
template <class T>
__global__ void measure_kernel(ParameterSlots all, int64_t pieces, const GradientLimit* scaled, Measured* measured) {
  const double scale = scaled ? scaled->scale : 1;
  if (scale == 0) return;
  for (int64_t piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
    double sum = 0;
    compute_t<T> largest = 0;
    for_parts<T>(all, piece, [&](const ParameterSlot& s, int64_t first, int64_t last) {
      const T* g = static_cast<const T*>(s.gradient);
      by_packs<pack_size<T>>(first, last, fits<T, pack_size<T>>(g), [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        const auto x = load_pack<V>(g + i);
        TUTTI_UNROLL
        for (int j = 0; j < V; ++j) {
          const double wide = scale * static_cast<double>(x.v[j]);
          sum = fma(wide, wide, sum);
          largest = Larger{}(x.v[j] < 0 ? -x.v[j] : x.v[j], largest);
        }
      });
    });
    sum = block_sum(sum);
    largest = block_max(largest);
    if (threadIdx.x == 0) measured[piece] = {sum, static_cast<double>(largest)};
  }
}

constexpr int joining_threads = 1024;

/// All pieces as one, for every thread of the block: always added in the same order.
__device__ Measured joined(const Measured* measured, int64_t count) {
  double sum = 0, largest = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    sum += measured[i].square_sum;
    largest = Larger{}(measured[i].largest, largest);
  }
  sum = block_sum(sum);
  return {sum, block_max(largest)};
}

__device__ void refuse(GradientLimit* limit, GradientRefusal* refusal, unsigned long long call) {
  limit->refused = true;
  if (refusal->call == 0) *refusal = {call, ~0ull, ~0ull};
}

__device__ void set_factors(GradientLimit* limit, double norm, double scale, double max_norm) {
  limit->norm = norm / scale;
  if (limit->norm <= max_norm) return;
  const double factor = max_norm / norm * scale, half = sqrt(factor);
  const bool small = factor < 1e-30;
  limit->factor[0] = small ? half : factor;
  limit->factor[1] = small ? half : 1;
}

/// One block. `wide`: there is float64 among the gradients, whose squares may leave its range: then a second pass is to
/// multiply by a power of two near 1 / largest first.
__global__ void __launch_bounds__(joining_threads)
    norm_kernel(const Measured* measured, int64_t count, double max_norm, bool wide, GradientLimit* limit,
                GradientRefusal* refusal, unsigned long long call) {
  const Measured all = joined(measured, count);
  if (threadIdx.x != 0) return;
  *limit = {0, {1, 1}, 0, false};
  const double norm = sqrt(all.square_sum);
  if (!(all.largest < INFINITY)) {
    limit->norm = all.largest;
    return refuse(limit, refusal, call);
  }
  if (!wide || all.largest == 0 || (norm > 1e-140 && norm < INFINITY)) return set_factors(limit, norm, 1, max_norm);
  int exponent = 0;
  (void)frexp(all.largest, &exponent);
  limit->scale = ldexp(1.0, exponent > 1000 ? -1000 : exponent < -1000 ? 1000 : -exponent);
}
__global__ void __launch_bounds__(joining_threads)
    scaled_norm_kernel(const Measured* measured, int64_t count, double max_norm, GradientLimit* limit) {
  if (limit->scale == 0) return;
  const Measured all = joined(measured, count);
  if (threadIdx.x == 0) set_factors(limit, sqrt(all.square_sum), limit->scale, max_norm);
}

__global__ void __launch_bounds__(joining_threads)
    nan_kernel(const Measured* measured, int64_t count, GradientLimit* limit, GradientRefusal* refusal,
               unsigned long long call) {
  const Measured all = joined(measured, count);
  if (threadIdx.x != 0) return;
  *limit = {0, {1, 1}, 0, false};
  if (all.largest != all.largest) refuse(limit, refusal, call);
}

/// The first elements of this piece that are not finite, if this call is the one to be reported.
template <class T>
__device__ void note_refused(const ParameterSlots& all, int64_t piece, GradientRefusal* refusal,
                             unsigned long long call) {
  if (refusal->call != call) return;
  for_parts<T>(all, piece, [&](const ParameterSlot& s, int64_t first, int64_t last) {
    for (int64_t i = first + threadIdx.x; i < last; i += slot_threads) {
      const auto x = load(static_cast<const T*>(s.gradient) + i);
      const auto at = static_cast<unsigned long long>(s.begin + i);
      if (x != x)
        atomicMin(&refusal->nan, at);
      else if (x - x != 0)
        atomicMin(&refusal->infinite, at);
    }
  });
}

/// Every gradient becomes change(gradient), unless the pass before has refused them.
template <class T, class F>
__device__ void change_all(const ParameterSlots& all, int64_t pieces, const GradientLimit* limit,
                           GradientRefusal* refusal, unsigned long long call, const F& change) {
  const bool refused = limit->refused;
  for (int64_t piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
    if (refused) {
      note_refused<T>(all, piece, refusal, call);
      continue;
    }
    for_parts<T>(all, piece, [&](const ParameterSlot& s, int64_t first, int64_t last) {
      T* g = static_cast<T*>(s.gradient);
      by_packs<pack_size<T>>(first, last, fits<T, pack_size<T>>(g), [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        auto x = load_pack<V>(g + i);
        TUTTI_UNROLL
        for (int j = 0; j < V; ++j) x.v[j] = change(x.v[j]);
        store_pack<V>(g + i, x);
      });
    });
  }
}

template <class T>
__global__ void scale_kernel(ParameterSlots all, int64_t pieces, const GradientLimit* limit, GradientRefusal* refusal,
                             unsigned long long call) {
  using C = compute_t<T>;
  const C a = static_cast<C>(limit->factor[0]), b = static_cast<C>(limit->factor[1]);
  if (limit->factor[0] == 1 && !limit->refused) return;
  change_all<T>(all, pieces, limit, refusal, call, [&](C x) { return x * a * b; });
}

template <class T>
__global__ void clamp_kernel(ParameterSlots all, int64_t pieces, double most, const GradientLimit* limit,
                             GradientRefusal* refusal, unsigned long long call) {
  using C = compute_t<T>;
  const C high = static_cast<C>(most);
  change_all<T>(all, pieces, limit, refusal, call, [&](C x) { return x < -high ? -high : x > high ? high : x; });
}

/// Launches measure_kernel for each dtype; their results stand one after another.
int64_t measure(const ParameterSlots& slots, const GradientLimit* scaled, Measured* measured) {
  const int64_t pieces = slot_pieces(slots);
  int64_t count = 0;
  for_dtypes(slots, [&]<class T>(T) {
    if (pieces > 0)
      start(measure_kernel<T>, blocks_for(pieces), slot_threads, 0, slots, pieces, scaled, measured + count);
    count += pieces;
  });
  return count;
}
int64_t most_measured(const ParameterSlots& slots) { return 4 * slot_pieces(slots); }

}  // namespace

template <>
void kernel::gradient_norm::run<Here>(ParameterSlots slots, double max_norm, GradientLimit* limit,
                                      GradientRefusal* refusal, unsigned long long call) {
  const Buffer<Measured> measured(most_measured(slots));
  const int64_t count = measure(slots, nullptr, measured.data());
  const bool wide = slots.dtypes >> static_cast<int>(DType::float64) & 1u;
  const int block = threads_for(count, joining_threads);
  start(norm_kernel, dim3(1), block, 0, measured.data(), count, max_norm, wide, limit, refusal, call);
  if (!wide) return;
  measure(slots, limit, measured.data());
  start(scaled_norm_kernel, dim3(1), block, 0, measured.data(), count, max_norm, limit);
}

template <>
void kernel::gradient_has_nan::run<Here>(ParameterSlots slots, GradientLimit* limit, GradientRefusal* refusal,
                                         unsigned long long call) {
  const Buffer<Measured> measured(most_measured(slots));
  const int64_t count = measure(slots, nullptr, measured.data());
  start(nan_kernel, dim3(1), threads_for(count, joining_threads), 0, measured.data(), count, limit, refusal, call);
}

template <>
void kernel::gradient_scale::run<Here>(ParameterSlots slots, const GradientLimit* limit, GradientRefusal* refusal,
                                       unsigned long long call) {
  const int64_t pieces = slot_pieces(slots);
  if (pieces == 0) return;
  for_dtypes(slots, [&]<class T>(T) {
    start(scale_kernel<T>, blocks_for(pieces), slot_threads, 0, slots, pieces, limit, refusal, call);
  });
}

template <>
void kernel::gradient_clamp::run<Here>(ParameterSlots slots, double most, const GradientLimit* limit,
                                       GradientRefusal* refusal, unsigned long long call) {
  const int64_t pieces = slot_pieces(slots);
  if (pieces == 0) return;
  for_dtypes(slots, [&]<class T>(T) {
    start(clamp_kernel<T>, blocks_for(pieces), slot_threads, 0, slots, pieces, most, limit, refusal, call);
  });
}

}  // namespace tutti
