// Compiled once for every instruction set, as the library's kernels are.
#include "bench/peak_kernels.h"

#include "tutti/backends/cpu/simd.h"

using namespace tutti;

namespace {

using B = batch<float>;
constexpr int chains = 12;  // more than latency times units of any CPU; with their operands, AVX2's 16 registers

/// Keeps the compiler from leaving out what nobody uses.
TUTTI_INLINE void use(float x) { asm volatile("" : : "x"(x)); }
TUTTI_INLINE void changed() { asm volatile("" : : : "memory"); }

/// f at whole registers of [begin, end), then g at the numbers that remain; four at a time, for more in flight.
template <class F, class G>
TUTTI_INLINE void walk(int64_t begin, int64_t end, F f, G g) {
  constexpr int64_t step = lanes<float>;
  int64_t i = begin;
  for (; i + 4 * step <= end; i += 4 * step) unroll<4>([&](auto k) { f(i + k * step, k); });
  for (; i < end; ++i) g(i);
}

}  // namespace

template <>
double bench::peak_fma::run<Here>(int64_t threads, int64_t times) {
  parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      B x[chains];
      for (int j = 0; j < chains; ++j) x[j] = B(static_cast<float>(j));
      const B scale(0.999F), shift(0.001F);
      for (int64_t i = 0; i < times; ++i) unroll<chains>([&](auto j) { x[j] = multiply_add(x[j], scale, shift); });
      for (int j = 0; j < chains; ++j) use(sum_lanes(x[j]));
    }
  });
  return 2.0 * chains * static_cast<double>(lanes<float> * times * threads);
}

template <>
void bench::peak_traffic::run<Here>(Traffic what, int64_t threads, int64_t times, int64_t n, float* a, const float* b,
                                    const float* c) {
  const int64_t grain = (n + threads - 1) / threads;
  const B s(3.0F);
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = 0; t < times; ++t) {
      changed();
      if (what == Traffic::copy) {
        walk(
            begin, end, [&](int64_t i, auto) { vstore(a + i, vload(b + i)); }, [&](int64_t i) { a[i] = b[i]; });
      } else if (what == Traffic::triad) {
        walk(
            begin, end, [&](int64_t i, auto) { vstore(a + i, multiply_add(vload(c + i), s, vload(b + i))); },
            [&](int64_t i) { a[i] = b[i] + 3.0F * c[i]; });
      } else {
        B sums[4] = {B(0.0F), B(0.0F), B(0.0F), B(0.0F)};
        float rest = 0;
        walk(
            begin, end, [&](int64_t i, auto k) { sums[k] = sums[k] + vload(b + i); }, [&](int64_t i) { rest += b[i]; });
        use(rest + sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])));
      }
    }
  });
}
