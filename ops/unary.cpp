#include "tutti/ops/unary.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/ops/arithmetic.h"

namespace tutti {

Tensor neg(const Tensor& x) { return sub(0.0, x); }

}  // namespace tutti
