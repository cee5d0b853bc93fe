// Draws from running sums of weights.
#include "tutti/backends/contract/multinomial.h"

#include <algorithm>

#include "tutti/core/parallel.h"
#include "tutti/core/philox.h"

namespace tutti::kernel {

template <>
void multinomial::run<target::any_cpu>(const double* sums, int64_t lines, int64_t width, int64_t samples, DrawKey key,
                                       int64_t* out) {
  const RandomKey now = key.now();
  parallel_for(lines * samples, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double *first = sums + i / samples * width, *last = first + width;
      const Philox4 words = philox(now, static_cast<uint64_t>(i / 2));
      const double u = i % 2 ? uniform01(words.v[2], words.v[3]) : uniform01(words.v[0], words.v[1]), total = last[-1];
      const double* at = std::upper_bound(first, last, u * total);
      if (at == last) at = std::lower_bound(first, last, total);  // u * total was rounded up
      out[i] = at - first;
    }
  });
}

}  // namespace tutti::kernel
