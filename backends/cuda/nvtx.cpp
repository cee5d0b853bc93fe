// NVTX is headers alone, which find a tool when the first range is opened.
#include "tutti/backends/cuda/nvtx.h"

#include <nvtx3/nvToolsExt.h>

namespace tutti::cuda {

void open_range(const char* name) { nvtxRangePushA(name); }
void close_range() { nvtxRangePop(); }

}  // namespace tutti::cuda
