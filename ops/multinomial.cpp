#include "tutti/ops/multinomial.h"

#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/multinomial.h"
#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/cumulative.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/random.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

namespace tutti {
namespace {

/// How many weights above 0 the line with the fewest has; one wait for the device.
int64_t least_positive(const Tensor& weights) {
  const Tensor valid = logical_and(ge(weights, 0), lt(weights, INFINITY));
  const Tensor count = sum(gt(weights, 0), -1), all_valid = all(valid, -1);
  const double least = min(where(all_valid, count, full_like(count, -1))).item();
  if (least < 0) throw ValueError("multinomial: a weight is negative or not finite");
  return static_cast<int64_t>(least);
}

}  // namespace

Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement, Generator& generator) {
  check_floating("multinomial", weights, "weights");
  if (weights.rank() != 1 && weights.rank() != 2)
    throw ShapeError(message("multinomial: weights of shape ", weights.shape(), " are not [V] or [B, V]"));
  if (num_samples < 0) throw ValueError(message("multinomial: num_samples = ", num_samples, " is negative"));
  const no_grad off;
  const Tensor w = contiguous(to(weights, DType::float64));
  Dims shape = w.shape();
  shape[shape.n - 1] = num_samples;
  if (shape.product() == 0) return zeros(shape, {DType::int64, w.device()});
  const int64_t needed = replacement ? 1 : num_samples, there = w.size(-1) ? least_positive(w) : 0;
  if (there < needed)
    throw ValueError(message("multinomial: ", num_samples, " draws ", replacement ? "with" : "without",
                             " replacement from ", there, " weights above 0 (weights of shape ", w.shape(), ")"));
  if (!replacement) {  // the largest w / E, E exponential: where w is 0, 0
    const Tensor u = rand(w.shape(), {DType::float64, w.device()}, generator);
    return topk(div(w, add(neg(log(sub(1, u))), 1e-300)), num_samples, -1).indices;
  }
  const Output y = output(shape, DType::int64, w.device());
  const Tensor sums = cumsum(w, -1);
  kernel::multinomial::on(w.device())(sums.data<double>(), w.numel() / w.size(-1), w.size(-1), num_samples,
                                      generator.next_for("multinomial", w.device()), y.data<int64_t>());
  return no_gradient(y);
}

}  // namespace tutti
