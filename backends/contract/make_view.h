// Tensor -> view: for ops. Kernels include view.h only.
#pragma once
#include "tutti/backends/contract/view.h"
#include "tutti/core/check.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

ConstRows rows(const Tensor& x, int axis);  ///< axis already normalised; a 0-d tensor is one row of one element
Rows rows(const Output& y, int axis);
Rows row_of(const Output& y);  ///< all of a new, contiguous tensor as one row

/// The inputs are broadcast to the output's shape, which must fit (see broadcast()).
Elements<1> elements(const Output& y, const Tensor& a);
Elements<2> elements(const Output& y, const Tensor& a, const Tensor& b);
Elements<3> elements(const Output& y, const Tensor& a, const Tensor& b, const Tensor& c);

/// The last two axes as a matrix, the others as its batch, broadcast to `batch`.
ConstMatrix matrix(const Tensor& x, const Dims& batch = {});
Matrix matrix(const Output& y);

/// NumPy's rules. ShapeError "add: shapes [4, 3] and [4, 8] do not broadcast at axis 1 (3 vs 8)".
Dims broadcast(const char* op, const Dims& a, const Dims& b);
/// The same for two operands of one op: DTypeError or DeviceError if those differ.
Dims broadcast(const char* op, const Tensor& a, const Tensor& b);

/// For makers of views: merges axes that all k operands step through evenly; drops axes of size 1.
void coalesce(Dims& shape, Dims* const* strides, int k);

}  // namespace tutti
#pragma GCC visibility pop
