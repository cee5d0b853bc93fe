// Normalisation over the last axis.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// (x - mean) / sqrt(var + eps) * weight + bias over the last axis of width n (Ba et al. 2016); weight and bias [n] may
/// be undefined. Mean and (biased) variance in two passes.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
/// x / sqrt(mean(x^2) + eps) * weight (Zhang & Sennrich 2019).
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-6);

}  // namespace tutti
#pragma GCC visibility pop
