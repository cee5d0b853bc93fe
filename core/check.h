// Checks of arguments that operations share, each with one wording.
#pragma once
#include "tutti/core/number.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// ValueError "mul: b is undefined".
void check_defined(const char* op, const char* argument, const Tensor& x);
/// Both defined, of one dtype and on one device: else ValueError, DTypeError or DeviceError.
void check_same(const char* op, const Tensor& a, const Tensor& b, const char* name_a = "a", const char* name_b = "b");
/// Defined, and float32, float64, bfloat16 or float16: else ValueError or DTypeError.
void check_floating(const char* op, const Tensor& x, const char* argument = "x");
void check_floating(const char* op, DType dtype);
/// Defined, and of this dtype: else ValueError or DTypeError.
void check_dtype(const char* op, const char* argument, const Tensor& x, DType wanted);
/// ValueError if an integer dtype cannot hold the number: "mul: 0.5 is not a value of int64; convert with to(x,
/// dtype)".
void check_number(const char* op, Number number, DType dtype);
/// The axis of a tensor that has axes, as normalize_dim gives it: IndexError for a 0-d one too.
int check_axis(const char* op, int64_t axis, const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
