// How a kernel's Output (or a View) becomes a Tensor: with_grad, no_gradient, gradient_unavailable or in_place. There
// is no other way, so a gradient cannot be forgotten. Users' own operations use the same functions.
#pragma once
#include <array>
#include <span>
#include <type_traits>

#include "tutti/autograd/node.h"

#pragma GCC visibility push(default)
namespace tutti {

/// An element of the "saved" list: a tensor or the output itself; if it is not needed, an undefined tensor instead.
struct Keep {
  Keep(const Tensor& t, bool needed = true) : impl(needed ? t.impl() : nullptr) {}
  Keep(const Output& o, bool needed = true) : impl(needed ? o.impl() : nullptr) {}
  const TensorImpl* impl;  // null: an undefined tensor, saved as such
};

namespace detail {

void fill(Edge& edge, const Tensor& input);
/// `for_recipe`: kept for real, whether or not it could be made again.
void fill(SavedTensor& saved, const Keep& keep, std::span<const Tensor> inputs, std::span<const Output> outputs,
          bool for_recipe);
/// Whether a node is needed: recording, and an input requires a gradient. In anomaly_mode it looks at the results
/// first.
bool records(const char* op, std::span<const Output> outputs, std::span<const Tensor> inputs);
/// Fills edges and saved tensors, and makes `node` the origin of the outputs.
void attach(std::shared_ptr<Node> node, std::span<const Tensor> inputs, std::span<const Keep> saved,
            std::span<const Output> outputs);
/// Joins a new node, its output and the output's recipe; before attach.
void offer(Node& node, const Output& y, std::shared_ptr<Recipe> recipe);
std::shared_ptr<Node> unavailable(const char* op, std::span<const Tensor> inputs);
/// The caller is the only holder of this value, and may write it.
bool exclusive(const Tensor& t);

}  // namespace detail
#pragma GCC visibility pop
#pragma GCC visibility push(hidden)  // one per closure: nobody else's business
namespace detail {

template <class F>
struct Closure : Node {
  static_assert(std::is_trivially_copyable_v<F>,
                "a gradient may not capture tensors (or anything that owns): list them in `saved`");
  Closure(const char* name, const F& f) : Node(name), gradient(f) {}
  Grads backward(Saved& s, const Grads& dy) final {
    if constexpr (std::is_invocable_v<F, Saved&, const Tensor&>)
      return gradient(s, dy[0]);
    else
      return gradient(s, dy);
  }
  F gradient;
};

/// One allocation: the closure, its edges and its saved tensors.
template <class F, size_t N, size_t M>
struct FixedNode final : Closure<F> {
  FixedNode(const char* name, const F& f) : Closure<F>(name, f) {
    this->edges = edge_list.data();
    this->edge_count = static_cast<int>(N);
    this->saved = saved_list.data();
    this->saved_count = static_cast<int>(M);
  }
  std::array<Edge, N> edge_list;
  std::array<SavedTensor, M> saved_list;
};

/// For a number of inputs that is known at run time only (cat).
template <class F>
struct ListNode final : Closure<F> {
  ListNode(const char* name, const F& f, size_t inputs) : Closure<F>(name, f), edge_list(inputs) {
    this->edges = edge_list.data();
    this->edge_count = static_cast<int>(inputs);
  }
  std::vector<Edge> edge_list;
};

template <size_t N, size_t M, class F>
void record(const char* op, std::span<const Output> outputs, const Tensor (&inputs)[N], const Keep* saved,
            const F& gradient) {
  if (records(op, outputs, inputs))
    attach(std::make_shared<FixedNode<F, N, M>>(op, gradient), inputs, {saved, M}, outputs);
}

}  // namespace detail
#pragma GCC visibility pop
#pragma GCC visibility push(default)

/// gradient(Saved&, const Tensor& dy) -> Grads, one per input. It may capture sizes and flags but no tensors: what it
/// needs is listed in `saved`, nothing else is kept. An input may be undefined (an optional bias).
template <size_t N, size_t M, class F>
Tensor with_grad(const char* op, const Output& y, const Tensor (&inputs)[N], const Keep (&saved)[M],
                 const F& gradient) {
  detail::record<N, M>(op, {&y, 1}, inputs, saved, gradient);
  return Access::tensor(Access::handle(y));
}
/// The same for a result that is cheap to make again: remake(std::span<const Tensor> saved) -> Output runs the same
/// kernel once more, from `saved` alone, and may capture no tensors either. Backward, the op's own and that of whoever
/// saved the result or a view of it, then works with what is remade: the result itself is freed with its last user.
template <size_t N, size_t M, class F, class R>
Tensor with_grad(const char* op, const Output& y, const Tensor (&inputs)[N], const Keep (&saved)[M], const F& gradient,
                 const R& remake) {
  if (!rematerialization()) return with_grad(op, y, inputs, saved, gradient);
  if (detail::records(op, {&y, 1}, inputs)) {
    auto node = std::make_shared<detail::FixedNode<F, N, 0>>(op, gradient);
    detail::offer(*node, y, std::make_shared<detail::FixedRecipe<R, M>>(op, remake));
    detail::attach(std::move(node), inputs, saved, {&y, 1});
  }
  return Access::tensor(Access::handle(y));
}
template <size_t N, class F>
Tensor with_grad(const char* op, const Output& y, const Tensor (&inputs)[N], const F& gradient) {
  detail::record<N, 0>(op, {&y, 1}, inputs, nullptr, gradient);
  return Access::tensor(Access::handle(y));
}
/// The same for a list of inputs (a std::vector<Tensor>); the gradient learns their shapes from s.input_shape(i).
template <class F>
Tensor with_grad(const char* op, const Output& y, std::span<const Tensor> inputs, const F& gradient) {
  if (detail::records(op, {&y, 1}, inputs))
    detail::attach(std::make_shared<detail::ListNode<F>>(op, gradient, inputs.size()), inputs, {}, {&y, 1});
  return Access::tensor(Access::handle(y));
}
/// The same for a view of the (first) input's storage.
template <size_t N, class F>
Tensor with_grad(const char* op, const View& y, const Tensor (&inputs)[N], const F& gradient) {
  const Output output = Access::output(Access::handle(y));
  detail::record<N, 0>(op, {&output, 1}, inputs, nullptr, gradient);
  return Access::tensor(Access::handle(y));
}
/// Any number of views as the outputs of one node (split): gradient(Saved&, const Grads& dy), as below.
template <size_t N, class F>
std::vector<Tensor> with_grad(const char* op, const std::vector<View>& y, const Tensor (&inputs)[N],
                              const F& gradient) {
  std::vector<Output> outputs;
  std::vector<Tensor> result;
  outputs.reserve(y.size());
  result.reserve(y.size());
  for (const View& v : y) {
    outputs.push_back(Access::output(Access::handle(v)));
    result.push_back(Access::tensor(Access::handle(v)));
  }
  detail::record<N, 0>(op, outputs, inputs, nullptr, gradient);
  return result;
}
/// Several outputs of one node: gradient(Saved&, const Grads& dy), where an output that nothing depends on gives an
/// undefined dy.
template <size_t K, size_t N, size_t M, class F>
std::array<Tensor, K> with_grad(const char* op, const std::array<Output, K>& y, const Tensor (&inputs)[N],
                                const Keep (&saved)[M], const F& gradient) {
  detail::record<N, M>(op, y, inputs, saved, gradient);
  std::array<Tensor, K> result;
  for (size_t i = 0; i < K; ++i) result[i] = Access::tensor(Access::handle(y[i]));
  return result;
}

template <size_t K, size_t N, class F>
std::array<Tensor, K> with_grad(const char* op, const std::array<Output, K>& y, const Tensor (&inputs)[N],
                                const F& gradient) {
  detail::record<N, 0>(op, y, inputs, nullptr, gradient);
  std::array<Tensor, K> result;
  for (size_t i = 0; i < K; ++i) result[i] = Access::tensor(Access::handle(y[i]));
  return result;
}

/// The mathematical gradient is zero or undefined (argmax, comparisons, random numbers, creation).
inline Tensor no_gradient(const Output& y) { return Access::tensor(Access::handle(y)); }
inline Tensor no_gradient(const View& y) { return Access::tensor(Access::handle(y)); }

/// A gradient exists but nobody wrote it: backward through this result is an error that says so (second derivatives of
/// fused gradients).
template <size_t N>
Tensor gradient_unavailable(const char* op, const Output& y, const Tensor (&inputs)[N]) {
  if (detail::records(op, {&y, 1}, inputs)) detail::attach(detail::unavailable(op, inputs), inputs, {}, {&y, 1});
  return Access::tensor(Access::handle(y));
}

/// Memory for an elementwise gradient, like dy: dy's own where nobody else holds it, so that it must not be read
/// afterwards. For the dy that a gradient function was given, and nothing else.
Output output_over(const Tensor& dy);

/// Write access to an existing tensor: bumps its version, so that a backward that saved it complains. AutogradError on
/// a tensor that wants a gradient while recording; ValueError if some of its elements share memory (expand).
Output in_place(const char* op, const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
