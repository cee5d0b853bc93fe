#include "tutti/ops/detail/draw.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/arithmetic.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/backends/contract/random.h"
#include "tutti/backends/contract/unary.h"

namespace tutti::detail {
namespace {

/// y = y * scale + shift; y may be an operand of its own elementwise operation.
void scale_and_shift(const Output& y, double scale, double shift) {
  const auto arithmetic = kernel::arithmetic_scalar::on(y.device());
  const Tensor self = Access::tensor(Access::handle(y));
  arithmetic(Arithmetic::mul, elements(y, self), scale, false);
  arithmetic(Arithmetic::add, elements(y, self), shift, false);
}

}  // namespace

void draw_uniform(const char* op, const Tensor& x, double scale, double shift, Generator& generator) {
  const Output y = in_place(op, x);
  kernel::random_uniform::on(y.device())(row_of(y), generator.next_for(op, y.device()));
  scale_and_shift(y, scale, shift);
}

void draw_normal(const char* op, const Tensor& x, double scale, double shift, Generator& generator) {
  const Output y = in_place(op, x);
  kernel::random_normal::on(y.device())(row_of(y), generator.next_for(op, y.device()));
  scale_and_shift(y, scale, shift);
}

void clamp_in_place(const char* op, const Tensor& x, double low, double high) {
  const Output y = in_place(op, x);
  kernel::clamp::on(y.device())(elements(y, x), low, high);
}

}  // namespace tutti::detail
