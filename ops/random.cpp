#include "tutti/ops/random.h"

#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/backends/contract/random.h"
#include "tutti/core/error.h"
#include "tutti/ops/detail/unchanged.h"

namespace tutti {
namespace {

/// A probability as the number of 32-bit words, of 2^32, that lie below it.
uint64_t threshold_of(const char* op, double p) {
  if (!(p >= 0 && p <= 1)) throw ValueError(message(op, ": probability ", p, " is not in [0, 1]"));
  return static_cast<uint64_t>(std::nearbyint(p * 0x1p32));
}

/// The same mask as often as it is asked for: (key, threshold) say it all. Its gradient is itself.
Tensor masked(const Tensor& x, DrawKey key, uint64_t threshold, double scale) {
  const Output y = output_like(x);
  if (threshold >> 32)  // p = 1: nothing is left, not even a NaN
    kernel::fill::on(y.device())(row_of(y), 0);
  else
    kernel::dropout::on(y.device())(elements(y, x), key, static_cast<uint32_t>(threshold), scale);
  return with_grad("dropout", y, {x},
                   [=](Saved&, const Tensor& dy) { return Grads{masked(dy, key, threshold, scale)}; });
}

}  // namespace

Tensor rand(const Dims& shape, TensorOptions options, Generator& generator) {
  check_floating("rand", options.dtype);
  const Output y = output(shape, options.dtype, options.device);
  kernel::random_uniform::on(y.device())(row_of(y), generator.next_for("rand", y.device()));
  return no_gradient(y);
}

Tensor randn(const Dims& shape, TensorOptions options, Generator& generator) {
  check_floating("randn", options.dtype);
  const Output y = output(shape, options.dtype, options.device);
  kernel::random_normal::on(y.device())(row_of(y), generator.next_for("randn", y.device()));
  return no_gradient(y);
}

Tensor randint(int64_t low, int64_t high, const Dims& shape, TensorOptions options, Generator& generator) {
  if (low >= high) throw ValueError(message("randint: [", low, ", ", high, ") is empty"));
  int64_t least = INT64_MIN, most = INT64_MAX;
  if (options.dtype == DType::int32) least = INT32_MIN, most = INT32_MAX;
  if (options.dtype == DType::uint8) least = 0, most = UINT8_MAX;
  if (options.dtype == DType::boolean) least = 0, most = 1;
  // Floating dtypes: as far as they hold every integer, or one would be rounded out of the range.
  if (is_floating(options.dtype)) {
    most = int64_t{1} << (options.dtype == DType::float64   ? 53
                          : options.dtype == DType::float32 ? 24
                          : options.dtype == DType::float16 ? 11
                                                            : 8);
    least = -most;
  }
  if (low < least || high - 1 > most)
    throw ValueError(message("randint: [", low, ", ", high, ") does not fit ", options.dtype));
  const Output y = output(shape, options.dtype, options.device);
  kernel::random_integer::on(y.device())(row_of(y), generator.next_for("randint", y.device()), low,
                                         static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
  return no_gradient(y);
}

Tensor bernoulli(double p, const Dims& shape, TensorOptions options, Generator& generator) {
  const uint64_t threshold = threshold_of("bernoulli", p);
  const Output y = output(shape, options.dtype, options.device);
  const DrawKey key = generator.next_for("bernoulli", y.device());
  if (threshold >> 32)
    kernel::fill::on(y.device())(row_of(y), 1);
  else
    kernel::random_bernoulli::on(y.device())(row_of(y), key, static_cast<uint32_t>(threshold));
  return no_gradient(y);
}

Tensor randperm(int64_t n, Generator& generator, Device device) {
  if (n < 0) throw ValueError(message("randperm: n = ", n, " is negative"));
  const Output y = output({n}, DType::int64, device);
  kernel::random_permutation::on(y.device())(row_of(y), generator.next_for("randperm", y.device()));
  return no_gradient(y);
}

Tensor dropout(const Tensor& x, double p, bool training, Generator& generator) {
  check_floating("dropout", x);
  const uint64_t threshold = threshold_of("dropout", p);
  if (!training || threshold == 0) return detail::unchanged(x);
  return masked(x, generator.next_for("dropout", x.device()), threshold, p < 1 ? 1 / (1 - p) : 0);
}

}  // namespace tutti
