// Initialisation, in place, from a generator. Fans are those of the last two axes [out, in]; leading axes (groups) are
// blocks of their own.
#pragma once
#include "tutti/core/generator.h"
#include "tutti/core/number.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::nn::init {

/// Every element: 0, 1 or a value.
void zeros_(const Tensor& x);
void ones_(const Tensor& x);
void constant_(const Tensor& x, Number value);
/// Uniform in [low, high): what rounding would bring to high is the last number below it. If the dtype has
/// no number in between: the nearest. ValueError unless low <= high and the dtype holds
/// both and their difference.
void uniform_(const Tensor& x, double low, double high, Generator& generator = default_generator());
/// Normal. ValueError on a negative deviation; the same for trunc_normal_.
void normal_(const Tensor& x, double mean = 0, double stddev = 1, Generator& generator = default_generator());
/// Normal, drawn again outside mean +- 2 stddev; rounding does not lead out of it either.
void trunc_normal_(const Tensor& x, double mean = 0, double stddev = 1, Generator& generator = default_generator());
/// Uniform within gain sqrt(6 / (in + out)) (Glorot & Bengio 2010).
void xavier_uniform_(const Tensor& x, double gain = 1, Generator& generator = default_generator());
/// Normal with deviation gain sqrt(2 / (in + out)).
void xavier_normal_(const Tensor& x, double gain = 1, Generator& generator = default_generator());
/// Uniform within gain sqrt(3 / in) (He et al. 2015); gain sqrt(2) for ReLU.
void kaiming_uniform_(const Tensor& x, double gain = 1.4142135623730951, Generator& generator = default_generator());
/// Normal with deviation gain / sqrt(in).
void kaiming_normal_(const Tensor& x, double gain = 1.4142135623730951, Generator& generator = default_generator());

}  // namespace tutti::nn::init
#pragma GCC visibility pop
