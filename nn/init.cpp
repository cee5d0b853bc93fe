#include "tutti/nn/init.h"

#include <cfloat>
#include <cmath>
#include <optional>
#include <utility>

#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/detail/draw.h"
#include "tutti/ops/random.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/unary.h"

namespace tutti::nn::init {
namespace {

/// Half types are drawn in float32 and rounded once.
TensorOptions drawn_like(const Tensor& x) {
  return {.dtype = x.dtype() == DType::float64 ? DType::float64 : DType::float32, .device = x.device()};
}

/// The number of x's dtype next to v: the last that is not above it, or the first that is not below it.
double neighbour(const Tensor& x, double v, bool below) {
  return tutti::visit(x.dtype(), [&]<class T>(T) -> double {
    const auto outside = [&](double y) { return below ? y > v : y < v; };
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
      T y = T::from(v);
      const auto value = [&] { return static_cast<double>(static_cast<float>(y)); };
      if (outside(value())) {
        // Bits count away from zero; 0 itself steps to the other sign.
        const bool away = (value() > 0) != below;
        y.bits = value() == 0 ? uint16_t(below ? 0x8001 : 1) : static_cast<uint16_t>(away ? y.bits + 1 : y.bits - 1);
      }
      return value();
    } else {
      const T y = static_cast<T>(v);
      return static_cast<double>(outside(static_cast<double>(y)) ? std::nextafter(y, below ? -INFINITY : INFINITY) : y);
    }
  });
}

/// The first and last number of x's dtype in [low, high], if there are any.
std::optional<std::pair<double, double>> limits_in(const Tensor& x, double low, double high) {
  if (!is_floating(x.dtype())) return {};
  const double first = neighbour(x, low, false), last = neighbour(x, high, true);
  if (!(first <= last)) return {};
  return std::pair(first, last);
}

/// Values in [low, high] that were rounded out of it, put back.
Tensor within(const Tensor& x, double low, double high) {
  const auto limits = limits_in(x, low, high);
  return limits ? clamp(x, limits->first, limits->second) : x;
}

/// Without a copy: weights are large, and most of a program's memory at its start.
bool drawn_in_place(const Tensor& x) {
  return x.is_contiguous() && (x.dtype() == DType::float32 || x.dtype() == DType::float64);
}

struct Fans {
  double in, out;
};
Fans fans(const char* op, const Tensor& x) {
  if (x.rank() < 2)
    throw ShapeError(message(op, ": shape ", x.shape(), " has no [out, in] axes (at least 2 axes are needed)"));
  return {static_cast<double>(x.size(-1)), static_cast<double>(x.size(-2))};
}

}  // namespace

void constant_(const Tensor& x, Number value) {
  const no_grad off;
  fill_(x, value);
}
void zeros_(const Tensor& x) { constant_(x, 0); }
void ones_(const Tensor& x) { constant_(x, 1); }

void uniform_(const Tensor& x, double low, double high, Generator& generator) {
  if (!(low <= high)) throw ValueError(message("uniform_: low ", low, " and high ", high, " are no range"));
  const TensorOptions drawn = drawn_like(x);
  const auto has = [&](double v) {  // in the dtype; the half types' ends are nearer
    return std::isfinite(drawn.dtype == DType::float64 ? v : double{Number(v).computed<float>(x.dtype())});
  };
  if (x.numel() > 0 && !(high - low <= (drawn.dtype == DType::float64 ? DBL_MAX : FLT_MAX) && has(low) && has(high)))
    throw ValueError(message("uniform_: the range from ", low, " to ", high, " is too wide for ", x.dtype()));
  const no_grad off;
  const double last = std::nextafter(high, -INFINITY);
  if (drawn_in_place(x)) {
    detail::draw_uniform("uniform_", x, high - low, low, generator);
    if (const auto limits = limits_in(x, low, last))
      detail::clamp_in_place("uniform_", x, limits->first, limits->second);
    return;
  }
  const Tensor values = add(mul(rand(x.shape(), drawn, generator), high - low), low);
  copy_(x, within(to(values, x.dtype()), low, last));
}

void normal_(const Tensor& x, double mean, double stddev, Generator& generator) {
  if (!(stddev >= 0)) throw ValueError(message("normal_: stddev ", stddev, " is negative"));
  const no_grad off;
  if (drawn_in_place(x)) return detail::draw_normal("normal_", x, stddev, mean, generator);
  copy_(x, add(mul(randn(x.shape(), drawn_like(x), generator), stddev), mean));
}

void trunc_normal_(const Tensor& x, double mean, double stddev, Generator& generator) {
  if (!(stddev >= 0)) throw ValueError(message("trunc_normal_: stddev ", stddev, " is negative"));
  const no_grad off;
  Tensor z = randn(x.shape(), drawn_like(x), generator);
  for (Tensor outside = gt(abs(z), 2); any(outside).item() != 0; outside = gt(abs(z), 2))
    z = where(outside, randn(x.shape(), drawn_like(x), generator), z);
  copy_(x, within(to(add(mul(z, stddev), mean), x.dtype()), mean - 2 * stddev, mean + 2 * stddev));
}

void xavier_uniform_(const Tensor& x, double gain, Generator& generator) {
  const Fans f = fans("xavier_uniform_", x);
  const double bound = std::abs(gain) * std::sqrt(6 / (f.in + f.out));
  uniform_(x, -bound, bound, generator);
}
void xavier_normal_(const Tensor& x, double gain, Generator& generator) {
  const Fans f = fans("xavier_normal_", x);
  normal_(x, 0, std::abs(gain) * std::sqrt(2 / (f.in + f.out)), generator);
}
void kaiming_uniform_(const Tensor& x, double gain, Generator& generator) {
  const double bound = std::abs(gain) * std::sqrt(3 / fans("kaiming_uniform_", x).in);
  uniform_(x, -bound, bound, generator);
}
void kaiming_normal_(const Tensor& x, double gain, Generator& generator) {
  normal_(x, 0, std::abs(gain) / std::sqrt(fans("kaiming_normal_", x).in), generator);
}

}  // namespace tutti::nn::init
