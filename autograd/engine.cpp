// The walk: nodes are taken by falling sequence number. Consumers are always created after what they consume, so that
// is a topological order: no recursion, no counting pass.
#include <map>
#include <string>

#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

/// The caller is the only holder of this value, and may write it.
bool exclusive(const Tensor& t) {
  return Access::handle(t).use_count() == 1 && t.impl()->storage.use_count() == 1 && t.is_contiguous() &&
         !t.requires_grad();
}

/// slot += g, taking over or writing a buffer only if nobody else holds it.
void add_to(Tensor& slot, Tensor&& g) {
  if (!slot.defined())
    slot = std::move(g);
  else if (!grad_mode() && exclusive(slot) && slot.dtype() == g.dtype())
    accumulate(Access::output(Access::handle(slot)), g);
  else
    slot = add(slot, g);
}

struct Pending {
  std::shared_ptr<Node> node;
  Grads grads;
};

struct Capture {
  const Node* node;
  int output;
  Tensor* result;
};

struct Walk {
  BackwardOptions options;
  std::vector<Capture> captures;  // grad(): deliver here instead of to leaves
  bool capturing = false;
  std::map<uint64_t, Pending, std::greater<>> queue;

  void deliver(std::shared_ptr<Node> to, int output, Tensor g) {
    if (to->is_leaf() && !to->hooks) {
      deliver_leaf(static_cast<Leaf&>(*to), std::move(g));
      return;
    }
    Pending& p = queue[to->sequence];
    if (!p.node) {
      p.grads.resize(static_cast<size_t>(to->output_count));
      p.node = std::move(to);
    }
    add_to(p.grads[static_cast<size_t>(output)], std::move(g));
  }

  void deliver_leaf(Leaf& leaf, Tensor g) {
    for (const Capture& c : captures)
      if (c.node == &leaf) add_to(*c.result, Tensor(g));
    if (capturing) return;
    const std::lock_guard lock(leaf.mutex);
    if (!leaf.grad.defined() && !grad_mode() && !exclusive(g)) g = clone(g);
    add_to(leaf.grad, std::move(g));
  }

  void run() {
    const GradMode mode(options.create_graph);
    const bool keep = options.retain_graph || options.create_graph;
    while (!queue.empty()) {
      auto first = queue.extract(queue.begin());
      Node& node = *first.mapped().node;
      Grads& dy = first.mapped().grads;
      if (node.hooks)
        for (auto& [output, hook] : *node.hooks) {
          Tensor& g = dy[static_cast<size_t>(output)];
          if (!g.defined()) continue;
          if (Tensor replaced = hook(g); replaced.defined()) g = std::move(replaced);
        }
      if (node.is_leaf()) {
        deliver_leaf(static_cast<Leaf&>(node), std::move(dy[0]));
        continue;
      }
      for (const Capture& c : captures)
        if (c.node == &node && dy[static_cast<size_t>(c.output)].defined())
          *c.result = dy[static_cast<size_t>(c.output)];
      step(node, dy, keep);
    }
  }

  void step(Node& node, Grads& dy, bool keep) {
    if (node.released)
      throw AutogradError(message(node.op,
                                  ": backward a second time through a graph whose saved tensors were freed; pass "
                                  "{.retain_graph = true} the first time"));
    Saved saved(node);
    Grads grads = node.backward(saved, dy);
    if (static_cast<int>(grads.size()) != node.edge_count)
      throw AutogradError(
          message(node.op, ": its gradient returned ", grads.size(), " tensors for ", node.edge_count, " inputs"));
    dy.clear();
    if (!keep) {
      node.released = true;
      for (int i = 0; i < node.saved_count; ++i) node.saved[i].alias.storage = nullptr;
    }
    for (int i = 0; i < node.edge_count; ++i) {
      const Edge& edge = node.edges[i];
      Tensor& g = grads[static_cast<size_t>(i)];
      if (!g.defined()) continue;
      auto to = edge.target();
      if (!to) continue;
      deliver(std::move(to), static_cast<int>(edge.output),
              g.shape() == edge.shape ? std::move(g) : sum_to(g, edge.shape));
    }
  }
};

void check_seed(const char* op, const Tensor& y, const Tensor& dy) {
  if (!y.defined() || !y.requires_grad())
    throw AutogradError(message(op, ": the tensor does not depend on anything that requires a gradient"));
  if (!dy.defined()) {
    if (y.numel() != 1)
      throw AutogradError(message(op, ": shape ", y.shape(), " is not a scalar; pass the gradient with respect to it"));
  } else {
    if (!(dy.shape() == y.shape()))
      throw ShapeError(message(op, ": gradient of shape ", dy.shape(), " for a tensor of shape ", y.shape()));
    if (dy.dtype() != y.dtype())
      throw DTypeError(message(op, ": gradient of dtype ", dy.dtype(), " for a tensor of dtype ", y.dtype()));
  }
}

void seed(Walk& walk, const Tensor& y, const Tensor& dy) {
  walk.deliver(y.impl()->node, static_cast<int>(y.impl()->output_index), dy.defined() ? dy : ones_like(y.detach()));
}

}  // namespace

void Tensor::backward(BackwardOptions options) const { backward(Tensor(), options); }

void Tensor::backward(const Tensor& gradient, BackwardOptions options) const {
  check_seed("backward", *this, gradient);
  Walk walk{options, {}, false, {}};
  seed(walk, *this, gradient);
  walk.run();
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, BackwardOptions options) {
  if (!grad_outputs.empty() && grad_outputs.size() != outputs.size())
    throw ValueError(message("grad: ", grad_outputs.size(), " output gradients for ", outputs.size(), " outputs"));
  std::vector<Tensor> results(inputs.size());
  Walk walk{options, {}, true, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad())
      throw AutogradError(message("grad: input ", i, " does not require a gradient"));
    walk.captures.push_back(
        {inputs[i].impl()->node.get(), static_cast<int>(inputs[i].impl()->output_index), &results[i]});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor dy = grad_outputs.empty() ? Tensor() : grad_outputs[i];
    check_seed("grad", outputs[i], dy);
    seed(walk, outputs[i], dy);
  }
  walk.run();
  return results;
}

}  // namespace tutti
