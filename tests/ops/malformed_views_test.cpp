// Malformed calls, each with the exact type and text of its error: views, joins and indexing.
#include <cmath>

#include "support/malformed.h"

using namespace tutti;
using namespace tutti_test;

TEST_CASE("malformed: views") {
  check_malformed({
      {[](const Given& g) {
         reshape(g.x, {4, 2});
       },
       "ShapeError", "reshape: shape [2, 3] to [4, 2]: the numbers of elements differ"},
      {[](const Given& g) {
         reshape(g.x, {-1, -1});
       },
       "ShapeError", "reshape: shape [2, 3] to [-1, -1]: only one size may be -1"},
      {[](const Given& g) {
         reshape(g.x, {-2, -3});
       },
       "ShapeError", "reshape: shape [2, 3] to [-2, -3]: a size is negative"},
      {[](const Given& g) {
         reshape(g.x, {-1, 4});
       },
       "ShapeError", "reshape: shape [2, 3] to [-1, 4]: the number of elements is not divisible"},
      {[](const Given& g) {
         reshape(g.x, {0, -1});
       },
       "ShapeError", "reshape: shape [2, 3] to [0, -1]: -1 is ambiguous beside a size of 0"},
      {[](const Given& g) { reshape(g.none, {1}); }, "ValueError", "reshape: x is undefined"},
      {[](const Given& g) { flatten(g.x, 1, 0); }, "ValueError", "flatten: first axis 1 lies behind the last, 0"},
      {[](const Given& g) { flatten(g.x, 2); }, "IndexError",
       "flatten: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { flatten(g.none); }, "ValueError", "flatten: x is undefined"},
      {[](const Given& g) {
         permute(g.x, {0, 0});
       },
       "ShapeError", "permute: axes [0, 0] are not an order of the 2 axes of [2, 3]"},
      {[](const Given& g) { permute(g.x, {0}); }, "ShapeError",
       "permute: axes [0] are not an order of the 2 axes of [2, 3]"},
      {[](const Given& g) {
         permute(g.x, {0, 2});
       },
       "IndexError", "permute: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { permute(g.none, {0}); }, "ValueError", "permute: x is undefined"},
      {[](const Given& g) { transpose(g.x, 0, 2); }, "IndexError",
       "transpose: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { transpose(g.x, -3, 0); }, "IndexError",
       "transpose: axis -3 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { transpose(g.none, 0, 1); }, "ValueError", "transpose: x is undefined"},
      {[](const Given& g) { slice(g.x, 1, 0, 2, 0); }, "ValueError", "slice: step 0 must be positive"},
      {[](const Given& g) { slice(g.x, 1, 0, 2, -1); }, "ValueError", "slice: step -1 must be positive"},
      {[](const Given& g) { slice(g.x, 2, 0, 1); }, "IndexError",
       "slice: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { slice(g.scalar, 0, 0, 1); }, "IndexError", "slice: a 0-d tensor has no axis 0"},
      {[](const Given& g) { slice(g.none, 0, 0, 1); }, "ValueError", "slice: x is undefined"},
      {[](const Given& g) { select(g.x, 1, 3); }, "IndexError",
       "select: index 3 is out of range for axis 1 of shape [2, 3]"},
      {[](const Given& g) { select(g.x, 0, -3); }, "IndexError",
       "select: index -3 is out of range for axis 0 of shape [2, 3]"},
      {[](const Given& g) { select(g.x, 2, 0); }, "IndexError",
       "select: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { select(g.scalar, 0, 0); }, "IndexError", "select: a 0-d tensor has no axis 0"},
      {[](const Given& g) { select(g.none, 0, 0); }, "ValueError", "select: x is undefined"},
      {[](const Given& g) { unsqueeze(g.x, 3); }, "IndexError",
       "unsqueeze: axis 3 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { unsqueeze(g.x, -4); }, "IndexError",
       "unsqueeze: axis -4 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { unsqueeze(g.none, 0); }, "ValueError", "unsqueeze: x is undefined"},
      {[](const Given&) {
         unsqueeze(zeros({1, 1, 1, 1, 1, 1, 1, 1}), 0);
       },
       "ShapeError", "a tensor has at most 8 dimensions"},
      {[](const Given& g) { squeeze(g.x, 1); }, "ShapeError", "squeeze: axis 1 of shape [2, 3] has size 3, not 1"},
      {[](const Given& g) { squeeze(g.x, 5); }, "IndexError",
       "squeeze: axis 5 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { squeeze(g.none); }, "ValueError", "squeeze: x is undefined"},
      {[](const Given& g) {
         expand(g.x, {3, 3});
       },
       "ShapeError", "expand: shape [2, 3] does not broadcast to [3, 3] at axis 0"},
      {[](const Given& g) { expand(g.x, {3}); }, "ShapeError", "expand: shape [2, 3] has more axes than [3]"},
      {[](const Given& g) {
         expand(g.x, {-1, 2, 3});
       },
       "ShapeError", "expand: shape [2, 3] does not broadcast to [-1, 2, 3] at axis 0"},
      {[](const Given& g) { expand(g.none, {1}); }, "ValueError", "expand: x is undefined"},
      {[](const Given& g) {
         split(g.x, Dims{1, 1}, 1);
       },
       "ShapeError", "split: sizes [1, 1] do not add up to 3, the size of axis 1 of shape [2, 3]"},
      {[](const Given& g) {
         split(g.x, Dims{4, -1}, 1);
       },
       "ShapeError", "split: sizes [4, -1]: one is negative"},
      {[](const Given& g) { split(g.x, Dims{}, 0); }, "ShapeError",
       "split: sizes [] do not add up to 2, the size of axis 0 of shape [2, 3]"},
      {[](const Given& g) { split(g.x, 0); }, "ValueError", "split: the pieces' size must be positive, not 0"},
      {[](const Given& g) { split(g.x, -1); }, "ValueError", "split: the pieces' size must be positive, not -1"},
      {[](const Given& g) { split(g.x, 1, 2); }, "IndexError",
       "split: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { split(g.scalar, 1); }, "IndexError", "split: a 0-d tensor has no axis 0"},
      {[](const Given& g) { chunk(g.x, 0); }, "ValueError", "chunk: the number of pieces must be positive, not 0"},
      {[](const Given& g) { chunk(g.x, 2, -3); }, "IndexError",
       "chunk: axis -3 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { chunk(g.none, 2); }, "ValueError", "chunk: x is undefined"},
      {[](const Given& g) { contiguous(g.none); }, "ValueError", "contiguous: x is undefined"},
  });
}

TEST_CASE("malformed: joins") {
  check_malformed({
      {[](const Given&) { cat({}); }, "ValueError", "cat: no tensors"},
      {[](const Given& g) {
         cat({g.x, g.none});
       },
       "ValueError", "cat: tensor 1 is undefined"},
      {[](const Given& g) {
         cat({g.x, zeros({3, 4})});
       },
       "ShapeError",
       "cat: tensor 1 has shape [3, 4], tensor 0 has [2, 3] (they differ at axis 1, beside the joined axis 0)"},
      {[](const Given& g) {
         cat({g.x, zeros({3})});
       },
       "ShapeError", "cat: tensor 1 has shape [3], tensor 0 has [2, 3] (the numbers of axes differ)"},
      {[](const Given& g) {
         cat({g.x, zeros({2, 3}, {.dtype = DType::float64})});
       },
       "DTypeError", "cat: tensor 1 is float64, tensor 0 is float32"},
      {[](const Given& g) { cat({g.x}, 2); }, "IndexError", "cat: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { cat({g.scalar}); }, "ShapeError",
       "cat: 0-d tensors have no axis to join along; stack() makes one"},
      {[](const Given&) { stack({}); }, "ValueError", "stack: no tensors"},
      {[](const Given& g) {
         stack({g.x, zeros({2, 4})});
       },
       "ShapeError", "stack: tensor 1 has shape [2, 4], tensor 0 has [2, 3]"},
      {[](const Given& g) { stack({g.x}, 3); }, "IndexError",
       "stack: axis 3 is out of range for shape [2, 3] and a new axis"},
      {[](const Given& g) {
         stack({g.x, g.indices});
       },
       "DTypeError", "stack: tensor 1 is int64, tensor 0 is float32"},
      {[](const Given& g) { stack({g.none}); }, "ValueError", "stack: tensor 0 is undefined"},
      {[](const Given& g) {
         pad(g.x, {1}, {1, 1});
       },
       "ShapeError", "pad: amounts [1] and [1, 1] for shape [2, 3] (one per axis)"},
      {[](const Given& g) {
         pad(g.x, {1, -1}, {1, 1});
       },
       "ValueError", "pad: amounts [1, -1] and [1, 1]: negative at axis 1"},
      {[](const Given& g) { pad(g.indices, {1}, {1}, 0.5); }, "ValueError",
       "pad: 0.5 is not a value of int64; convert with to(x, dtype)"},
      {[](const Given& g) { pad(g.indices, {INT64_MAX}, {1}); }, "ShapeError",
       "pad: amounts [9223372036854775807] and [1] are too large at axis 0"},
      {[](const Given&) {
         const Tensor huge = expand(zeros({}), {int64_t{1} << 61});
         cat({huge, huge, huge, huge}, 0);
       },
       "ShapeError", "cat: the sizes along axis 0 add up to more than 64 bits hold"},
      {[](const Given& g) { pad(g.none, {}, {}); }, "ValueError", "pad: x is undefined"},
  });
}

TEST_CASE("malformed: indexing") {
  check_malformed({
      {[](const Given& g) {
         embedding(Tensor::from({0, 1, 7}, {3}, DType::int64), g.weight);
       },
       "IndexError", "embedding: index 7 at position 2 is out of range [0, 5)"},
      {[](const Given& g) {
         embedding(Tensor::from({0, -1}, {2}, DType::int32), g.weight);
       },
       "IndexError", "embedding: index -1 at position 1 is out of range [0, 5)"},
      {[](const Given& g) { embedding(g.x, g.weight); }, "DTypeError",
       "embedding: index must be int64 or int32, not float32"},
      {[](const Given& g) { embedding(g.indices, g.scalar); }, "ShapeError",
       "embedding: weight of shape [] is not 2-d"},
      {[](const Given& g) { embedding(g.none, g.weight); }, "ValueError", "embedding: index is undefined"},
      {[](const Given& g) { embedding(g.indices, g.none); }, "ValueError", "embedding: weight is undefined"},
      {[](const Given& g) { index_select(g.x, 0, Tensor::from({2}, {1}, DType::int64)); }, "IndexError",
       "index_select: index 2 at position 0 is out of range [0, 2)"},
      {[](const Given& g) { index_select(g.x, 2, g.indices); }, "IndexError",
       "index_select: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { index_select(g.x, 0, g.x); }, "ShapeError",
       "index_select: index of shape [2, 3] is not 1-d"},
      {[](const Given& g) {
         index_select(g.x, 0, reshape(g.indices, {1, 3}));
       },
       "ShapeError", "index_select: index of shape [1, 3] is not 1-d"},
      {[](const Given& g) { index_select(g.x, 0, g.none); }, "ValueError", "index_select: index is undefined"},
      {[](const Given& g) { index_select(g.scalar, 0, g.indices); }, "IndexError",
       "index_select: a 0-d tensor has no axis 0"},
      {[](const Given& g) { gather(g.x, 0, g.indices); }, "ShapeError",
       "gather: index of shape [3] does not fit into shape [2, 3] beside axis 0"},
      {[](const Given& g) {
         gather(g.x, 1, Tensor::from({0, 3}, {2, 1}, DType::int64));
       },
       "IndexError", "gather: index 3 at position 1 is out of range [0, 3)"},
      {[](const Given& g) {
         gather(g.x, 0, zeros({1, 4}, {.dtype = DType::int64}));
       },
       "ShapeError", "gather: index of shape [1, 4] does not fit into shape [2, 3] beside axis 0"},
      {[](const Given& g) {
         gather(g.x, 2, zeros({1, 1}, {.dtype = DType::int64}));
       },
       "IndexError", "gather: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { gather(g.x, 0, g.x); }, "DTypeError", "gather: index must be int64 or int32, not float32"},
      {[](const Given& g) { gather(g.x, 0, g.none); }, "ValueError", "gather: index is undefined"},
      {[](const Given& g) {
         scatter_add(g.x, 0, zeros({1, 2}, {.dtype = DType::int64}), zeros({2, 1}));
       },
       "ShapeError", "scatter_add: source of shape [2, 1] for an index of shape [1, 2]"},
      {[](const Given& g) {
         scatter_add(g.x, 0, zeros({1, 2}, {.dtype = DType::int64}), zeros({1, 2}, {.dtype = DType::float64}));
       },
       "DTypeError", "scatter_add: dtypes float32 and float64 differ; convert one with to(x, dtype)"},
      {[](const Given& g) {
         scatter_add(g.x, 0, full({1, 1}, 2, {.dtype = DType::int64}), zeros({1, 1}));
       },
       "IndexError", "scatter_add: index 2 at position 0 is out of range [0, 2)"},
      {[](const Given& g) { scatter_add(g.flags, 0, zeros({2}, {.dtype = DType::int64}), g.flags); }, "DTypeError",
       "scatter_add: bool values cannot be added"},
      {[](const Given& g) {
         scatter_add(g.x, 0, zeros({1, 1}, {.dtype = DType::int64}), g.none);
       },
       "ValueError", "scatter_add: source is undefined"},
      {[](const Given& g) { one_hot(g.indices, 2); }, "IndexError",
       "one_hot: index 2 at position 2 is out of range [0, 2)"},
      {[](const Given& g) { one_hot(g.indices, -1); }, "ValueError", "one_hot: the number of classes, -1, is negative"},
      {[](const Given& g) { one_hot(g.x, 3); }, "DTypeError", "one_hot: index must be int64 or int32, not float32"},
      {[](const Given& g) { one_hot(g.none, 3); }, "ValueError", "one_hot: index is undefined"},
      {[](const Given& g) { tril(g.scalar); }, "ShapeError", "tril: shape [] has fewer than 2 axes"},
      {[](const Given&) { triu(zeros({3})); }, "ShapeError", "triu: shape [3] has fewer than 2 axes"},
      {[](const Given& g) { tril(g.none); }, "ValueError", "tril: x is undefined"},
  });
}
