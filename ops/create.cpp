#include "tutti/ops/create.h"

#include <algorithm>
#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

Tensor filled(const char* op, const Dims& shape, Number value, TensorOptions options) {
  if (options.dtype != DType::boolean) check_number(op, value, options.dtype);
  const Output y = output(shape, options.dtype, options.device);
  kernel::fill::on(y.device())(row_of(y), value);
  return no_gradient(y);
}

/// ceil((end - begin) / step), exact: a double is enough for what memory holds. No integer lies between `end` and the
/// one that it is rounded to, away from begin.
double whole_steps(int64_t begin, Number end, int64_t step) {
  __extension__ using Wide = __int128;
  const double limit = step > 0 ? std::ceil(end.real()) : std::floor(end.real());
  const Wide to = end.is_integer() ? Wide{end.whole()} : static_cast<Wide>(std::clamp(limit, -0x1p100, 0x1p100));
  const Wide way = to - begin, by = step;
  return static_cast<double>(way / by + (way % by != 0 && (way > 0) == (by > 0) ? 1 : 0));
}

TensorOptions options_of(const char* op, const Tensor& x) {
  check_defined(op, "x", x);
  return {x.dtype(), x.device()};
}

}  // namespace

Tensor empty(const Dims& shape, TensorOptions options) {
  return no_gradient(output(shape, options.dtype, options.device));
}
Tensor zeros(const Dims& shape, TensorOptions options) { return filled("zeros", shape, 0, options); }
Tensor ones(const Dims& shape, TensorOptions options) { return filled("ones", shape, 1, options); }
Tensor full(const Dims& shape, Number value, TensorOptions options) { return filled("full", shape, value, options); }
Tensor zeros_like(const Tensor& x) {
  const TensorOptions options = options_of("zeros_like", x);
  return filled("zeros_like", x.shape(), 0, options);
}
Tensor ones_like(const Tensor& x) {
  const TensorOptions options = options_of("ones_like", x);
  return filled("ones_like", x.shape(), 1, options);
}
Tensor full_like(const Tensor& x, Number value) {
  const TensorOptions options = options_of("full_like", x);
  return filled("full_like", x.shape(), value, options);
}

Tensor arange(Number begin, Number end, Number step, TensorOptions options) {
  const double from = begin.real(), to = end.real(), by = step.real();
  if (!std::isfinite(from) || !std::isfinite(to) || !std::isfinite(by) || by == 0)
    throw ValueError(message("arange: step ", step, " does not lead from ", begin, " to ", end));
  const bool whole = !is_floating(options.dtype);
  if (whole) {
    check_number("arange", begin, DType::int64);
    check_number("arange", step, DType::int64);
  }
  const double count = whole ? whole_steps(begin.whole(), end, step.whole()) : std::ceil((to - from) / by);
  if (count < 0) throw ValueError(message("arange: step ", step, " does not lead from ", begin, " to ", end));
  if (count > 0x1p53) throw ValueError(message("arange: ", count, " elements are too many"));
  const auto n = static_cast<int64_t>(count);
  if (n > 0 && whole) {
    const uint64_t way = static_cast<uint64_t>(n - 1) * static_cast<uint64_t>(step.whole());  // may pass 2^63, not 2^64
    check_number("arange", begin, options.dtype);
    check_number("arange", static_cast<int64_t>(static_cast<uint64_t>(begin.whole()) + way), options.dtype);
  }
  const Output y = output({n}, options.dtype, options.device);
  kernel::arange::on(y.device())(row_of(y), begin, step);
  return no_gradient(y);
}

Tensor linspace(double begin, double end, int64_t n, TensorOptions options) {
  if (n < 0) throw ValueError(message("linspace: the number of elements, ", n, ", is negative"));
  if (!std::isfinite(begin) || !std::isfinite(end))
    throw ValueError(message("linspace: from ", begin, " to ", end, " is not finite"));
  check_number("linspace", begin, options.dtype);
  check_number("linspace", end, options.dtype);
  const Output y = output({n}, options.dtype, options.device);
  kernel::linspace::on(y.device())(row_of(y), begin, end);
  return no_gradient(y);
}

Tensor eye(int64_t n, TensorOptions options) {
  if (n < 0) throw ValueError(message("eye: size ", n, " is negative"));
  const Output y = output({n, n}, options.dtype, options.device);
  const auto fill = kernel::fill::on(y.device());
  fill(row_of(y), 0);
  fill({y.data(), y.dtype(), n, n + 1, 1, {}, {}}, 1);  // the diagonal
  return no_gradient(y);
}

}  // namespace tutti
