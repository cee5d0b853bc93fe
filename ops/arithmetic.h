// Binary arithmetic with NumPy's broadcasting; a number takes the tensor's dtype (ValueError where an integer dtype
// cannot hold it; float32 beside the half types, which are computed in it). Integers wrap around; bool has no
// arithmetic (DTypeError).
#pragma once
#include "tutti/core/number.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// a + b. Dtypes and devices must agree (DTypeError, DeviceError); ShapeError if the shapes do not broadcast.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);  ///< a - b
Tensor mul(const Tensor& a, const Tensor& b);  ///< a b, elementwise
/// a / b. Integers are divided as floats are in PyTorch: DTypeError, convert first.
Tensor div(const Tensor& a, const Tensor& b);
/// With a number: ValueError where an integer dtype cannot hold it.
Tensor add(const Tensor& a, Number b);
Tensor sub(const Tensor& a, Number b);
Tensor sub(Number a, const Tensor& b);
Tensor mul(const Tensor& a, Number b);
Tensor div(const Tensor& a, Number b);
Tensor div(Number a, const Tensor& b);
/// Elementwise; a NaN in either operand gives NaN. Equal operands share the gradient half and half, as in PyTorch.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
/// x^exponent. The gradient at x = 0 with exponent 0 is 0.
Tensor pow(const Tensor& x, double exponent);
Tensor pow(const Tensor& x, const Tensor& exponent);

/// In place, as copy_: a = a + b written into a's memory, where every view of it sees it; b is broadcast to a's shape.
/// Not recorded, so that outside no_grad it is an AutogradError if one of the two requires a gradient (write a = a + b
/// there). Errors as above, and ShapeError if b is larger than a.
void add_(const Tensor& a, const Tensor& b);
void sub_(const Tensor& a, const Tensor& b);
void mul_(const Tensor& a, const Tensor& b);
void div_(const Tensor& a, const Tensor& b);
void add_(const Tensor& a, Number b);
void sub_(const Tensor& a, Number b);
void mul_(const Tensor& a, Number b);
void div_(const Tensor& a, Number b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, Number b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, Number b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, Number b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, Number b) { return div(a, b); }
inline Tensor operator+(Number a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(Number a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(Number a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(Number a, const Tensor& b) { return div(a, b); }
inline void operator+=(const Tensor& a, const Tensor& b) { add_(a, b); }
inline void operator-=(const Tensor& a, const Tensor& b) { sub_(a, b); }
inline void operator*=(const Tensor& a, const Tensor& b) { mul_(a, b); }
inline void operator/=(const Tensor& a, const Tensor& b) { div_(a, b); }
inline void operator+=(const Tensor& a, Number b) { add_(a, b); }
inline void operator-=(const Tensor& a, Number b) { sub_(a, b); }
inline void operator*=(const Tensor& a, Number b) { mul_(a, b); }
inline void operator/=(const Tensor& a, Number b) { div_(a, b); }

}  // namespace tutti
#pragma GCC visibility pop
