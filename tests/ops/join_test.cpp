// cat, stack and pad against plain loops, for every layout, with gradients that are views.
#include "tutti/ops/join.h"

#include "support/catch.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {
using Values = std::vector<double>;
}

TEST_CASE("cat and stack") {
  op_test("cat", {.kernels = "copy",
                  .shapes = {{{2, 3}, {2, 1}, {2, 4}}, {{1, 17}, {1, 0}, {1, 5}}},
                  .op = [](const Tensors& x) { return cat(x, -1); },
                  .reference =
                      [](const Arrays& x) {
                        Array y({x[0].shape[0], x[0].shape[1] + x[1].shape[1] + x[2].shape[1]});
                        int64_t at = 0;
                        for (const Array& a : x) {
                          for (int64_t i = 0; i < a.shape[0]; ++i)
                            for (int64_t j = 0; j < a.shape[1]; ++j) y[i * y.shape[1] + at + j] = a[i * a.shape[1] + j];
                          at += a.shape[1];
                        }
                        return y;
                      }});
  op_test("cat along the first axis", {.shapes = {{{2, 3}, {1, 3}}},
                                       .op = [](const Tensors& x) { return cat(x); },
                                       .reference =
                                           [](const Arrays& x) {
                                             Array y({3, 3});
                                             for (int64_t i = 0; i < 9; ++i) y[i] = i < 6 ? x[0][i] : x[1][i - 6];
                                             return y;
                                           }});
  op_test("stack", {.shapes = {{{2, 3}, {2, 3}}},
                    .op = [](const Tensors& x) { return stack(x, 1); },
                    .reference =
                        [](const Arrays& x) {
                          Array y({2, 2, 3});
                          for (int64_t i = 0; i < 2; ++i)
                            for (size_t k = 0; k < 2; ++k)
                              for (int64_t j = 0; j < 3; ++j)
                                y[(i * 2 + static_cast<int64_t>(k)) * 3 + j] = x[k][i * 3 + j];
                          return y;
                        }});
}

TEST_CASE("pad") {
  op_test("pad", {.kernels = "copy fill",
                  .shapes = {{{2, 3}}, {{1, 5}}, {{0, 2}}},
                  .op =
                      [](const Tensors& x) {
                        return pad(x[0], {1, 0}, {2, 3}, -0.5);
                      },
                  .reference =
                      [](const Arrays& x) {
                        Array y({x[0].shape[0] + 3, x[0].shape[1] + 3}, -0.5);
                        for (int64_t i = 0; i < x[0].shape[0]; ++i)
                          for (int64_t j = 0; j < x[0].shape[1]; ++j)
                            y[(i + 1) * y.shape[1] + j] = x[0][i * x[0].shape[1] + j];
                        return y;
                      }});
  CHECK(pad(full({}, 2), {}, {}).item() == 2);
}

TEST_CASE("joins of integers and bools, and of 0-d tensors") {
  CHECK(cat({arange(2), arange(3)}).to_vector<int64_t>() == std::vector<int64_t>{0, 1, 0, 1, 2});
  CHECK(stack({full({}, 1), full({}, 2)}).to_vector<double>() == Values{1, 2});
  CHECK(stack({arange(2), arange(2)}, -1).to_vector<double>() == Values{0, 0, 1, 1});
  const Tensor yes = ones({2}, {.dtype = DType::boolean});
  CHECK(pad(yes, {1}, {1}).to_vector<double>() == Values{0, 1, 1, 0});
  CHECK(cat({yes, yes}).dtype() == DType::boolean);
}

TEST_CASE("the gradients of a join are views of the result's gradient, and may be differentiated again") {
  Tensor a = Tensor::from(std::vector<double>{1, 2}, {2}).requires_grad_();
  Tensor b = Tensor::from(std::vector<double>{3}, {1}).requires_grad_();
  const Tensor y = cat({a, b, a});
  const Tensor dy = ones_like(y);
  const auto g = grad({y}, {b}, {dy}, {.retain_graph = true});
  CHECK(g[0].impl()->storage == dy.impl()->storage);
  const auto first = grad({sum(mul(mul(y, y), y))}, {a, b}, {}, {.create_graph = true});
  CHECK(first[0].to_vector<double>() == Values{6, 24});  // a stands there twice
  CHECK(grad({sum(first[0]) + sum(first[1])}, {a, b})[1].to_vector<double>() == Values{18});
}

TEST_CASE("mistakes with joins are typed errors") {
  const Tensor x = zeros({2, 3}), undefined;
  CHECK_THROWS_AS(cat({}), ValueError);
  CHECK_THROWS_WITH(cat({}), "cat: no tensors");
  CHECK_THROWS_WITH(cat({x, undefined}), "cat: tensor 1 is undefined");
  CHECK_THROWS_AS(cat({x, zeros({3, 4})}), ShapeError);
  CHECK_THROWS_WITH(
      cat({x, zeros({3, 4})}),
      "cat: tensor 1 has shape [3, 4], tensor 0 has [2, 3] (they differ at axis 1, beside the joined axis 0)");
  CHECK_THROWS_WITH(cat({x, zeros({3})}),
                    "cat: tensor 1 has shape [3], tensor 0 has [2, 3] (the numbers of axes differ)");
  CHECK_THROWS_AS(cat({x, arange(3)}), DTypeError);
  CHECK_THROWS_WITH(cat({x, arange(3)}), "cat: tensor 1 is int64, tensor 0 is float32");
  CHECK_THROWS_WITH(cat({x}, 2), "cat: axis 2 is out of range for shape [2, 3] (2 axes)");
  CHECK_THROWS_WITH(cat({full({}, 1)}), "cat: 0-d tensors have no axis to join along; stack() makes one");
  CHECK_THROWS_WITH(stack({x, zeros({2, 4})}), "stack: tensor 1 has shape [2, 4], tensor 0 has [2, 3]");
  CHECK_THROWS_WITH(stack({x}, 3), "stack: axis 3 is out of range for shape [2, 3] and a new axis");
  CHECK_THROWS_WITH(pad(x, {1}, {1, 1}), "pad: amounts [1] and [1, 1] for shape [2, 3] (one per axis)");
  CHECK_THROWS_AS(pad(x, {1, -1}, {1, 1}), ValueError);
  CHECK_THROWS_WITH(pad(x, {1, -1}, {1, 1}), "pad: amounts [1, -1] and [1, 1]: negative at axis 1");
  CHECK_THROWS_WITH(pad(ones({1}, {.dtype = DType::uint8}), {1}, {0}, 300),
                    "pad: 300 is not a value of uint8; convert with to(x, dtype)");
}
