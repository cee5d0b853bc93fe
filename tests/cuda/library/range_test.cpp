// Ranges for profilers, as a tool that is linked in sees them.
#define NVTX_NO_IMPL  // the types alone: the library opens the ranges
#include <nvtx3/nvToolsExt.h>

#include "support/catch.h"
#include "tutti/tutti.h"

using namespace tutti;

namespace {

const Device gpu = Device::cuda();
std::vector<std::string> seen;  // names as they open, ")" where one closes

int NVTX_API open(const char* name) {
  seen.emplace_back(name);
  return 0;
}
int NVTX_API close() {
  seen.emplace_back(")");
  return 0;
}

int NVTX_API attach(NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(open);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(close);
  return 1;
}

}  // namespace

// NVTX looks for it, as a weak symbol, when the first range is opened.
extern "C" {
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = attach;
}

TEST_CASE("cuda ranges: modules, gradients and the optimizer's step by their names, nothing while they are off") {
  nn::Sequential model(nn::Linear({.in = 3, .out = 4}), nn::ReLU(), nn::Linear({.in = 4, .out = 1}));
  model.to(gpu);
  optim::AdamW optimizer(model.parameters());
  const auto step = [&] {
    optimizer.zero_grad();
    sum(model(ones({2, 3}, {.device = gpu}))).backward();
    optim::clip_grad_norm(model.parameters(), 1);
    optimizer.step();
  };
  seen.clear();
  step();
  CHECK(seen.empty());
  set_profiler_ranges(true);
  {
    const ProfilerRange mine("a step of mine");
    step();
  }
  set_profiler_ranges(false);
  step();
  std::string all;
  for (const std::string& s : seen) all += s == ")" ? "); " : s + " (";
  CHECK(all ==
        "a step of mine ("
        "tutti::nn::Sequential (0 (); 1 (); 2 (); ); "
        "sum backward (); 2: linear backward (); 1: relu backward (); 0: linear backward (); "
        "clip_grad_norm (); AdamW.step (); ); ");
}
