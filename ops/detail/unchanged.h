// What an operation gives back that has nothing to do.
#pragma once
#include "tutti/autograd/node.h"

namespace tutti::detail {

/// x itself; where nothing is recorded, a look at it outside the graph, so that whether a result wants a gradient does
/// not hang on a shape.
inline Tensor unchanged(const Tensor& x) { return x.requires_grad() && !grad_mode() ? x.detach() : x; }

}  // namespace tutti::detail
