// The walk: nodes are taken by falling sequence number. Consumers are always created after what they consume, so that
// is a topological order: no recursion, no counting pass.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "tutti/autograd/detail/mode.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/core/profiler_range.h"

namespace tutti {

/// What grad() walks: the nodes that lead to one of its inputs. No other is run, freed or written. They are known by
/// number: a checkpoint's second graph is freed on the way, and the next one's nodes may lie at the same addresses.
class Plan {
 public:
  struct Place {
    bool input = false;   // is one of grad()'s inputs
    bool passes = false;  // has an edge to a place
  };

  Plan(const std::vector<Tensor>& inputs, std::vector<Tensor>& results) : inputs_(inputs), results_(results) {
    for (const Tensor& x : inputs) {
      places_[x.impl()->node->sequence].input = true;
      lowest_ = std::min(lowest_, x.impl()->node->sequence);
    }
  }
  const Place* find(const Node* node) const {
    if (!node) return nullptr;
    const auto at = places_.find(node->sequence);
    return at == places_.end() ? nullptr : &at->second;
  }
  /// Adds the places that can be reached from a node.
  void extend(const Node* from) {
    std::vector<const Node*> found, stack{from};
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      if (node->sequence < lowest_ || !seen_.insert(node->sequence).second) continue;
      found.push_back(node);
      for (int i = 0; i < node->edge_count; ++i)
        if (const Node* next = node->edges[i].node.get()) stack.push_back(next);
    }
    std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
    for (const Node* node : found) {
      bool passes = node->kind == Node::Kind::recompute;  // nobody knows yet what it reads
      for (int i = 0; i < node->edge_count && !passes; ++i) passes = find(node->edges[i].target().get());
      if (passes) places_[node->sequence].passes = true;
    }
  }
  /// The gradient of an output of a place is complete (or, of a leaf, has grown).
  template <class Add>
  void collect(const Node* node, int output, const Tensor& g, Add add) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].impl()->node.get() == node && static_cast<int>(inputs_[i].impl()->output_index) == output)
        add(results_[i], Tensor(g));
  }

 private:
  const std::vector<Tensor>& inputs_;
  std::vector<Tensor>& results_;
  uint64_t lowest_ = UINT64_MAX;
  std::unordered_map<uint64_t, Place> places_;
  std::unordered_set<uint64_t> seen_;
};

bool Saved::wants(int input) const {
  const Edge& e = node_.edges[input];
  if (!plan_) return e.node || !e.leaf.expired();
  return plan_->find(e.target().get());
}

namespace {

/// slot += g, taking over or writing a buffer only if nobody else holds it.
void add_to(Tensor& slot, Tensor&& g) {
  if (!slot.defined())
    slot = std::move(g);
  else if (!grad_mode() && detail::exclusive(slot))
    accumulate(Access::output(Access::handle(slot)), g);
  else
    slot = add(slot, g);
}

/// Whether a gradient of this shape can be summed to that one.
bool broadcasts(const Dims& to, const Dims& from) {
  const int extra = from.n - to.n;
  if (extra < 0) return false;
  for (int i = 0; i < to.n; ++i)
    if (to[i] != from[i + extra] && to[i] != 1) return false;
  return true;
}

/// What a gradient function returned for an input, as the input's own gradient: summed over broadcast axes.
Tensor fitted(const char* op, int input, const Edge& edge, Tensor g) {
  if (g.dtype() != edge.dtype)
    throw AutogradError(
        message(op, ": its gradient function returned ", g.dtype(), " for input ", input, ", which is ", edge.dtype));
  if (g.device() != edge.device)
    throw AutogradError(message(op, ": its gradient function returned a tensor on ", g.device(), " for input ", input,
                                ", which is on ", edge.device));
  if (g.shape() == edge.shape) return g;
  if (!broadcasts(edge.shape, g.shape()))
    throw AutogradError(message(op, ": its gradient function returned shape ", g.shape(), " for input ", input,
                                " of shape ", edge.shape));
  return sum_to(g, edge.shape);
}

/// The leaf may have changed since the op ran (Module::to): it takes what set_grad would take.
void check_leaf(const char* op, int input, const Leaf& leaf, const Tensor& g) {
  if (g.dtype() == leaf.dtype && g.device() == leaf.device) return;  // its shape, which fitted() gave g, is fixed
  throw AutogradError(message(op, ": the gradient of input ", input, " is ", g.dtype(), " of shape ", g.shape(), " on ",
                              g.device(), ", but the leaf has become ", leaf.dtype, " of shape ", leaf.shape, " on ",
                              leaf.device, " since (a module moved or converted between forward and backward?)"));
}

class Walk {
 public:
  Walk(BackwardOptions options, Plan* plan)
      : mode_(options.create_graph), plan_(plan), keep_(options.retain_graph || options.create_graph) {}

  void deliver(std::shared_ptr<Node> to, int output, Tensor g) {
    if (plan_ && !plan_->find(to.get())) return;
    const bool half = size_of(g.dtype()) == 2;  // waits for the others even at a leaf: the sum is rounded once
    if (to->is_leaf() && !to->hooks && !half) {
      deliver_leaf(static_cast<Leaf&>(*to), std::move(g));
      return;
    }
    Pending& p = pending(to->sequence);
    if (!p.node) {
      p.dy.resize(static_cast<size_t>(to->output_count));
      p.node = std::move(to);
    }
    Tensor& slot = p.dy[static_cast<size_t>(output)];
    if (half && slot.defined()) {
      if (slot.dtype() != DType::float32) {
        p.narrow.emplace_back(static_cast<size_t>(output), slot.dtype());
        slot = tutti::to(slot, DType::float32);
      }
      g = tutti::to(g, DType::float32);
    }
    add_to(slot, std::move(g));
  }

  void run() {
    while (!queue_.empty()) {
      auto first = queue_.extract(queue_.begin());
      Pending& p = first.mapped();
      for (const auto& [output, dtype] : p.narrow) p.dy[output] = to(p.dy[output], dtype);
      p.narrow.clear();
      step(*p.node, p.dy);
      p.dy.clear();
      p.node.reset();
      spare_ = std::move(first);
    }
  }

 private:
  struct Pending {
    std::shared_ptr<Node> node;
    Grads dy;
    std::vector<std::pair<size_t, DType>> narrow;  // outputs of a half type whose sum is kept in float32, and the type
  };
  using Queue = std::map<uint64_t, Pending, std::greater<>>;

  /// The entry of this number; a new one takes the memory of the last that was done.
  Pending& pending(uint64_t sequence) {
    const auto at = queue_.lower_bound(sequence);
    if (at != queue_.end() && at->first == sequence) return at->second;
    if (!spare_) return queue_.emplace_hint(at, sequence, Pending{})->second;
    spare_.key() = sequence;
    return queue_.insert(at, std::move(spare_))->second;
  }

  void deliver_leaf(Leaf& leaf, Tensor g) {
    if (plan_) {
      plan_->collect(&leaf, 0, g, add_to);
      return;
    }
    const std::lock_guard lock(leaf.mutex);
    if (!leaf.grad.defined() && !detail::exclusive(g)) g = clone(g);
    add_to(leaf.grad, std::move(g));
  }

  void step(Node& node, Grads& dy) {
    if (node.hooks) run_hooks(node, dy);
    if (node.is_leaf()) {
      deliver_leaf(static_cast<Leaf&>(node), std::move(dy[0]));
      return;
    }
    if (plan_) {
      const Plan::Place& place = *plan_->find(&node);
      for (int i = 0; place.input && i < node.output_count; ++i)
        if (dy[static_cast<size_t>(i)].defined()) plan_->collect(&node, i, dy[static_cast<size_t>(i)], add_to);
      if (!place.passes) return;
    }
    if (node.released)
      throw AutogradError(message(node.op,
                                  ": backward a second time through a graph whose saved tensors were freed; "
                                  "pass {.retain_graph = true} the first time"));
    Saved saved(node, plan_, keep_);
    if (node.kind == Node::Kind::recompute)
      run_again(node, saved, std::move(dy[0]));
    else
      run_gradient(node, saved, dy);
  }

  void run_hooks(Node& node, Grads& dy) {
    for (size_t i = 0; i < node.hooks->size(); ++i) {
      const auto [output, hook] = (*node.hooks)[i];  // a copy: the hook may register another
      Tensor& g = dy[static_cast<size_t>(output)];
      if (!g.defined()) continue;
      Tensor replaced = hook(g);
      if (!replaced.defined()) continue;
      if (!(replaced.shape() == g.shape()) || replaced.dtype() != g.dtype())
        throw AutogradError(message(node.op, ": a hook returned ", replaced.dtype(), " of shape ", replaced.shape(),
                                    " for a gradient that is ", g.dtype(), " of shape ", g.shape()));
      if (replaced.device() != g.device())
        throw DeviceError(
            message(node.op, ": a hook returned a tensor on ", replaced.device(), " for a gradient on ", g.device()));
      g = std::move(replaced);
    }
  }

  static Grads gradient(Node& node, Saved& saved, const Grads& dy) {
    const ProfilerRange range([&] {
      const std::string place = node.where && !node.where->empty() ? *node.where + ": " : "";
      return place + node.op + " backward";
    });
    return detail::mode.anomaly ? detail::checked_backward(node, saved, dy) : node.backward(saved, dy);
  }

  void run_gradient(Node& node, Saved& saved, Grads& dy) {
    Grads grads = gradient(node, saved, dy);
    if (static_cast<int>(grads.size()) != node.edge_count)
      throw AutogradError(message(node.op, ": its gradient function returned ", grads.size(), " gradients for ",
                                  node.edge_count, " inputs"));
    dy.clear();
    release(node);
    for (int i = 0; i < node.edge_count; ++i) {
      const Edge& edge = node.edges[i];
      Tensor& g = grads[static_cast<size_t>(i)];
      if (!g.defined()) continue;
      auto to = edge.target();
      if (!to) continue;
      g = fitted(node.op, i, edge, std::move(g));
      if (to->is_leaf()) check_leaf(node.op, i, static_cast<const Leaf&>(*to), g);
      deliver(std::move(to), static_cast<int>(edge.output), std::move(g));
    }
  }

  /// The walk goes on into the graph of the second run, whose nodes are younger than all that wait.
  void run_again(Node& node, Saved& saved, Tensor dy) {
    const Tensor y = node.recompute(saved);
    release(node);
    if (!y.defined() || !y.requires_grad()) return;
    if (!(y.shape() == dy.shape()) || y.dtype() != dy.dtype())
      throw AutogradError(message(node.op, ": the function gave ", y.dtype(), " of shape ", y.shape(),
                                  " when run again, but ", dy.dtype(), " of shape ", dy.shape(), " before"));
    if (plan_) plan_->extend(y.impl()->node.get());
    deliver(y.impl()->node, static_cast<int>(y.impl()->output_index), std::move(dy));
  }

  void release(Node& node) const {
    if (!keep_) node.release();
  }

  GradMode mode_;
  Plan* plan_;
  bool keep_;
  Queue queue_;
  Queue::node_type spare_;
};

void check_seed(const char* op, const Tensor& y, const Tensor& dy) {
  if (!y.defined()) throw ValueError(message(op, ": the tensor is undefined"));
  if (!y.requires_grad())
    throw AutogradError(message(op, ": the tensor does not depend on anything that requires a gradient"));
  if (!dy.defined()) {
    if (y.numel() != 1)
      throw AutogradError(message(op, ": shape ", y.shape(), " is not a scalar; pass the gradient with respect to it"));
    return;
  }
  if (!(dy.shape() == y.shape()))
    throw ShapeError(message(op, ": gradient of shape ", dy.shape(), " for a tensor of shape ", y.shape()));
  if (dy.dtype() != y.dtype())
    throw DTypeError(message(op, ": gradient of dtype ", dy.dtype(), " for a tensor of dtype ", y.dtype()));
  if (dy.device() != y.device())
    throw DeviceError(message(op, ": gradient on ", dy.device(), " for a tensor on ", y.device()));
}

void seed(Walk& walk, const Tensor& y, const Tensor& dy) {
  walk.deliver(y.impl()->node, static_cast<int>(y.impl()->output_index), dy.defined() ? dy : ones_like(y.detach()));
}

}  // namespace

void Tensor::backward(BackwardOptions options) const { backward(Tensor(), options); }

void Tensor::backward(const Tensor& gradient, BackwardOptions options) const {
  check_seed("backward", *this, gradient);
  Walk walk(options, nullptr);
  seed(walk, *this, gradient);
  walk.run();
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, BackwardOptions options) {
  if (!grad_outputs.empty() && grad_outputs.size() != outputs.size())
    throw ValueError(message("grad: ", grad_outputs.size(), " output gradients for ", outputs.size(), " outputs"));
  const auto dy = [&](size_t i) { return grad_outputs.empty() ? Tensor() : grad_outputs[i]; };
  for (size_t i = 0; i < outputs.size(); ++i) check_seed("grad", outputs[i], dy(i));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined() || !inputs[i].requires_grad())
      throw AutogradError(message("grad: input ", i, " does not require a gradient"));
  std::vector<Tensor> results(inputs.size());
  Plan plan(inputs, results);
  for (const Tensor& y : outputs) plan.extend(y.impl()->node.get());
  Walk walk(options, &plan);
  for (size_t i = 0; i < outputs.size(); ++i) seed(walk, outputs[i], dy(i));
  walk.run();
  return results;
}

}  // namespace tutti
