// An optimizer's running averages.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

/// Makes `state` fit parameter p: zeros at first; moved and converted if p was. float32 for the half types.
void keep_state(Tensor& state, const Tensor& p);

}  // namespace tutti::optim
#pragma GCC visibility pop
