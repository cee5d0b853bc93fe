#include "tutti/ops/create.h"

#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

Tensor filled(const char* op, const Dims& shape, double value, TensorOptions options) {
  if (options.dtype != DType::boolean) check_number(op, value, options.dtype);
  const Output y = output(shape, options.dtype, options.device);
  kernel::fill::on(y.device())(row_of(y), value);
  return no_gradient(y);
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
Tensor full(const Dims& shape, double value, TensorOptions options) { return filled("full", shape, value, options); }
Tensor zeros_like(const Tensor& x) {
  const TensorOptions options = options_of("zeros_like", x);
  return filled("zeros_like", x.shape(), 0, options);
}
Tensor ones_like(const Tensor& x) {
  const TensorOptions options = options_of("ones_like", x);
  return filled("ones_like", x.shape(), 1, options);
}
Tensor full_like(const Tensor& x, double value) {
  const TensorOptions options = options_of("full_like", x);
  return filled("full_like", x.shape(), value, options);
}

Tensor arange(double begin, double end, double step, TensorOptions options) {
  const double count = std::ceil((end - begin) / step);
  if (!std::isfinite(begin) || !std::isfinite(end) || !std::isfinite(step) || step == 0 || count < 0)
    throw ValueError(message("arange: step ", step, " does not lead from ", begin, " to ", end));
  if (count > 0x1p53) throw ValueError(message("arange: ", count, " elements are too many"));
  const auto n = static_cast<int64_t>(count);
  if (n > 0) {
    check_number("arange", begin, options.dtype);
    check_number("arange", begin + static_cast<double>(n - 1) * step, options.dtype);
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
