// LayerNorm over each group of channels: its definition, one group, gradients, errors.
#include "tutti/nn/attention/grouped_layer_norm.h"

#include <cmath>

#include "support/module_gradcheck.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/nn/init.h"
#include "tutti/nn/normalization.h"
#include "tutti/ops/create.h"
#include "tutti/ops/join.h"
#include "tutti/ops/normalization.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;
using nn::GroupedLayerNorm;

TEST_CASE("grouped layer norm: each group alone has mean 0 and variance 1, then its channels' weight and bias") {
  GroupedLayerNorm layer({.width = 12, .groups = 3, .eps = 0.1});
  layer.to(DType::float64);
  nn::init::normal_(layer.weight);
  nn::init::normal_(layer.bias);
  const Tensor x = random_tensor({2, 5, 12}, DType::float64, 1);
  const Array got(layer(x).detach()), in(x), w(layer.weight), b(layer.bias);
  for (int64_t row = 0; row < 10; ++row)
    for (int64_t g = 0; g < 3; ++g) {
      const int64_t first = row * 12 + g * 4;
      double mean = 0, var = 0;
      for (int64_t i = first; i < first + 4; ++i) mean += in[i] / 4;
      for (int64_t i = first; i < first + 4; ++i) var += (in[i] - mean) * (in[i] - mean) / 4;
      for (int64_t i = first; i < first + 4; ++i)
        CHECK(got[i] == Approx((in[i] - mean) / std::sqrt(var + 0.1) * w[i % 12] + b[i % 12]).epsilon(1e-12));
    }
}

TEST_CASE("grouped layer norm: one group is LayerNorm bit for bit, slices of a wider tensor need no copy to be right") {
  GroupedLayerNorm layer({.width = 8});
  const nn::LayerNorm plain({.width = 8});
  const Tensor x = random_tensor({3, 24}, DType::float32, 1);
  check_identical(layer(slice(x, 1, 8, 16)).detach(), plain(slice(x, 1, 8, 16)).detach());
  const GroupedLayerNorm two({.width = 8, .groups = 2});
  check_identical(two(slice(x, 1, 8, 16)).detach(), two(contiguous(slice(x, 1, 8, 16))).detach());
  CHECK(two(zeros({0, 8})).shape() == Dims{0, 8});
  CHECK(layer.parameter_count() == 16);
}

TEST_CASE("grouped layer norm: gradients of x, weight and bias") {
  for (int64_t groups : {1, 2, 3}) {
    GroupedLayerNorm layer({.width = 6, .groups = groups, .eps = 1e-3});
    layer.to(DType::float64);
    nn::init::normal_(layer.weight);
    CHECK(gradcheck_module(layer, [&](const std::vector<Tensor>& x) { return layer(x[0]); },
                           {random_tensor({2, 2, 6}, DType::float64, 2).requires_grad_()}));
  }
}

TEST_CASE("grouped layer norm: errors") {
  REQUIRE_THROWS_WITH(GroupedLayerNorm({}), "GroupedLayerNorm: width is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(GroupedLayerNorm({.width = 12, .groups = 5}),
                      "GroupedLayerNorm: groups = 5 does not divide width = 12; of the numbers nearby, 4 and 6 do");
  REQUIRE_THROWS_WITH(GroupedLayerNorm({.width = 4, .groups = 4}),
                      "GroupedLayerNorm: groups = 4 leaves one channel to a group of width = 4, and LayerNorm nothing "
                      "of it; at most width / 2 groups fit");
  REQUIRE_THROWS_WITH(GroupedLayerNorm({.width = 4, .eps = -1}),
                      "GroupedLayerNorm: eps is -1; it must be finite and not negative");
  REQUIRE_THROWS_WITH(GroupedLayerNorm({.width = 4, .eps = INFINITY}),
                      "GroupedLayerNorm: eps is inf; it must be finite and not negative");
  const GroupedLayerNorm layer({.width = 4, .groups = 2});
  REQUIRE_THROWS_WITH(layer(ones({2, 6})), "GroupedLayerNorm: input [2, 6] does not end in width 4");
  REQUIRE_THROWS_WITH(layer(Tensor()), "GroupedLayerNorm: x is undefined");
}
