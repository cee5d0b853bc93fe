// load_state_dict from anything that has tensors by name.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "tutti/core/tensor.h"
#include "tutti/nn/load_state.h"

#pragma GCC visibility push(default)
namespace tutti::nn::detail {

/// A tensor that may be loaded: what is known of it before it is fetched.
struct Offer {
  Dims shape;
  std::string unreadable;  ///< if so, why: "its dtype is F8_E4M3, which Tutti lacks"
  std::function<Tensor()> fetch;
};
using Offers = std::map<std::string, Offer>;

/// Module::load_state_dict, from its tensors by name (tied ones under each). `in_memory`: what is offered may be the
/// module's own tensors, so all is fetched before anything is written; else one at a time is.
LoadReport load(const std::map<std::string, Tensor>& mine, const Offers& offers, const LoadOptions& options,
                bool in_memory);

}  // namespace tutti::nn::detail
#pragma GCC visibility pop
