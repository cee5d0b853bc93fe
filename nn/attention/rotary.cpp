#include "tutti/nn/attention/rotary.h"

#include <cmath>

#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/join.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

namespace tutti::nn {

void check_rotary(const char* layer, const RotaryOptions& o, int64_t head_width) {
  if (o.width < 0 || o.width > head_width || (o.width ? o.width : head_width) % 2 != 0)
    throw ValueError(message(layer, ": rotary.width is ", o.width, "; heads of width ", head_width,
                             " can turn an even number of channels, at most all of them (0)"));
  if (!(o.theta > 0 && std::isfinite(o.theta)))
    throw ValueError(message(layer, ": rotary.theta is ", o.theta, "; it must be finite and positive"));
}

Tensor rotate(const Tensor& x, int64_t num_heads, int64_t first, const RotaryOptions& o) {
  const int64_t tokens = x.size(-2), head = x.size(-1) / num_heads, width = o.width ? o.width : head, pairs = width / 2;
  Tensor cosine, sine;  // [T, 1, D/2]
  {
    const no_grad off;
    const TensorOptions wide{.dtype = DType::float64, .device = x.device()};
    const Tensor place = reshape(arange(first, first + tokens, 1, wide), {tokens, 1, 1});
    const Tensor angle =
        mul(place, exp(mul(arange(0, pairs, 1, wide), -2 * std::log(o.theta) / static_cast<double>(width))));
    cosine = to(cos(angle), x.dtype());
    sine = to(sin(angle), x.dtype());
  }
  Dims split_shape = x.shape();  // [.., T, H, d]
  split_shape[split_shape.n - 1] = num_heads;
  split_shape.push(head);
  const Tensor heads = reshape(x, split_shape), turned = slice(heads, -1, 0, width);
  const int64_t step = o.interleaved ? 2 : 1;
  const Tensor a = o.interleaved ? slice(turned, -1, 0, width, step) : slice(turned, -1, 0, pairs);
  const Tensor b = o.interleaved ? slice(turned, -1, 1, width, step) : slice(turned, -1, pairs, width);
  const Tensor a_new = sub(mul(a, cosine), mul(b, sine)), b_new = add(mul(b, cosine), mul(a, sine));
  std::vector<Tensor> parts{a_new, b_new};
  if (o.interleaved) parts = {flatten(stack({a_new, b_new}, -1), -2)};
  if (width < head) parts.push_back(slice(heads, -1, width, head));
  return reshape(cat(parts, -1), x.shape());
}

}  // namespace tutti::nn
