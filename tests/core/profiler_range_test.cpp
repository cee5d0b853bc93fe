#include "tutti/core/profiler_range.h"

#include "support/catch.h"
#include "tutti/config.h"
#include "tutti/core/cuda_stream.h"

using namespace tutti;

TEST_CASE("profiler ranges: off at first, and refused by a build that has none") {
  CHECK_FALSE(profiler_ranges());
  if constexpr (config::cuda) return;  // tests/cuda/library has what they do
  CHECK_THROWS_WITH(set_profiler_ranges(true),
                    Contains("profiler ranges: they are NVTX's") && Contains("-DTUTTI_CUDA=ON"));
  CHECK_NOTHROW(set_profiler_ranges(false));
  CHECK_FALSE(profiler_ranges());
}

TEST_CASE("cuda stream: the CPU has none") {
  CHECK_THROWS_WITH(cuda_stream(cpu), "cuda_stream: device cpu has no streams");
  CHECK_THROWS_WITH(CudaStreamScope(cpu, nullptr), "CudaStreamScope: device cpu has no streams");
}
