// What the attention layers here check alike.
#pragma once
#include "tutti/nn/option.h"

namespace examples {

/// The options themselves. ValueError naming the layer and the option unless embed_dim is positive and num_heads, and
/// groups where there are any, divide it.
template <class Options>
const Options& checked_sizes(const char* layer, const Options& o) {
  tutti::nn::check_positive(layer, "embed_dim", o.embed_dim);
  tutti::nn::check_divides(layer, "num_heads", o.num_heads, "embed_dim", o.embed_dim);
  if constexpr (requires { o.groups; }) tutti::nn::check_divides(layer, "groups", o.groups, "embed_dim", o.embed_dim);
  return o;
}

}  // namespace examples
