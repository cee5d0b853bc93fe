// checkpoint: trade time for memory by running a block again in backward instead of keeping what it saved.
#pragma once
#include <functional>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// f(inputs), of which only the inputs are kept; backward runs f again (drawing the same random numbers from the
/// default generator) and goes through it. Parameters that f reads get their gradients as usual. Not with create_graph.
Tensor checkpoint(std::function<Tensor(const std::vector<Tensor>&)> f, const std::vector<Tensor>& inputs);

}  // namespace tutti
#pragma GCC visibility pop
