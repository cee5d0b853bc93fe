// Elements picked and placed by int64 or int32 indices (0 <= index < size, else IndexError), and triangles.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Rows of x along an axis, in the order of a 1-d index.
Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index);
/// y[i][j][k] = x[i][index[i][j][k]][k] for axis 1. index has x's rank; its size may be smaller on the other axes.
Tensor gather(const Tensor& x, int64_t axis, const Tensor& index);
/// A copy of x with source added: y[i][index[i][j][k]][k] += source[i][j][k] for axis 1, in index order (repeatable
/// bits).
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// int64 0/1 with a new last axis of `classes`.
Tensor one_hot(const Tensor& index, int64_t classes);
/// The last two axes' lower / upper triangle: elements with column - row <= diagonal / >= diagonal; the rest is 0.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);
/// Rows of weight [V, C] by index [...]: result [..., C]. The weight's gradient adds up duplicates in order.
Tensor embedding(const Tensor& index, const Tensor& weight);

}  // namespace tutti
#pragma GCC visibility pop
