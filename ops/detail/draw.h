// Random numbers straight into an existing tensor, for nn/init: no second copy of it is made on the way.
#pragma once
#include "tutti/core/generator.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::detail {

/// x = rand * scale + shift, with the bits of those three operations. x is contiguous float32 or float64; `op` is whose
/// change in place it is.
void draw_uniform(const char* op, const Tensor& x, double scale, double shift, Generator& generator);
/// x = randn * scale + shift likewise.
void draw_normal(const char* op, const Tensor& x, double scale, double shift, Generator& generator);
/// x limited to [low, high].
void clamp_in_place(const char* op, const Tensor& x, double low, double high);

}  // namespace tutti::detail
#pragma GCC visibility pop
