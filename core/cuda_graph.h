// CudaGraph: a training step whose launches are recorded once and then repeated by one call of the host.
#pragma once
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tutti/core/backend.h"

#pragma GCC visibility push(default)
namespace tutti {

namespace memory {
class PrivatePool;
}
class RecordedDraws;

struct CudaGraphOptions {
  int warm_up = 2;  ///< real runs of the step before it is recorded: memory, optimizer state, plans of products
};

/// Where a step is many small kernels, launching them costs more than running them; one launch of all does not.
///
///     Tensor images = zeros({64, 784}, {.device = gpu}), labels = ..., loss;
///     CudaGraph step([&] { loss = cross_entropy(model(images), labels);
///                          optimizer.zero_grad(); loss.backward(); optimizer.step(); }, gpu);
///     for (auto& [x, y] : loader) { copy_(images, x); copy_(labels, y); step.replay(); }
///
/// The shapes are those of the recording, and whatever the step does on the host is done then and not again, but for
/// optimizers, whose rates and steps go on, and generators: each replay draws (dropout, say) what the step itself would
/// draw then, and moves them on as it would. The step must read its inputs from the same tensors each time; all that it
/// uses (model, optimizer, inputs, generators) must outlive the graph and stay where it is. Its results (loss,
/// gradients) are tensors that each replay writes anew. A gradient that the step did not compute may be computed after
/// it, of the last replay (with the masks that its dropout drew), even when the graph is gone.
///
/// DeviceError if the step waits for the device (item(), printing, copies to the host), draws random numbers on the
/// host or the CPU, seeds a generator, or takes more memory than in its warm-up. Then nothing is recorded, and the
/// warm-up has happened.
class CudaGraph {
 public:
  CudaGraph(const std::function<void()>& step, Device device, CudaGraphOptions options = {});
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  /// Runs the recorded step again. The host does not wait.
  void replay();

 private:
  Device device_;
  std::unique_ptr<memory::PrivatePool> pool_;  // what the step allocates, reserved for it
  std::unique_ptr<RecordedDraws> draws_;
  std::vector<std::function<void()>> before_replay_;
  std::vector<std::shared_ptr<void>> kept_;
  void* work_ = nullptr;
  friend class Recording;
};

/// For what runs in a step: whether it is being recorded by this thread, and what to do about it.
class Recording {
 public:
  /// Null if nothing is being recorded.
  static Recording* current();
  /// Runs before each replay: what changes from step to step goes to the device here.
  void before_replay(std::function<void()> f) { graph_.before_replay_.push_back(std::move(f)); }
  /// Lives as long as the graph.
  void keep(std::shared_ptr<void> what) { graph_.kept_.push_back(std::move(what)); }
  /// What generators do in it.
  RecordedDraws& draws() { return *graph_.draws_; }

 private:
  friend class CudaGraph;
  explicit Recording(CudaGraph& graph) : graph_(graph) {}
  CudaGraph& graph_;
};

}  // namespace tutti
#pragma GCC visibility pop
