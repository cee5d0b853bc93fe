#include "tutti/nn/dropout.h"

#include "tutti/nn/option.h"
#include "tutti/ops/random.h"

namespace tutti::nn {

Dropout::Dropout(double p) : p_(p) { check_probability("Dropout", "p", p); }

Tensor Dropout::forward(const Tensor& x) const { return p_ > 0 && training() ? dropout(x, p_) : x; }

}  // namespace tutti::nn
