#include "tutti/autograd/checkpoint.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/core/generator.h"

namespace tutti {
namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// Sets the default generator back to where it stood; the destructor returns it to where it was.
class Rewound {
 public:
  explicit Rewound(const DrawKey& there) : before_(default_generator().mark()) { default_generator().go_back(there); }
  ~Rewound() { default_generator().go_back(before_); }
  Rewound(const Rewound&) = delete;
  Rewound& operator=(const Rewound&) = delete;

 private:
  DrawKey before_;
};

struct Checkpoint final : Node {
  Checkpoint(Function function, size_t inputs)
      : Node("checkpoint", Kind::recompute), f(std::move(function)), edge_list(inputs), saved_list(inputs) {
    edges = edge_list.data();
    edge_count = static_cast<int>(inputs);
    saved = saved_list.data();
    saved_count = static_cast<int>(inputs);
  }
  Grads backward(Saved&, const Grads&) override { return {}; }
  Tensor recompute(Saved& s) override {
    const enable_grad on;  // so that the inputs come back attached to the graph
    std::vector<Tensor> inputs;
    for (int i = 0; i < saved_count; ++i) inputs.push_back(s[i]);
    const Rewound generator(drawn_from);
    return f(inputs);
  }
  Function f;
  DrawKey drawn_from = default_generator().mark();
  std::vector<Edge> edge_list;
  std::vector<SavedTensor> saved_list;
};

}  // namespace

Tensor checkpoint(Function f, const std::vector<Tensor>& inputs) {
  if (!f) throw ValueError("checkpoint: the function is empty");
  if (!grad_mode()) return f(inputs);
  const auto node = std::make_shared<Checkpoint>(std::move(f), inputs.size());
  // Noted before f runs: if it changes an input in place, backward says so.
  const std::vector<Keep> saved(inputs.begin(), inputs.end());
  detail::attach(node, inputs, saved, {});
  Tensor y;
  {
    const no_grad off;
    y = node->f(inputs);
  }
  if (!y.defined()) throw ValueError("checkpoint: the function returned an undefined tensor");
  if (!is_floating(y.dtype())) return y;
  // A result of its own, even if f returned one of its inputs.
  const View result = view(y, y.shape(), y.strides(), y.impl()->offset);
  const Output output = Access::output(Access::handle(result));
  node->output_count = 1;
  output.impl()->node = node;
  return no_gradient(result);
}

}  // namespace tutti
