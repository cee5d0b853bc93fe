// Nodes, edges and saved tensors; grad mode; what Tensor says about the graph. The walk itself is engine.cpp.
#include "tutti/autograd/node.h"

#include <atomic>

#include "tutti/autograd/detail/mode.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/core/profiler_range.h"

namespace tutti {

constinit thread_local detail::Mode detail::mode;

namespace {

std::atomic<uint64_t> next_sequence{0};

struct Unavailable final : Node {
  Unavailable(const char* name, size_t inputs) : Node(name), list(inputs) {
    edges = list.data();
    edge_count = static_cast<int>(inputs);
  }
  Grads backward(Saved&, const Grads&) override {
    throw AutogradError(message(op,
                                ": has no derivative of its own (it is a fused gradient), so second derivatives "
                                "through it are not available"));
  }
  std::vector<Edge> list;
};

void check_defined(const char* op, const Tensor& x) {
  if (!x.defined()) throw ValueError(message(op, ": the tensor is undefined"));
}

Leaf* leaf_of(const TensorImpl& t) { return t.node && t.node->is_leaf() ? static_cast<Leaf*>(t.node.get()) : nullptr; }

}  // namespace

bool grad_mode() { return detail::mode.recording; }
GradMode::GradMode(bool on) : before_(detail::mode.recording) { detail::mode.recording = on; }
GradMode::~GradMode() { detail::mode.recording = before_; }

Node::Node(const char* name, Kind k)
    : op(name), sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)), kind(k) {}
Node::~Node() = default;
Tensor Node::recompute(Saved&) { return {}; }
void Node::release() noexcept {
  released = true;
  if (recipe) {
    saved = nullptr;
    saved_count = 0;
    recipe = nullptr;
  }
  for (int i = 0; i < saved_count; ++i) saved[i].reset();
}

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
  edge.dtype = input.dtype();
  edge.device = input.device();
  const auto& node = input.impl()->node;
  if (!node) return;
  edge.output = input.impl()->output_index;
  if (node->is_leaf())
    edge.leaf = node;
  else
    edge.node = node;
}

void fill(SavedTensor& saved, const Keep& keep, std::span<const Tensor> inputs, std::span<const Output> outputs,
          bool for_recipe) {
  if (!keep.impl) return;
  auto recipe = for_recipe ? nullptr : keep.impl->storage->recipe.lock();
  if (recipe && !recipe->changed.load(std::memory_order_relaxed))
    saved.recipe.take(std::move(recipe));
  else
    saved.alias.storage = keep.impl->storage;
  saved.alias.shape = keep.impl->shape;
  saved.alias.strides = keep.impl->strides;
  saved.alias.offset = keep.impl->offset;
  saved.alias.dtype = keep.impl->dtype;
  saved.version = keep.impl->storage->version.load(std::memory_order_relaxed);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].impl() == keep.impl) saved.output = static_cast<int>(i);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].impl() == keep.impl) saved.input = static_cast<int>(i);
}

uint64_t next_sequence() { return tutti::next_sequence.load(std::memory_order_relaxed); }

bool records(const char* op, std::span<const Output> outputs, std::span<const Tensor> inputs) {
  if (mode.anomaly) [[unlikely]]
    check_results(op, outputs, inputs);
  if (!mode.recording) return false;
  for (const Tensor& x : inputs)
    if (x.defined() && x.requires_grad()) return true;
  return false;
}

void attach(std::shared_ptr<Node> node, std::span<const Tensor> inputs, std::span<const Keep> saved,
            std::span<const Output> outputs) {
  if (mode.anomaly || profiler_ranges()) [[unlikely]]
    note_place(*node);
  node->output_count = static_cast<int>(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) fill(node->edges[i], inputs[i]);
  for (size_t i = 0; i < saved.size(); ++i) fill(node->saved[i], saved[i], inputs, outputs, node->recipe != nullptr);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].impl()->output_index = static_cast<uint32_t>(i);
    outputs[i].impl()->node = i + 1 < outputs.size() ? node : std::move(node);
  }
}

void offer(Node& node, const Output& y, std::shared_ptr<Recipe> recipe) {
  const auto& storage = y.impl()->storage;
  recipe->original = storage;
  recipe->bytes = storage->bytes;
  storage->recipe = recipe;
  node.saved = recipe->saved().data();
  node.saved_count = static_cast<int>(recipe->saved().size());
  node.recipe = std::move(recipe);
}

std::shared_ptr<Node> unavailable(const char* op, std::span<const Tensor> inputs) {
  return std::make_shared<Unavailable>(op, inputs.size());
}

}  // namespace detail

Tensor Saved::get(int i, bool allow_intermediate) const {
  const SavedTensor& s = node_.saved[i];
  if (s.empty()) return {};
  auto impl = s.restored(node_.op);
  if (detail::mode.recording) {
    if (s.input >= 0) {
      impl->node = node_.edges[s.input].target();
      impl->output_index = node_.edges[s.input].output;
    } else if (s.output >= 0) {
      impl->node = node_.shared_from_this();
      impl->output_index = static_cast<uint32_t>(s.output);
    } else if (!allow_intermediate && is_floating(s.alias.dtype)) {
      throw AutogradError(message(
          node_.op, ": its gradient uses an intermediate result, so create_graph cannot differentiate it again"));
    }
  }
  return Access::tensor(std::move(impl));
}
Tensor Saved::operator[](int i) const { return get(i, false); }
Tensor Saved::constant(int i) const { return get(i, true); }
Tensor Saved::last(int i) {
  Tensor t = get(i, false);
  if (!retain_ && !node_.recipe) {
    node_.released = true;
    node_.saved[i].reset();
  }
  return t;
}
Output in_place(const char* op, const Tensor& x) {
  if (!x.defined()) throw ValueError(message(op, ": the tensor to change is undefined"));
  if (grad_mode() && x.requires_grad())
    throw AutogradError(message(
        op, ": in-place change of a tensor that requires a gradient; use no_grad or an out-of-place operation"));
  for (int i = 0; i < x.rank(); ++i)
    if (x.strides()[i] == 0 && x.shape()[i] > 1 && x.numel() > 0)
      throw ValueError(message(op, ": the tensor to change, of shape ", x.shape(),
                               ", repeats the same memory along axis ", i, " (expand); clone it first"));
  x.impl()->storage->version.fetch_add(1, std::memory_order_relaxed);
  if (const auto recipe = x.impl()->storage->recipe.lock()) recipe->changed.store(true, std::memory_order_relaxed);
  return Access::output(Access::handle(x));
}

bool detail::exclusive(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  return Access::handle(t).use_count() == 1 && impl.storage.use_count() == 1 && impl.storage->recipe.expired() &&
         t.is_contiguous() && !t.requires_grad();
}

Output output_over(const Tensor& dy) {
  return !grad_mode() && detail::exclusive(dy) ? Access::output(Access::handle(dy)) : output_like(dy);
}

Tensor& Tensor::requires_grad_(bool on) {
  check_defined("requires_grad_", *this);
  if (impl_->node && !impl_->node->is_leaf())
    throw AutogradError("requires_grad_: the tensor is the result of an operation; detach() it first");
  if (on && !is_floating(dtype()))
    throw AutogradError(message("requires_grad_: ", dtype(), " tensors have no gradient"));
  if (!on)
    impl_->node = nullptr;
  else if (!impl_->node)
    impl_->node = std::make_shared<Leaf>(*impl_);
  return *this;
}

void replace(const Tensor& t, const Tensor& value) {
  TensorImpl& to = *t.impl();
  const TensorImpl& from = *value.impl();
  if (!(to.shape == from.shape))
    throw ShapeError(message("replace: a value of shape ", from.shape, " for a tensor of shape ", to.shape));
  if (to.node && !to.node->is_leaf()) throw AutogradError("replace: the tensor is the result of an operation");
  to.storage = from.storage;
  to.strides = from.strides;
  to.offset = from.offset;
  to.dtype = from.dtype;
  Leaf* leaf = leaf_of(to);
  if (!leaf) return;
  const std::lock_guard lock(leaf->mutex);
  leaf->dtype = to.dtype;
  leaf->device = to.storage->device;
  leaf->grad = Tensor();
}

Tensor Tensor::grad() const {
  check_defined("grad", *this);
  Leaf* leaf = leaf_of(*impl_);
  if (!leaf) return {};
  const std::lock_guard lock(leaf->mutex);
  return leaf->grad;
}

void Tensor::set_grad(const Tensor& gradient) const {
  check_defined("set_grad", *this);
  Leaf* leaf = leaf_of(*impl_);
  if (!leaf) throw AutogradError("set_grad: only a leaf that requires a gradient holds one");
  if (gradient.defined() && !(gradient.shape() == shape()))
    throw ShapeError(message("set_grad: gradient of shape ", gradient.shape(), " for a tensor of shape ", shape()));
  if (gradient.defined() && gradient.dtype() != dtype())
    throw DTypeError(message("set_grad: gradient of dtype ", gradient.dtype(), " for a tensor of dtype ", dtype()));
  if (gradient.defined() && gradient.device() != device())
    throw DeviceError(message("set_grad: gradient on ", gradient.device(), " for a tensor on ", device()));
  const std::lock_guard lock(leaf->mutex);
  leaf->grad = gradient;
}

void Tensor::zero_grad() const {
  check_defined("zero_grad", *this);
  if (Leaf* leaf = leaf_of(*impl_)) {
    const std::lock_guard lock(leaf->mutex);
    leaf->grad = Tensor();
  }
}

Tensor Tensor::detach() const {
  check_defined("detach", *this);
  return no_gradient(view(*this, shape(), strides(), impl_->offset));
}

void Tensor::register_hook(Hook hook) const {
  check_defined("register_hook", *this);
  if (!hook) throw ValueError("register_hook: the hook is empty");
  if (!requires_grad()) throw AutogradError("register_hook: the tensor does not require a gradient");
  Node& node = *impl_->node;
  if (!node.hooks) node.hooks = std::make_unique<std::vector<std::pair<int, Hook>>>();
  node.hooks->emplace_back(impl_->output_index, std::move(hook));
}

}  // namespace tutti
