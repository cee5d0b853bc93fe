// The gradient graph: one Node per op. Edges lead to the nodes of the op's inputs, as (node, output) pairs; leaves are
// held weakly, so that a leaf's gradient may itself have a graph that reaches the leaf without making a cycle.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tutti/autograd/recipe.h"

#pragma GCC visibility push(default)
namespace tutti {

using Grads = std::vector<Tensor>;  ///< one per input (or output); an undefined Tensor means "none"
using Hook = std::function<Tensor(const Tensor&)>;

struct Edge {
  std::shared_ptr<Node> node;  // an op's node; owns
  std::weak_ptr<Node> leaf;    // or a leaf's
  Dims shape;                  // the input's shape: the engine sums a gradient to it (the one place that un-broadcasts)
  DType dtype = DType::float32;
  Device device;
  uint32_t output = 0;  // which output of that node the input was
  Edge() = default;
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;
  ~Edge();  // frees a chain of any length without recursion
  std::shared_ptr<Node> target() const { return node ? node : leaf.lock(); }
};

class Saved;

struct Node : std::enable_shared_from_this<Node> {
  enum class Kind : uint8_t { op, leaf, recompute };
  explicit Node(const char* op, Kind kind = Kind::op);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  /// From the gradients of the outputs (undefined where nothing came) to those of the inputs.
  virtual Grads backward(Saved& saved, const Grads& dy) = 0;
  /// Kind::recompute instead: the output once more, with the graph that leads to it (checkpoint.cpp).
  virtual Tensor recompute(Saved& saved);
  bool is_leaf() const { return kind == Kind::leaf; }
  /// Frees what was saved, but for what others' recipes need.
  void release() noexcept;

  const char* op;
  uint64_t sequence;  // creation order: a node's consumers always have larger numbers
  Edge* edges = nullptr;
  SavedTensor* saved = nullptr;  // the recipe's, if there is one
  int edge_count = 0, saved_count = 0, output_count = 1;
  Kind kind;
  bool released = false;                                     // backward has run and freed what was saved
  std::shared_ptr<Recipe> recipe;                            // of the output, if it is cheap to make again
  std::unique_ptr<std::vector<std::pair<int, Hook>>> hooks;  // (output, hook)
  std::unique_ptr<const std::string> where;                  // the module's path: for anomaly_mode, profilers
};

struct Leaf final : Node {
  explicit Leaf(const TensorImpl& t)
      : Node("leaf", Kind::leaf), shape(t.shape), dtype(t.dtype), device(t.storage->device) {}
  Grads backward(Saved&, const Grads&) override { return {}; }
  Dims shape;  // the tensor's: what its gradient must have
  DType dtype;
  Device device;
  std::mutex mutex;  // two threads may run backward into one leaf
  Tensor grad;       // of the leaf's dtype: what one backward() brings is summed in float32, several are added in it
};

/// What a gradient function gets: the saved tensors, re-attached to the graph while create_graph records, and which
/// inputs want a gradient at all.
class Saved {
 public:
  /// `plan` is the engine's, when only a part of the graph is walked; `retain`: backward will run again.
  explicit Saved(Node& node, const class Plan* plan = nullptr, bool retain = true)
      : node_(node), plan_(plan), retain_(retain) {}
  /// AutogradError if the tensor was changed in place since, or if it is an intermediate while create_graph records
  /// (its dependence on the inputs would be lost; see constant()). Integers are always constant.
  Tensor operator[](int i) const;
  /// The same for a saved intermediate whose dependence on the inputs does not matter to the second derivative.
  Tensor constant(int i) const;
  /// operator[] for the last time: where the graph is not retained, the tensor is freed as soon as the caller drops it.
  Tensor last(int i);
  /// Whether anyone waits for the gradient of this input; if not, it may be left undefined.
  bool wants(int input) const;
  int input_count() const { return node_.edge_count; }
  const Dims& input_shape(int input) const { return node_.edges[input].shape; }

 private:
  Tensor get(int i, bool allow_intermediate) const;
  Node& node_;
  const Plan* plan_;
  bool retain_;
};

/// Whether operations record gradients on this thread.
bool grad_mode();
class GradMode {
 public:
  explicit GradMode(bool on);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};
/// `const no_grad off;`: nothing in this scope records gradients.
struct no_grad : GradMode {
  no_grad() : GradMode(false) {}
};
/// Records again inside a no_grad scope.
struct enable_grad : GradMode {
  enable_grad() : GradMode(true) {}
};

/// d(sum of outputs · grad_outputs)/d(inputs), without touching anyone's grad(). Inputs may be leaves or intermediates;
/// one that the outputs do not depend on gives an undefined Tensor. Without grad_outputs every output must be a scalar.
/// Only the part of the graph between outputs and inputs is walked (and freed): beyond an intermediate it stays usable.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, BackwardOptions options = {});

/// For Module::to and the like: leaf t gets the memory, dtype and device of `value`, which has its shape; everyone who
/// holds t sees it. A gradient that t holds is dropped, since it may not fit any more.
void replace(const Tensor& t, const Tensor& value);

namespace detail {
/// The number that the next node will get: nodes of a call are those from here on.
uint64_t next_sequence();
}  // namespace detail

// Defined in ops/: the engine adds gradients and un-broadcasts them with differentiable functions (for create_graph).
Tensor add(const Tensor& a, const Tensor& b);
Tensor sum_to(const Tensor& x, const Dims& shape);
Tensor clone(const Tensor& x);
Tensor to(const Tensor& x, DType dtype);
/// a += b; a must be exclusively held by the caller.
void accumulate(const Output& a, const Tensor& b);
Tensor ones_like(const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
