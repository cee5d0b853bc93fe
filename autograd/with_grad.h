// How a kernel's Output (or a View) becomes a Tensor: with_grad, no_gradient, gradient_unavailable or in_place. There
// is no other way, so a gradient cannot be forgotten. Users' own operations use the same functions.
#pragma once
#include <array>
#include <type_traits>

#include "tutti/autograd/node.h"

#pragma GCC visibility push(default)
namespace tutti {

/// An element of the "saved" list: a tensor or the output itself.
struct Keep {
  Keep(const Tensor& t) : impl(t.impl()) {}
  Keep(const Output& o) : impl(o.impl()) {}
  const TensorImpl* impl;  // null: an undefined tensor, saved as such
};

namespace detail {

void fill(Edge& edge, const Tensor& input);
void fill(SavedTensor& saved, const Keep& keep, const Tensor* inputs, size_t input_count, const Output* outputs,
          size_t output_count);
std::shared_ptr<Node> unavailable(const char* op, const Tensor* inputs, size_t n);
inline bool any_requires_grad(const Tensor* inputs, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (inputs[i].defined() && inputs[i].requires_grad()) return true;
  return false;
}

/// One allocation: the closure, its edges and its saved tensors.
template <class F, size_t N, size_t M>
struct ClosureNode final : Node {
  ClosureNode(const char* name, const F& f, const Tensor* inputs) : Node(name), gradient(f) {
    edges = edge_list.data();
    edge_count = static_cast<int>(N);
    saved = saved_list.data();
    saved_count = static_cast<int>(M);
    for (size_t i = 0; i < N; ++i) fill(edge_list[i], inputs[i]);
  }
  Grads backward(Saved& s, const Grads& dy) override {
    if constexpr (std::is_invocable_v<F, Saved&, const Tensor&>)
      return gradient(s, dy[0]);
    else
      return gradient(s, dy);
  }
  F gradient;
  std::array<Edge, N> edge_list;
  std::array<SavedTensor, M> saved_list;
};

/// The same for as many inputs as there are at run time; nothing is saved.
template <class F>
struct ListNode final : Node {
  ListNode(const char* name, const F& f, const std::vector<Tensor>& inputs)
      : Node(name), gradient(f), edge_list(inputs.size()) {
    edges = edge_list.data();
    edge_count = static_cast<int>(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) fill(edge_list[i], inputs[i]);
  }
  Grads backward(Saved& s, const Grads& dy) override { return gradient(s, dy[0]); }
  F gradient;
  std::vector<Edge> edge_list;
};

template <size_t N, size_t M, class F>
void attach(const char* op, const Output* outputs, size_t output_count, const Tensor* inputs, const Keep* saved,
            const F& gradient) {
  static_assert(std::is_trivially_copyable_v<F>,
                "a gradient may not capture tensors (or anything that owns): list them in `saved`");
  if (!grad_mode() || !any_requires_grad(inputs, N)) return;
  auto node = std::make_shared<ClosureNode<F, N, M>>(op, gradient, inputs);
  node->output_count = static_cast<int>(output_count);
  for (size_t i = 0; i < M; ++i) fill(node->saved_list[i], saved[i], inputs, N, outputs, output_count);
  for (size_t i = 0; i < output_count; ++i) {
    outputs[i].impl()->output_index = static_cast<uint32_t>(i);
    outputs[i].impl()->node = node;
  }
}

}  // namespace detail

/// gradient(Saved&, const Tensor& dy) -> Grads, one per input. It may capture sizes and flags but no tensors: what it
/// needs is listed in `saved`, nothing else is kept. An input may be undefined (an optional bias).
template <size_t N, size_t M, class F>
Tensor with_grad(const char* op, const Output& y, const Tensor (&inputs)[N], const Keep (&saved)[M],
                 const F& gradient) {
  detail::attach<N, M>(op, &y, 1, inputs, saved, gradient);
  return Access::tensor(Access::handle(y));
}
template <size_t N, class F>
Tensor with_grad(const char* op, const Output& y, const Tensor (&inputs)[N], const F& gradient) {
  detail::attach<N, 0>(op, &y, 1, inputs, nullptr, gradient);
  return Access::tensor(Access::handle(y));
}
/// The same for a view of the (first) input's storage.
template <size_t N, class F>
Tensor with_grad(const char* op, const View& y, const Tensor (&inputs)[N], const F& gradient) {
  const Output output = Access::output(Access::handle(y));
  detail::attach<N, 0>(op, &output, 1, inputs, nullptr, gradient);
  return Access::tensor(Access::handle(y));
}
/// Any number of inputs (cat): gradient(Saved&, const Tensor& dy) finds their shapes in Saved.
template <class F>
Tensor with_grad(const char* op, const Output& y, const std::vector<Tensor>& inputs, const F& gradient) {
  static_assert(std::is_trivially_copyable_v<F>, "a gradient may not capture tensors");
  if (grad_mode() && detail::any_requires_grad(inputs.data(), inputs.size()))
    y.impl()->node = std::make_shared<detail::ListNode<F>>(op, gradient, inputs);
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
  detail::attach<N, 0>(op, outputs.data(), outputs.size(), inputs, nullptr, gradient);
  return result;
}
/// Several outputs of one node: gradient(Saved&, const Grads& dy), where an output that nothing depends on gives an
/// undefined dy.
template <size_t K, size_t N, size_t M, class F>
std::array<Tensor, K> with_grad(const char* op, const std::array<Output, K>& y, const Tensor (&inputs)[N],
                                const Keep (&saved)[M], const F& gradient) {
  detail::attach<N, M>(op, y.data(), K, inputs, saved, gradient);
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
  if (grad_mode() && detail::any_requires_grad(inputs, N)) y.impl()->node = detail::unavailable(op, inputs, N);
  return Access::tensor(Access::handle(y));
}

/// Write access to an existing tensor: bumps its version, so that a backward that saved it complains. AutogradError on
/// a tensor that wants a gradient while recording.
Output in_place(const char* op, const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
