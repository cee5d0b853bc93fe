// For backends/cuda only: ranges for profilers.
#pragma once

namespace tutti::cuda {

// Backend::open_range, close_range.
void open_range(const char* name);
void close_range();

}  // namespace tutti::cuda
