// The feed-forward of a transformer block.
#pragma once
#include <optional>

#include "tutti/nn/activation.h"
#include "tutti/nn/linear.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Widths of a feed-forward, and what lies between its layers.
struct FeedForwardOptions {
  int64_t embed_dim = 0, hidden = 0;
  Activation activation = Activation::gelu;
  bool gated = false;  ///< with a third layer, `gate` (GLU variants: Shazeer 2020; SwiGLU is silu, GEGLU gelu)
  bool bias = true;    ///< of all its layers
};
/// down(f(up(x))), or down(f(gate(x)) up(x)): x [.., embed_dim] to the same shape by way of `hidden`. ValueError unless
/// both are positive.
class FeedForward : public Callable<FeedForward> {
 public:
  explicit FeedForward(FeedForwardOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x) const;
  std::optional<Linear> gate;
  Linear up, down;

 private:
  Activation activation_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
