// Groups one after another: each sees what the one before it found.
#pragma once
#include <functional>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// The attention of one group: its q, k and v side by side [.., 3 g], and its number, to its result [.., g].
using GroupAttention = std::function<Tensor(const Tensor& qkv, int64_t group)>;

/// Cascaded group attention (EfficientViT, Liu et al., CVPR 2023): y_0 = attend(W_0 x_0 + b_0) and
/// y_j = attend(W_j (x_j + y_{j-1}) + b_j); the results side by side. x [.., C], weight [3, G, g, g] and bias [3 C]
/// (may be undefined) as for grouped_linear, to [.., C]. The groups run one after another, so this is slower than
/// groups side by side. ShapeError if the shapes do not fit.
Tensor cascade(const Tensor& x, const Tensor& weight, const Tensor& bias, const GroupAttention& attend);

}  // namespace tutti::nn
#pragma GCC visibility pop
