// Limits on gradients before a step.
#pragma once
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

/// Scales all gradients so that their joint 2-norm is at most max_norm; returns the norm before. Does not overflow.
/// Parameters without a gradient are skipped, tied ones count once. ValueError if the norm is not finite, or if
/// max_norm is negative or NaN: then nothing has changed.
double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm);
/// Limits every gradient element to [-limit, limit]. ValueError on a NaN, or if limit is negative or NaN: then nothing
/// has changed.
void clip_grad_value(const std::vector<Tensor>& parameters, double limit);

}  // namespace tutti::optim
#pragma GCC visibility pop
