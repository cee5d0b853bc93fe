// Malformed calls, each with the exact type and text of its error: functions, reductions, products, losses, attention.
#include <cmath>

#include "support/malformed.h"

using namespace tutti;
using namespace tutti_test;

TEST_CASE("malformed: functions and activations") {
  check_malformed({
      {[](const Given& g) { exp(g.indices); }, "DTypeError", "exp: int64 is not a floating dtype"},
      {[](const Given& g) { log(g.indices); }, "DTypeError", "log: int64 is not a floating dtype"},
      {[](const Given& g) { log1p(g.none); }, "ValueError", "log1p: x is undefined"},
      {[](const Given& g) { sqrt(g.flags); }, "DTypeError", "sqrt: bool is not a floating dtype"},
      {[](const Given& g) { rsqrt(g.indices); }, "DTypeError", "rsqrt: int64 is not a floating dtype"},
      {[](const Given& g) { sin(g.none); }, "ValueError", "sin: x is undefined"},
      {[](const Given& g) { cos(g.indices); }, "DTypeError", "cos: int64 is not a floating dtype"},
      {[](const Given& g) { tanh(g.indices); }, "DTypeError", "tanh: int64 is not a floating dtype"},
      {[](const Given& g) { neg(g.flags); }, "DTypeError",
       "neg: bool tensors have no arithmetic; convert with to(x, dtype)"},
      {[](const Given& g) { abs(g.none); }, "ValueError", "abs: x is undefined"},
      {[](const Given& g) { clamp(g.x, 1, 0); }, "ValueError", "clamp: low 1 and high 0 are no range"},
      {[](const Given& g) { clamp(g.x, NAN, 1); }, "ValueError", "clamp: low nan and high 1 are no range"},
      {[](const Given& g) { clamp(g.indices, 0.5, 1); }, "ValueError",
       "clamp: 0.5 is not a value of int64; convert with to(x, dtype)"},
      {[](const Given& g) { sigmoid(g.indices); }, "DTypeError", "sigmoid: int64 is not a floating dtype"},
      {[](const Given& g) { relu(g.none); }, "ValueError", "relu: x is undefined"},
      {[](const Given& g) { gelu(g.indices); }, "DTypeError", "gelu: int64 is not a floating dtype"},
      {[](const Given& g) { silu(g.flags); }, "DTypeError", "silu: bool is not a floating dtype"},
  });
}

TEST_CASE("malformed: reductions") {
  check_malformed({
      {[](const Given& g) { sum(g.x, 2); }, "IndexError", "sum: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) {
         sum(g.x, Dims{0, 0});
       },
       "ValueError", "sum: axis 0 is given twice in [0, 0]"},
      {[](const Given& g) { sum(g.none); }, "ValueError", "sum: x is undefined"},
      {[](const Given& g) { mean(g.x, -3); }, "IndexError", "mean: axis -3 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { mean(g.none); }, "ValueError", "mean: x is undefined"},
      {[](const Given& g) { var(g.indices); }, "DTypeError", "var: int64 is not a floating dtype"},
      {[](const Given& g) { var(g.x, 5); }, "IndexError", "var: axis 5 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { stddev(g.flags); }, "DTypeError", "stddev: bool is not a floating dtype"},
      {[](const Given& g) { norm(g.x, 0); }, "ValueError", "norm: p must be positive, not 0"},
      {[](const Given& g) { norm(g.x, -1); }, "ValueError", "norm: p must be positive, not -1"},
      {[](const Given& g) { norm(g.indices); }, "DTypeError", "norm: int64 is not a floating dtype"},
      {[](const Given& g) { logsumexp(g.x, 2); }, "IndexError",
       "logsumexp: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { logsumexp(g.indices, 0); }, "DTypeError", "logsumexp: int64 is not a floating dtype"},
      {[](const Given& g) { sum_to(g.x, {2}); }, "ShapeError", "sum_to: shape [2, 3] is not a broadcast of [2]"},
      {[](const Given& g) {
         sum_to(g.x, {1, 1, 2});
       },
       "ShapeError", "sum_to: shape [2, 3] is not a broadcast of [1, 1, 2]"},
      {[](const Given& g) { any(g.x, 3); }, "IndexError", "any: axis 3 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { all(g.none); }, "ValueError", "all: x is undefined"},
      {[](const Given&) { max(zeros({0})); }, "ValueError", "max: shape [0] has no elements"},
      {[](const Given&) {
         max(zeros({2, 0}), 1);
       },
       "ValueError", "max: axis 1 of shape [2, 0] has no elements"},
      {[](const Given& g) { max(g.x, 2); }, "IndexError", "max: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { min(g.none); }, "ValueError", "min: x is undefined"},
      {[](const Given&) { argmax(zeros({0})); }, "ValueError", "argmax: shape [0] has no elements"},
      {[](const Given& g) { argmin(g.x, -3); }, "IndexError",
       "argmin: axis -3 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { topk(g.x, 4); }, "IndexError",
       "topk: k = 4 is out of range [0, 3] for axis -1 of shape [2, 3]"},
      {[](const Given& g) { topk(g.x, -1); }, "IndexError",
       "topk: k = -1 is out of range [0, 3] for axis -1 of shape [2, 3]"},
      {[](const Given& g) { topk(g.x, 1, 2); }, "IndexError", "topk: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { softmax(g.x, 2); }, "IndexError",
       "softmax: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { softmax(g.indices, 0); }, "DTypeError", "softmax: int64 is not a floating dtype"},
      {[](const Given& g) { log_softmax(g.x, -3); }, "IndexError",
       "log_softmax: axis -3 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { log_softmax(g.none, 0); }, "ValueError", "log_softmax: x is undefined"},
  });
}

TEST_CASE("malformed: products") {
  check_malformed({
      {[](const Given& g) {
         matmul(g.x, zeros({4, 5}));
       },
       "ShapeError", "matmul: shapes [2, 3] and [4, 5] do not multiply at axis 1 (3 vs 4)"},
      {[](const Given& g) { matmul(g.x, g.scalar); }, "ShapeError",
       "matmul: shapes [2, 3] and []: a 0-d tensor has no axis to multiply along; use mul"},
      {[](const Given&) {
         matmul(zeros({2, 2, 3}), zeros({3, 3, 2}));
       },
       "ShapeError", "matmul: shapes [2, 2, 3] and [3, 3, 2] do not broadcast at axis 0 (2 vs 3)"},
      {[](const Given& g) { matmul(g.x, g.indices); }, "DTypeError",
       "matmul: dtypes float32 and int64 differ; convert one with to(x, dtype)"},
      {[](const Given& g) { matmul(g.indices, g.indices); }, "DTypeError", "matmul: int64 is not a floating dtype"},
      {[](const Given& g) { matmul(g.none, g.x); }, "ValueError", "matmul: a is undefined"},
      {[](const Given& g) { bmm(g.x, g.x); }, "ShapeError",
       "bmm: shapes [2, 3] and [2, 3] are not [B, m, k] and [B, k, n]"},
      {[](const Given&) {
         bmm(zeros({2, 2, 3}), zeros({3, 3, 2}));
       },
       "ShapeError", "bmm: shapes [2, 2, 3] and [3, 3, 2] are not [B, m, k] and [B, k, n]"},
      {[](const Given&) {
         bmm(zeros({2, 2, 3}), zeros({2, 4, 2}));
       },
       "ShapeError", "bmm: shapes [2, 2, 3] and [2, 4, 2] do not multiply at axis 2 (3 vs 4)"},
      {[](const Given& g) {
         linear(g.x, zeros({4, 5}));
       },
       "ShapeError", "linear: input width 3 does not match weight [4, 5] (in = 5)"},
      {[](const Given& g) { linear(g.x, zeros({4})); }, "ShapeError", "linear: weight must be [out, in], not [4]"},
      {[](const Given& g) {
         linear(g.x, zeros({4, 3}), zeros({5}));
       },
       "ShapeError", "linear: bias of shape [5] does not match weight [4, 3] (out = 4)"},
      {[](const Given& g) {
         linear(g.scalar, zeros({4, 3}));
       },
       "ShapeError", "linear: input of shape [] has no axis of features"},
      {[](const Given& g) { linear(g.x, g.none); }, "ValueError", "linear: weight is undefined"},
      {[](const Given& g) {
         linear(g.x, zeros({4, 3}, {.dtype = DType::float64}));
       },
       "DTypeError", "linear: dtypes float32 and float64 differ; convert one with to(x, dtype)"},
      {[](const Given& g) {
         grouped_linear(g.x, zeros({2, 2, 2}));
       },
       "ShapeError", "grouped_linear: input width 3 does not match weight [2, 2, 2] (in = 2 * 2)"},
      {[](const Given& g) { grouped_linear(g.x, zeros({3})); }, "ShapeError",
       "grouped_linear: weight must be [G, out/G, in/G] or [P, G, out/G, in/G], not [3]"},
      {[](const Given& g) { grouped_linear(g.x, g.none); }, "ValueError", "grouped_linear: weight is undefined"},
  });
}

TEST_CASE("malformed: normalisation, losses, attention") {
  check_malformed({
      {[](const Given& g) { layer_norm(g.scalar); }, "ShapeError",
       "layer_norm: x has no axis to normalise over (shape [])"},
      {[](const Given& g) { layer_norm(g.x, zeros({2})); }, "ShapeError",
       "layer_norm: weight of shape [2] for x of shape [2, 3]; it must be [3]"},
      {[](const Given& g) { layer_norm(g.x, zeros({3}), zeros({2})); }, "ShapeError",
       "layer_norm: bias of shape [2] for x of shape [2, 3]; it must be [3]"},
      {[](const Given& g) { layer_norm(g.x, {}, {}, -1); }, "ValueError",
       "layer_norm: eps must be finite and not negative, but is -1"},
      {[](const Given& g) { layer_norm(g.indices); }, "DTypeError", "layer_norm: int64 is not a floating dtype"},
      {[](const Given& g) { layer_norm(g.none); }, "ValueError", "layer_norm: x is undefined"},
      {[](const Given& g) { rms_norm(g.x, zeros({4})); }, "ShapeError",
       "rms_norm: weight of shape [4] for x of shape [2, 3]; it must be [3]"},
      {[](const Given& g) { rms_norm(g.scalar); }, "ShapeError",
       "rms_norm: x has no axis to normalise over (shape [])"},
      {[](const Given& g) { rms_norm(g.x, {}, NAN); }, "ValueError",
       "rms_norm: eps must be finite and not negative, but is nan"},
      {[](const Given& g) { cross_entropy(g.x, zeros({2})); }, "DTypeError",
       "cross_entropy: target must be int64 or int32, not float32"},
      {[](const Given& g) { cross_entropy(g.x, g.indices); }, "ShapeError",
       "cross_entropy: target of shape [3] for logits of shape [2, 3]; it must be [2]"},
      {[](const Given& g) {
         cross_entropy(g.x, Tensor::from({0, 3}, {2}, DType::int64));
       },
       "IndexError", "cross_entropy: target 3 at position 1 is out of range [0, 3)"},
      {[](const Given& g) { cross_entropy(g.x, g.two, {.label_smoothing = 2}); }, "ValueError",
       "cross_entropy: label_smoothing must be in [0, 1], not 2"},
      {[](const Given& g) { cross_entropy(g.x, g.two, {.weight = zeros({2})}); }, "ShapeError",
       "cross_entropy: weight of shape [2] for logits of shape [2, 3]; it must be [3]"},
      {[](const Given& g) { cross_entropy(g.scalar, g.two); }, "ShapeError",
       "cross_entropy: logits of shape [] have no classes"},
      {[](const Given& g) { cross_entropy(g.none, g.two); }, "ValueError", "cross_entropy: logits is undefined"},
      {[](const Given& g) { mse_loss(g.x, zeros({3})); }, "ShapeError",
       "mse_loss: shapes [2, 3] and [3] of x and target differ"},
      {[](const Given& g) { mse_loss(g.x, g.none); }, "ValueError", "mse_loss: target is undefined"},
      {[](const Given& g) { binary_cross_entropy_with_logits(g.x, zeros({2})); }, "ShapeError",
       "binary_cross_entropy_with_logits: shapes [2, 3] and [2] of x and target differ"},
      {[](const Given& g) { binary_cross_entropy_with_logits(g.indices, g.indices); }, "DTypeError",
       "binary_cross_entropy_with_logits: int64 is not a floating dtype"},
      {[](const Given& g) { scaled_dot_product_attention(g.x, g.x, g.x); }, "ShapeError",
       "scaled_dot_product_attention: q must have 4 axes [batch, heads, tokens, width], not shape [2, 3]"},
      {[](const Given& g) {
         scaled_dot_product_attention(g.q, zeros({2, 1, 3, 4}), g.q);
       },
       "ShapeError",
       "scaled_dot_product_attention: batch sizes of q [1, 2, 3, 4], k [2, 1, 3, 4] and v [1, 2, 3, 4] differ"},
      {[](const Given& g) {
         scaled_dot_product_attention(g.q, zeros({1, 2, 3, 5}), g.q);
       },
       "ShapeError", "scaled_dot_product_attention: q [1, 2, 3, 4] and k [1, 2, 3, 5] differ in width (4 vs 5)"},
      {[](const Given& g) {
         scaled_dot_product_attention(g.q, g.q, zeros({1, 2, 4, 4}));
       },
       "ShapeError", "scaled_dot_product_attention: k [1, 2, 3, 4] and v [1, 2, 4, 4] differ in heads or tokens"},
      {[](const Given& g) {
         scaled_dot_product_attention(g.q, zeros({1, 3, 3, 4}), zeros({1, 3, 3, 4}));
       },
       "ShapeError", "scaled_dot_product_attention: 2 query heads are not a multiple of 3 key/value heads"},
      {[](const Given& g) {
         scaled_dot_product_attention(g.q, g.q, g.q, {.mask = zeros({5, 5})});
       },
       "ShapeError",
       "scaled_dot_product_attention: mask of shape [5, 5] does not broadcast to the scores' [1, 2, 3, 3]"},
      {[](const Given& g) { scaled_dot_product_attention(g.q, g.q, g.q, {.mask = g.indices}); }, "DTypeError",
       "scaled_dot_product_attention: mask must be bool or float32, not int64"},
      {[](const Given& g) { scaled_dot_product_attention(g.q, g.q, g.q, {.window = -1}); }, "ValueError",
       "scaled_dot_product_attention: window -1 is negative"},
      {[](const Given& g) { scaled_dot_product_attention(g.q, g.q, g.q, {.dropout = 1.5}); }, "ValueError",
       "scaled_dot_product_attention: dropout 1.5 is outside [0, 1]"},
      {[](const Given& g) { scaled_dot_product_attention(g.q, g.q, g.q, {.scale = NAN}); }, "ValueError",
       "scaled_dot_product_attention: scale nan is not finite"},
      {[](const Given& g) { scaled_dot_product_attention(g.none, g.q, g.q); }, "ValueError",
       "scaled_dot_product_attention: q is undefined"},
      {[](const Given& g) { packed_attention(g.x); }, "ShapeError",
       "packed_attention: qkv must have 5 axes [batch, tokens, 3, heads, width], not shape [2, 3]"},
      {[](const Given& g) { packed_attention(g.none); }, "ValueError", "packed_attention: qkv is undefined"},
  });
}
