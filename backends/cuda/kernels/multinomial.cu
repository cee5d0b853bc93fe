// Draws from running sums of weights.
#include "tutti/backends/contract/multinomial.h"

#include "tutti/backends/cuda/device.h"
#include "tutti/core/philox.h"

namespace tutti {
namespace {

/// The first of n ascending numbers that is above `value` (or, not `above`, at least it); n if there is none.
__device__ int64_t first_beyond(const double* x, int64_t n, double value, bool above) {
  int64_t low = 0;
  for (int64_t high = n; low < high;) {
    const int64_t middle = (low + high) / 2;
    if (above ? x[middle] > value : x[middle] >= value)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

__global__ void multinomial_kernel(const double* sums, int64_t lines, int64_t width, int64_t samples, DrawKey draw,
                                   int64_t* out) {
  const RandomKey key = draw.now();
  for (int64_t i = thread_index(); i < lines * samples; i += thread_count()) {
    const double* line = sums + i / samples * width;
    const Philox4 words = philox(key, static_cast<uint64_t>(i / 2));
    const double u = i % 2 ? uniform01(words.v[2], words.v[3]) : uniform01(words.v[0], words.v[1]);
    const double total = line[width - 1];
    int64_t at = first_beyond(line, width, u * total, true);
    if (at == width) at = first_beyond(line, width, total, false);  // u * total was rounded up
    out[i] = at;
  }
}

}  // namespace

template <>
void kernel::multinomial::run<Here>(const double* sums, int64_t lines, int64_t width, int64_t samples, DrawKey key,
                                    int64_t* out) {
  const int64_t n = lines * samples;
  if (n == 0) return;
  const int block = threads_for(n);
  start(multinomial_kernel, blocks_for(n, block), block, 0, sums, lines, width, samples, key, out);
}

}  // namespace tutti
