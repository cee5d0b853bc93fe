// Nodes, edges and saved tensors; grad mode; what Tensor says about the graph. The walk itself is engine.cpp.
#include "tutti/autograd/node.h"

#include <atomic>

#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

thread_local bool recording = true;
std::atomic<uint64_t> next_sequence{0};

struct Unavailable final : Node {
  Unavailable(const char* name, const Tensor* inputs, size_t n) : Node(name), list(n) {
    edges = list.data();
    edge_count = static_cast<int>(n);
    for (size_t i = 0; i < n; ++i) detail::fill(list[i], inputs[i]);
  }
  Grads backward(Saved&, const Grads&) override {
    throw AutogradError(message(
        op,
        ": has no derivative of its own (it is a fused gradient), so second derivatives through it are not available"));
  }
  std::vector<Edge> list;
};

Leaf* leaf_of(const TensorImpl& t) { return t.node && t.node->is_leaf() ? static_cast<Leaf*>(t.node.get()) : nullptr; }

}  // namespace

bool grad_mode() { return recording; }
GradMode::GradMode(bool on) : before_(recording) { recording = on; }
GradMode::~GradMode() { recording = before_; }

Node::Node(const char* name) : op(name), sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)) {}

Edge::~Edge() {
  if (!node || node.use_count() > 1) return;
  // The outermost destructor drains what the inner ones append: a chain of any length, without recursion.
  thread_local std::vector<std::shared_ptr<Node>>* pending = nullptr;
  if (pending) {
    pending->push_back(std::move(node));
    return;
  }
  std::vector<std::shared_ptr<Node>> list;
  pending = &list;
  node.reset();
  while (!list.empty()) {
    const auto next = std::move(list.back());
    list.pop_back();
  }
  pending = nullptr;
}

namespace detail {

void fill(Edge& edge, const Tensor& input) {
  if (!input.defined()) return;
  edge.shape = input.shape();
  const auto& node = input.impl()->node;
  if (!node) return;
  edge.output = input.impl()->output_index;
  if (node->is_leaf())
    edge.leaf = node;
  else
    edge.node = node;
}

void fill(SavedTensor& saved, const Keep& keep, const Tensor* inputs, size_t input_count, const Output* outputs,
          size_t output_count) {
  if (!keep.impl) return;
  saved.alias.storage = keep.impl->storage;
  saved.alias.shape = keep.impl->shape;
  saved.alias.strides = keep.impl->strides;
  saved.alias.offset = keep.impl->offset;
  saved.alias.dtype = keep.impl->dtype;
  saved.version = keep.impl->storage->version.load(std::memory_order_relaxed);
  for (size_t i = 0; i < output_count; ++i)
    if (outputs[i].impl() == keep.impl) saved.output = static_cast<int>(i);
  for (size_t i = 0; i < input_count; ++i)
    if (inputs[i].impl() == keep.impl) saved.input = static_cast<int>(i);
}

std::shared_ptr<Node> unavailable(const char* op, const Tensor* inputs, size_t n) {
  return std::make_shared<Unavailable>(op, inputs, n);
}

}  // namespace detail

Tensor Saved::get(int i, bool allow_intermediate) const {
  const SavedTensor& s = node_.saved[i];
  if (!s.alias.storage) return {};
  if (s.alias.storage->version.load(std::memory_order_relaxed) != s.version)
    throw AutogradError(message(node_.op, ": a tensor saved for its gradient (shape ", s.alias.shape,
                                ") was changed in place before backward"));
  auto impl = std::make_shared<TensorImpl>(s.alias);
  if (recording) {
    if (s.input >= 0) {
      impl->node = node_.edges[s.input].target();
      impl->output_index = node_.edges[s.input].output;
    } else if (s.output >= 0) {
      impl->node = node_.shared_from_this();
      impl->output_index = static_cast<uint32_t>(s.output);
    } else if (!allow_intermediate) {
      throw AutogradError(message(
          node_.op, ": its gradient uses an intermediate result, so create_graph cannot differentiate it again"));
    }
  }
  return Access::tensor(std::move(impl));
}
Tensor Saved::operator[](int i) const { return get(i, false); }
Tensor Saved::constant(int i) const { return get(i, true); }
bool Saved::wants(int input) const {
  const Edge& e = node_.edges[input];
  return e.node || !e.leaf.expired();
}

Output in_place(const char* op, const Tensor& x) {
  if (!x.defined()) throw ValueError(message(op, ": the tensor to change is undefined"));
  if (grad_mode() && x.requires_grad())
    throw AutogradError(message(
        op, ": in-place change of a tensor that requires a gradient; use no_grad or an out-of-place operation"));
  x.impl()->storage->version.fetch_add(1, std::memory_order_relaxed);
  return Access::output(Access::handle(x));
}

Tensor& Tensor::requires_grad_(bool on) {
  if (impl_->node && !impl_->node->is_leaf())
    throw AutogradError("requires_grad_: the tensor is the result of an operation; detach() it first");
  if (on && !is_floating(dtype()))
    throw AutogradError(message("requires_grad_: ", dtype(), " tensors have no gradient"));
  if (!on)
    impl_->node = nullptr;
  else if (!impl_->node)
    impl_->node = std::make_shared<Leaf>();
  return *this;
}

Tensor Tensor::grad() const {
  Leaf* leaf = leaf_of(*impl_);
  if (!leaf) return {};
  const std::lock_guard lock(leaf->mutex);
  return leaf->grad;
}

void Tensor::set_grad(const Tensor& gradient) const {
  Leaf* leaf = leaf_of(*impl_);
  if (!leaf) throw AutogradError("set_grad: only a leaf that requires a gradient holds one");
  if (gradient.defined() && !(gradient.shape() == shape()))
    throw ShapeError(message("set_grad: gradient of shape ", gradient.shape(), " for a tensor of shape ", shape()));
  const std::lock_guard lock(leaf->mutex);
  leaf->grad = gradient;
}

void Tensor::zero_grad() const {
  if (Leaf* leaf = leaf_of(*impl_)) {
    const std::lock_guard lock(leaf->mutex);
    leaf->grad = Tensor();
  }
}

Tensor Tensor::detach() const { return no_gradient(view(*this, shape(), strides(), impl_->offset)); }

void Tensor::register_hook(Hook hook) const {
  if (!requires_grad()) throw AutogradError("register_hook: the tensor does not require a gradient");
  Node& node = *impl_->node;
  if (!node.hooks) node.hooks = std::make_unique<std::vector<std::pair<int, Hook>>>();
  node.hooks->emplace_back(impl_->output_index, std::move(hook));
}

}  // namespace tutti
