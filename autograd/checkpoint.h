// checkpoint: trade time for memory by running a block again in backward instead of keeping what it saved.
#pragma once
#include <functional>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// f(inputs), of which only the inputs are kept. Backward runs f again, drawing the same random numbers from the
/// default generator (which no other thread may use meanwhile), and goes on through the graph that this run makes: so
/// parameters that f reads get their gradients as usual, and grad() and create_graph work too. While recording, the
/// result requires a gradient whether or not f reads anything that does. f must compute the same each time and must
/// not hold on to the result; changes in place of what it reads beside its inputs go unnoticed.
Tensor checkpoint(std::function<Tensor(const std::vector<Tensor>&)> f, const std::vector<Tensor>& inputs);

}  // namespace tutti
#pragma GCC visibility pop
