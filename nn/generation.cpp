#include "tutti/nn/generation.h"

#include <algorithm>
#include <cmath>

#include "tutti/autograd/node.h"
#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/cumulative.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/index.h"
#include "tutti/ops/multinomial.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"
#include "tutti/ops/unary.h"

namespace tutti::nn {
namespace {

void check(const Tensor& logits, const SampleOptions& o) {
  check_floating("sample", logits, "logits");
  if ((logits.rank() != 1 && logits.rank() != 2) || logits.size(-1) == 0)
    throw ShapeError(message("sample: logits of shape ", logits.shape(), " are not [V] or [B, V] with V above 0"));
  if (!(o.temperature >= 0 && std::isfinite(o.temperature)))
    throw ValueError(message("sample: temperature is ", o.temperature, "; it must be finite and not negative"));
  if (o.top_k < 0) throw ValueError(message("sample: top_k is ", o.top_k, "; it must be positive, or 0 for all"));
  if (!(o.top_p > 0 && o.top_p <= 1)) throw ValueError(message("sample: top_p is ", o.top_p, "; it must be in (0, 1]"));
}

}  // namespace

Tensor sample(const Tensor& logits, const SampleOptions& o, Generator& generator) {
  check(logits, o);
  const no_grad off;
  const ValuesIndices largest = max(logits, -1, /*keepdim=*/true);
  if (!all(lt(abs(largest.values), INFINITY)).item())
    throw ValueError("sample: the largest logit of a row is not finite (NaN counts as the largest)");
  if (o.temperature == 0) return select(largest.indices, -1, 0);

  const int64_t all_tokens = logits.size(-1), k = o.top_k > 0 ? std::min(o.top_k, all_tokens) : all_tokens;
  const bool cut = k < all_tokens || o.top_p < 1;
  const ValuesIndices sorted = cut ? topk(logits, k, -1) : ValuesIndices{logits, {}};
  // From the largest, which becomes 0: however low the temperature, nothing overflows to +inf.
  const Tensor score = sub(to(sorted.values, DType::float64), to(largest.values, DType::float64));
  Tensor weights = softmax(div(score, o.temperature), -1);
  if (o.top_p < 1) weights = masked_fill(weights, ge(sub(cumsum(weights, -1), weights), o.top_p), 0);
  const Tensor drawn = multinomial(weights, 1, /*replacement=*/true, generator);
  return select(cut ? gather(sorted.indices, -1, drawn) : drawn, -1, 0);
}

}  // namespace tutti::nn
