// Ranges for profilers. NVTX is headers alone, which find a tool when the first range is opened.
#include <nvtx3/nvToolsExt.h>

#include "tutti/backends/cuda/select.h"

namespace tutti::cuda {

void open_range(const char* name) { nvtxRangePushA(name); }
void close_range() { nvtxRangePop(); }

}  // namespace tutti::cuda
