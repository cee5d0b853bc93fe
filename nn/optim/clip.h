// Limits on gradients before a step.
#pragma once
#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

/// Scales all gradients so that their joint 2-norm is at most max_norm; returns the norm before. Does not overflow.
/// Parameters without a gradient are skipped, tied ones count once. ValueError if a gradient is not finite, naming the
/// parameter by its place in the list, or if max_norm is negative or NaN: then nothing has changed.
double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm);
/// Limits every gradient element to [-limit, limit]. ValueError on a NaN, naming the parameter, or if limit is negative
/// or NaN: then nothing has changed.
void clip_grad_value(const std::vector<Tensor>& parameters, double limit);

using NamedParameter = std::pair<std::string, Tensor>;

/// The same, from named_parameters(): an error says the parameter's name too. (Templates, so that a list in braces is
/// one of tensors.)
template <std::same_as<NamedParameter> Named>
double clip_grad_norm(const std::vector<Named>& parameters, double max_norm);
template <std::same_as<NamedParameter> Named>
void clip_grad_value(const std::vector<Named>& parameters, double limit);

}  // namespace tutti::optim
#pragma GCC visibility pop
