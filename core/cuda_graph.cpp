#include "tutti/core/cuda_graph.h"

#include "tutti/core/detail/private_pool.h"
#include "tutti/core/detail/recorded_draws.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

thread_local Recording* recording = nullptr;
thread_local bool in_step = false;  // of a graph, warm-up too

struct InStep {
  InStep() {
    if (in_step) throw DeviceError("CudaGraph: a graph's step cannot make another graph");
    in_step = true;
  }
  ~InStep() {
    in_step = false;
    recording = nullptr;
  }
};

}  // namespace

Recording* Recording::current() { return recording; }

CudaGraph::CudaGraph(const std::function<void()>& step, Device device, CudaGraphOptions options) : device_(device) {
  if (options.warm_up < 1)
    throw ValueError(message("CudaGraph: warm_up is ", options.warm_up, "; it must be at least 1"));
  const Recorder* recorder = backend(device).recorder;
  if (!recorder) throw DeviceError(message("CudaGraph: device ", device, " cannot record work"));
  draws_ = std::make_unique<RecordedDraws>(device);  // not in the pool: no part of the step may write there
  pool_ = std::make_unique<memory::PrivatePool>(device);
  const memory::PrivatePool::Scope scope(pool_.get());
  const InStep mark;
  for (int i = 0; i < options.warm_up; ++i) step();
  recorder->begin(device.index);
  Recording here(*this);
  recording = &here;
  try {
    step();
    work_ = recorder->end(device.index);
  } catch (...) {
    recorder->discard(device.index);
    throw;
  }
}

CudaGraph::~CudaGraph() {
  if (work_) backend(device_).recorder->drop(device_.index, work_);
}

void CudaGraph::replay() {
  if (in_step) throw DeviceError("CudaGraph: a graph's step cannot replay a graph");
  draws_->go_on();
  for (const auto& f : before_replay_) f();
  backend(device_).recorder->replay(device_.index, work_);
}

}  // namespace tutti
