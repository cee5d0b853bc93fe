#include "tutti/nn/feed_forward.h"

#include "tutti/ops/arithmetic.h"
#include "tutti/ops/feed_forward.h"

namespace tutti::nn {
namespace {

/// Whether a layer takes an input like x, but for its width.
bool fits(const Tensor& x, int64_t width, const Linear& layer) {
  if (layer.moved_from()) return false;
  const Tensor &weight = layer.weight.tensor(), &bias = layer.bias.tensor();
  const auto alike = [&](const Tensor& t) { return t.device() == x.device() && t.dtype() == x.dtype(); };
  return alike(weight) && (!bias.defined() || alike(bias)) && weight.size(1) == width;
}

/// The form of GELU that there is one operation for.
std::optional<Gelu> fused(Activation f) {
  if (f == Activation::gelu) return Gelu::erf;
  if (f == Activation::gelu_tanh) return Gelu::tanh;
  return std::nullopt;
}

}  // namespace

FeedForward::FeedForward(FeedForwardOptions o)
    : up({.in = o.embed_dim, .out = o.hidden, .bias = o.bias}),
      down({.in = o.hidden, .out = o.embed_dim, .bias = o.bias}),
      activation_(o.activation) {
  if (o.gated) gate.emplace(LinearOptions{.in = o.embed_dim, .out = o.hidden, .bias = o.bias});
}

void FeedForward::children(Visitor& visit) {
  visit("gate", gate);
  visit("up", up);
  visit("down", down);
}

Tensor FeedForward::forward(const Tensor& x) const {
  if (gate) {
    const Tensor opened = activate((*gate)(x), activation_);
    return down(mul(opened, up(x)));
  }
  const auto form = fused(activation_);
  if (form && x.defined() && x.rank() > 0 && fits(x, x.size(-1), up) && fits(x, up.weight.tensor().size(0), down))
    return feed_forward(x, up.weight, up.bias, down.weight, down.bias, *form);
  return down(activate(up(x), activation_));  // which says what is wrong by the layer's own path
}

}  // namespace tutti::nn
