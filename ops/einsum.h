// Einstein's summation convention.
#pragma once
#include <string_view>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// The sum of products that an equation such as "bij,bjk->bik" names: one letter for each axis, and the letters of the
/// result; what is not among them is summed over. Without "->" the result has the letters that occur once, in
/// alphabetical order. Blanks may stand anywhere. Computed by one matmul of views (by mul, where nothing is summed over
/// that both have), so that dtypes are as there: floating. Not supported: "..." and a letter twice in one operand.
/// ValueError says what is wrong with an equation, ShapeError which sizes differ.
Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b);
/// Of one operand: axes in another order, and summed over ("ij->j"); where none is, a view.
Tensor einsum(std::string_view equation, const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
