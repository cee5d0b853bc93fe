#include "tutti/nn/conv.h"

#include <cmath>

#include "support/catch.h"
#include "support/module_gradcheck.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/ops/conv.h"
#include "tutti/ops/create.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

TEST_CASE("Conv2d is conv2d with its weights, and starts as PyTorch's does") {
  nn::Conv2d layer({.in = 4, .out = 6, .kernel = {3, 2}, .stride = 2, .padding = {1, 0}, .groups = 2});
  CHECK(layer.weight.shape() == Dims{6, 2, 3, 2});
  CHECK(layer.bias.shape() == Dims{6});
  const Tensor x = random_tensor({2, 4, 5, 6}, DType::float32, 1);
  check_identical(layer(x), conv2d(x, layer.weight, layer.bias, {.stride = 2, .padding = {1, 0}, .groups = 2}));
  const double bound = 1 / std::sqrt(12.0);
  CHECK(max(abs(layer.weight)).item() <= bound);
  CHECK(max(abs(layer.weight)).item() > bound / 2);
  CHECK(max(abs(layer.bias)).item() > 0);
  const auto state = layer.state_dict();
  CHECK(state.size() == 2);
  CHECK(nn::Conv2d({.in = 1, .out = 1, .kernel = 1, .bias = false}).parameters().size() == 1);
}

TEST_CASE("Conv2d: gradients of its parameters") {
  nn::Conv2d layer({.in = 2, .out = 3, .kernel = 2, .padding = 1});
  layer.to(DType::float64);
  CHECK(gradcheck_module(
      layer, [&](const Tensors& x) { return layer(x[0]); },
      {random_tensor({2, 2, 3, 3}, DType::float64, 1).requires_grad_()}, /*second=*/true));
}

TEST_CASE("malformed: Conv2d") {
  using Options = nn::Conv2dOptions;
  const auto make = [](const Options& o) { nn::Conv2d layer(o); };
  REQUIRE_THROWS_WITH(make({.out = 1, .kernel = 1}), "Conv2d: in is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(make({.in = 1, .out = 1}), "Conv2d: kernel is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(make({.in = 1, .out = 1, .kernel = 1, .stride = {1, 0}}),
                      "Conv2d: stride is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(make({.in = 1, .out = 1, .kernel = 1, .padding = {-1, 0}}),
                      "Conv2d: padding is -1 x 0; it must not be negative");
  REQUIRE_THROWS_WITH(make({.in = 4, .out = 6, .kernel = 1, .groups = 4}),
                      Catch::Contains("Conv2d: groups = 4 does not divide out = 6"));
}
