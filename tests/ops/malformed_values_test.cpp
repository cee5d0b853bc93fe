// Malformed calls, each with the exact type and text of its error: creation, tensors themselves, autograd, arithmetic.
#include <cmath>

#include "support/malformed.h"

using namespace tutti;
using namespace tutti_test;

TEST_CASE("malformed: creation and random numbers") {
  check_malformed({
      {[](const Given&) {
         zeros({2, -1});
       },
       "ShapeError", "a tensor's size cannot be negative: [2, -1]"},
      {[](const Given&) {
         zeros({int64_t{1} << 40, int64_t{1} << 40});
       },
       "ShapeError", "a tensor of shape [1099511627776, 1099511627776] is too large"},
      {[](const Given&) {
         zeros({1, 2, 3, 4, 5, 6, 7, 8, 9});
       },
       "ShapeError", "a tensor has at most 8 dimensions"},

      {[](const Given&) { full({1}, 300, {.dtype = DType::uint8}); }, "ValueError",
       "full: 300 is not a value of uint8; convert with to(x, dtype)"},
      {[](const Given&) { full({1}, NAN, {.dtype = DType::int64}); }, "ValueError",
       "full: nan is not a value of int64; convert with to(x, dtype)"},
      {[](const Given&) { full({1}, 3e9, {.dtype = DType::int32}); }, "ValueError",
       "full: 3e+09 is not a value of int32; convert with to(x, dtype)"},
      {[](const Given& g) { ones_like(g.none); }, "ValueError", "ones_like: x is undefined"},
      {[](const Given& g) { zeros_like(g.none); }, "ValueError", "zeros_like: x is undefined"},
      {[](const Given& g) { full_like(g.none, 1); }, "ValueError", "full_like: x is undefined"},
      {[](const Given&) { arange(0, 1, 0); }, "ValueError", "arange: step 0 does not lead from 0 to 1"},
      {[](const Given&) { arange(0, 5, -1); }, "ValueError", "arange: step -1 does not lead from 0 to 5"},
      {[](const Given&) { arange(0, INFINITY); }, "ValueError", "arange: step 1 does not lead from 0 to inf"},
      {[](const Given&) { arange(0, 1e300); }, "ValueError", "arange: 1e+300 elements are too many"},
      {[](const Given&) { arange(0, 400, 100, {.dtype = DType::uint8}); }, "ValueError",
       "arange: 300 is not a value of uint8; convert with to(x, dtype)"},
      {[](const Given&) { linspace(0, 1, -1); }, "ValueError", "linspace: the number of elements, -1, is negative"},
      {[](const Given&) { linspace(0, NAN, 3); }, "ValueError", "linspace: from 0 to nan is not finite"},
      {[](const Given&) { eye(-1); }, "ValueError", "eye: size -1 is negative"},
      {[](const Given&) { rand({2}, {.dtype = DType::int64}); }, "DTypeError", "rand: int64 is not a floating dtype"},
      {[](const Given&) { rand({-1}); }, "ShapeError", "a tensor's size cannot be negative: [-1]"},

      {[](const Given&) { randn({2}, {.dtype = DType::boolean}); }, "DTypeError",
       "randn: bool is not a floating dtype"},
      {[](const Given&) { randint(3, 3, {2}); }, "ValueError", "randint: [3, 3) is empty"},
      {[](const Given&) { randint(0, 257, {2}, {.dtype = DType::uint8}); }, "ValueError",
       "randint: [0, 257) does not fit uint8"},
      {[](const Given&) { bernoulli(1.5, {2}); }, "ValueError", "bernoulli: probability 1.5 is not in [0, 1]"},
      {[](const Given&) { bernoulli(NAN, {2}); }, "ValueError", "bernoulli: probability nan is not in [0, 1]"},
      {[](const Given&) { randperm(-1); }, "ValueError", "randperm: n = -1 is negative"},
      {[](const Given& g) { dropout(g.x, 1.5); }, "ValueError", "dropout: probability 1.5 is not in [0, 1]"},
      {[](const Given& g) { dropout(g.x, NAN); }, "ValueError", "dropout: probability nan is not in [0, 1]"},
      {[](const Given& g) { dropout(g.indices, 0.5); }, "DTypeError", "dropout: int64 is not a floating dtype"},
      {[](const Given& g) { dropout(g.none, 0.5); }, "ValueError", "dropout: x is undefined"},
  });
}

TEST_CASE("malformed: tensors themselves") {
  check_malformed({
      {[](const Given&) {
         Tensor::from({1, 2, 3}, {2});
       },
       "ShapeError", "Tensor::from: 3 values for shape [2] (2 elements)"},
      {[](const Given& g) { g.x.size(2); }, "IndexError", "size: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { g.x.at({0}); }, "IndexError", "at: 1 indices [0] for shape [2, 3]"},
      {[](const Given& g) {
         g.x.at({0, 3});
       },
       "IndexError", "at: index 3 is out of range for axis 1 of shape [2, 3]"},
      {[](const Given& g) { g.x.item(); }, "ShapeError", "item: shape [2, 3] has 6 elements, not 1"},
      {[](const Given& g) { g.x.data<double>(); }, "DTypeError", "data<float64>: the tensor is float32"},
      {[](const Given& g) { clone(g.none); }, "ValueError", "clone: x is undefined"},

      {[](const Given& g) { to(g.none, DType::int32); }, "ValueError", "to: x is undefined"},
      {[](const Given& g) { copy_(g.x, zeros({4})); }, "ShapeError",
       "copy_: shapes [2, 3] and [4] do not broadcast at axis 1 (3 vs 4)"},
      {[](const Given&) { copy_(expand(zeros({1}), {3}), zeros({3})); }, "ValueError",
       "copy_: the tensor to change, of shape [3], repeats the same memory along axis 0 (expand); clone it first"},
      {[](const Given& g) { copy_(g.none, g.x); }, "ValueError", "copy_: target is undefined"},
      {[](const Given& g) { fill_(g.indices, 0.5); }, "ValueError",
       "fill_: 0.5 is not a value of int64; convert with to(x, dtype)"},
      {[](const Given& g) { fill_(g.none, 0); }, "ValueError", "fill_: target is undefined"},
  });
}

TEST_CASE("malformed: autograd") {
  check_malformed({
      {[](const Given& g) { Tensor(g.indices).requires_grad_(); }, "AutogradError",
       "requires_grad_: int64 tensors have no gradient"},
      {[](const Given& g) { g.x.backward(); }, "AutogradError",
       "backward: the tensor does not depend on anything that requires a gradient"},
      {[](const Given& g) { relu(g.leaf).backward(); }, "AutogradError",
       "backward: shape [2, 3] is not a scalar; pass the gradient with respect to it"},
      {[](const Given& g) { relu(g.leaf).backward(zeros({3})); }, "ShapeError",
       "backward: gradient of shape [3] for a tensor of shape [2, 3]"},
      {[](const Given& g) {
         relu(g.leaf).backward(zeros({2, 3}, {.dtype = DType::float64}));
       },
       "DTypeError", "backward: gradient of dtype float64 for a tensor of dtype float32"},
      {[](const Given& g) { fill_(g.leaf, 1); }, "AutogradError",
       "fill_: in-place change of a tensor that requires a gradient; use no_grad or an out-of-place operation"},
      {[](const Given& g) { g.leaf.set_grad(zeros({3})); }, "ShapeError",
       "set_grad: gradient of shape [3] for a tensor of shape [2, 3]"},
      {[](const Given& g) { g.x.set_grad(g.x); }, "AutogradError",
       "set_grad: only a leaf that requires a gradient holds one"},
      {[](const Given& g) { g.x.register_hook([](const Tensor& t) { return t; }); }, "AutogradError",
       "register_hook: the tensor does not require a gradient"},
      {[](const Given& g) { grad({sum(g.leaf)}, {g.x}); }, "AutogradError",
       "grad: input 0 does not require a gradient"},
  });
}

TEST_CASE("malformed: arithmetic and comparisons") {
  check_malformed({
      {[](const Given& g) {
         add(g.x, zeros({2, 4}));
       },
       "ShapeError", "add: shapes [2, 3] and [2, 4] do not broadcast at axis 1 (3 vs 4)"},
      {[](const Given&) {
         add(zeros({4, 3}), zeros({4, 8}));
       },
       "ShapeError", "add: shapes [4, 3] and [4, 8] do not broadcast at axis 1 (3 vs 8)"},
      {[](const Given& g) { add(g.x, g.indices); }, "DTypeError",
       "add: dtypes float32 and int64 differ; convert one with to(x, dtype)"},
      {[](const Given& g) { add(g.x, g.none); }, "ValueError", "add: b is undefined"},
      {[](const Given& g) { add(g.flags, g.flags); }, "DTypeError",
       "add: bool tensors have no arithmetic; convert with to(x, dtype)"},
      {[](const Given& g) { sub(g.x, zeros({4})); }, "ShapeError",
       "sub: shapes [2, 3] and [4] do not broadcast at axis 1 (3 vs 4)"},
      {[](const Given& g) { sub(g.none, g.x); }, "ValueError", "sub: a is undefined"},
      {[](const Given& g) {
         mul(g.x, zeros({2, 3}, {.dtype = DType::float64}));
       },
       "DTypeError", "mul: dtypes float32 and float64 differ; convert one with to(x, dtype)"},
      {[](const Given& g) { mul(g.indices, 0.5); }, "ValueError",
       "mul: 0.5 is not a value of int64; convert with to(x, dtype)"},
      {[](const Given& g) { div(g.indices, g.indices); }, "DTypeError", "div: int64 is not a floating dtype"},
      {[](const Given& g) {
         div(g.x, zeros({3, 3}));
       },
       "ShapeError", "div: shapes [2, 3] and [3, 3] do not broadcast at axis 0 (2 vs 3)"},
      {[](const Given& g) { div(1.0, g.indices); }, "DTypeError", "div: int64 is not a floating dtype"},
      {[](const Given& g) { maximum(g.x, zeros({2})); }, "ShapeError",
       "maximum: shapes [2, 3] and [2] do not broadcast at axis 1 (3 vs 2)"},
      {[](const Given& g) { minimum(g.x, g.indices); }, "DTypeError",
       "minimum: dtypes float32 and int64 differ; convert one with to(x, dtype)"},
      {[](const Given& g) { pow(g.indices, 2); }, "DTypeError", "pow: int64 is not a floating dtype"},
      {[](const Given& g) { pow(g.x, zeros({7})); }, "ShapeError",
       "pow: shapes [2, 3] and [7] do not broadcast at axis 1 (3 vs 7)"},
      {[](const Given& g) { pow(g.none, 2); }, "ValueError", "pow: x is undefined"},
      {[](const Given& g) { eq(g.x, zeros({4})); }, "ShapeError",
       "eq: shapes [2, 3] and [4] do not broadcast at axis 1 (3 vs 4)"},
      {[](const Given& g) { lt(g.x, g.indices); }, "DTypeError",
       "lt: dtypes float32 and int64 differ; convert one with to(x, dtype)"},
      {[](const Given& g) { gt(g.none, g.x); }, "ValueError", "gt: a is undefined"},
      {[](const Given& g) { le(g.indices, 0.5); }, "ValueError",
       "le: 0.5 is not a value of int64; convert with to(x, dtype)"},
      {[](const Given& g) { logical_and(g.x, g.x); }, "DTypeError", "logical_and: a must be bool, not float32"},
      {[](const Given& g) { logical_or(g.flags, zeros({3}, {.dtype = DType::boolean})); }, "ShapeError",
       "logical_or: shapes [2] and [3] do not broadcast at axis 0 (2 vs 3)"},
      {[](const Given& g) { logical_not(g.x); }, "DTypeError", "logical_not: x must be bool, not float32"},
      {[](const Given& g) { isnan(g.none); }, "ValueError", "isnan: x is undefined"},
      {[](const Given& g) { where(g.x, g.x, g.x); }, "DTypeError", "where: condition must be bool, not float32"},
      {[](const Given& g) { where(g.flags, g.x, g.x); }, "ShapeError",
       "where: shapes [2, 3] and [2] do not broadcast at axis 1 (3 vs 2)"},
      {[](const Given& g) { where(g.greater, g.x, g.indices); }, "DTypeError",
       "where: dtypes float32 and int64 differ; convert one with to(x, dtype)"},
      {[](const Given& g) { where(g.none, g.x, g.x); }, "ValueError", "where: condition is undefined"},
      {[](const Given& g) { masked_fill(g.x, g.x, 0); }, "DTypeError", "masked_fill: mask must be bool, not float32"},
      {[](const Given& g) { masked_fill(g.x, g.flags, 0); }, "ShapeError",
       "masked_fill: shapes [2, 3] and [2] do not broadcast at axis 1 (3 vs 2)"},
      {[](const Given& g) { masked_fill(g.x, g.none, 0); }, "ValueError", "masked_fill: mask is undefined"},
  });
}

TEST_CASE("malformed: a device that is not there") {
  const Device none{DeviceType::cuda, 99};
  const std::string text = "device cuda:99: ";
  REQUIRE_THROWS_AS(zeros({2}, {.device = none}), DeviceError);
  REQUIRE_THROWS_WITH(zeros({2}, {.device = none}), Contains(text));
  REQUIRE_THROWS_WITH(empty({2}, {.device = none}), Contains(text));
  REQUIRE_THROWS_WITH(rand({2}, {.device = none}), Contains(text));
  REQUIRE_THROWS_WITH(to(ones({2}), none), Contains(text));
  REQUIRE_THROWS_WITH(set_default_device(none), Contains(text));
  REQUIRE_THROWS_WITH(Device::cuda(99), Contains(text));
  if (!config::cuda)
    REQUIRE_THROWS_WITH(Device::cuda(),
                        "device cuda:0: this build of Tutti has no CUDA backend (configure with -DTUTTI_CUDA=ON)");
  REQUIRE_THROWS_WITH(device_from("gpu"), "device 'gpu': expected cpu, cuda or cuda:<number>");
}
