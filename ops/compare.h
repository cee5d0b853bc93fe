// Comparisons (bool tensors, no gradient), logic, and selection by a condition. Operands broadcast and must agree in
// dtype and device; a number takes the tensor's dtype, of which it must be a value if that is an integer one
// (ValueError). Comparisons with NaN are false, except ne.
#pragma once
#include "tutti/core/number.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// a == b; and so on for !=, <, <=, >, >=. Bool, of the broadcast shape.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, Number b);
Tensor ne(const Tensor& a, Number b);
Tensor lt(const Tensor& a, Number b);
Tensor le(const Tensor& a, Number b);
Tensor gt(const Tensor& a, Number b);
Tensor ge(const Tensor& a, Number b);
Tensor logical_and(const Tensor& a, const Tensor& b);  ///< bool operands
Tensor logical_or(const Tensor& a, const Tensor& b);   ///< bool operands
Tensor logical_not(const Tensor& x);                   ///< bool operand
Tensor isnan(const Tensor& x);                         ///< false for integers
/// condition ? a : b, broadcast; condition is bool, a and b of one dtype.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// x with `value` where mask (bool, broadcast to x) is true; no gradient flows there.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value);

inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator<(const Tensor& a, Number b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, Number b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, Number b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, Number b) { return ge(a, b); }

}  // namespace tutti
#pragma GCC visibility pop
