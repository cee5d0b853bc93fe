// Affine maps.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// x [.., in] times weight [out, in] transposed, plus bias [out] (may be undefined): [.., out].
/// "linear: input width 12 does not match weight [8, 16] (in = 16)".
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// Block-diagonal linear: x [.., in], weight [G, out/G, in/G], bias [out] (may be undefined): [.., out], where group
/// i's contiguous in/G inputs give its contiguous out/G outputs. One strided product per group straight from x into y:
/// nothing is copied or concatenated. The same as a 1x1 convolution with groups = G. With weight [P, G, out/G, in/G]
/// and bias [P * out], P such maps of the same x, one after another: [.., P * out] (q, k and v from one call). G = 1 is
/// `linear` bit for bit.
Tensor grouped_linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tutti
#pragma GCC visibility pop
