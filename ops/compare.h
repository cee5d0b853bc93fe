// Comparisons (bool tensors, no gradient), logic, and selection by a condition. Operands broadcast and must agree in
// dtype and device; with an integer tensor a number must be one of its dtype's values (ValueError). Comparisons with
// NaN are false, except ne.
#pragma once
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
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);
Tensor logical_and(const Tensor& a, const Tensor& b);  ///< bool operands
Tensor logical_or(const Tensor& a, const Tensor& b);   ///< bool operands
Tensor logical_not(const Tensor& x);                   ///< bool operand
Tensor isnan(const Tensor& x);                         ///< false for integers
/// condition ? a : b, broadcast; condition is bool, a and b of one dtype.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// x with `value` where mask (bool, broadcast to x) is true; no gradient flows there.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator<(const Tensor& a, double b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, double b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, double b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, double b) { return ge(a, b); }

}  // namespace tutti
#pragma GCC visibility pop
