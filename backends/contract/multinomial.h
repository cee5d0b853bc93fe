// The kernel of ops/multinomial.h.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/core/generator.h"

namespace tutti::kernel {

/// For each of `lines` lines of `width` >= 1 running sums of weights (contiguous, the last above 0), `samples` draws:
/// draw i of all is the first position whose sum exceeds u times the last, u the uniform number of words 2i and 2i + 1.
struct multinomial : Kernel<multinomial, Gap::none, /*per_isa=*/false> {
  template <class Target>
  static void run(const double* sums, int64_t lines, int64_t width, int64_t samples, DrawKey key, int64_t* out);
};

}  // namespace tutti::kernel
