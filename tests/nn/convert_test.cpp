// Module::to in the middle of things: between forward and backward, between steps, with copies assigned afterwards.
#include "support/op_test.h"
#include "support/warnings.h"
#include "tutti/tutti.h"

using namespace tutti;
using namespace tutti_test;
using Catch::Contains;

namespace {

Tensor loss(nn::Linear& layer, DType dtype) {
  const Tensor y = layer(random_tensor({5, 3}, dtype, 7));
  return sum(mul(y, y));
}

}  // namespace

TEST_CASE("Module::to between forward and backward: the engine refuses a gradient that does not fit") {
  for (auto [before, after] : {std::pair{DType::float32, DType::float64}, {DType::float64, DType::float32}}) {
    nn::Linear layer({.in = 3, .out = 2});
    layer.to(before);
    const Tensor y = loss(layer, before);
    layer.to(after);
    const std::string text =
        message(": the gradient of input 1 is ", before, " of shape [2, 3] on ", default_device(),
                ", but the leaf has become ", after, " of shape [2, 3] on ", default_device(), " since");
    REQUIRE_THROWS_WITH(y.backward({.retain_graph = true}), Contains("linear" + text));
    REQUIRE_THROWS_AS(y.backward({.create_graph = true}), AutogradError);
    REQUIRE_THROWS_AS(grad({y}, {layer.weight.tensor()}), AutogradError);
    CHECK_FALSE(layer.weight.tensor().grad().defined());
    loss(layer, after).backward();
    CHECK(layer.weight.tensor().grad().dtype() == after);
  }
  // A hook makes the walk take another way to the leaf.
  nn::Linear layer({.in = 3, .out = 2});
  layer.weight.tensor().register_hook([](const Tensor& g) { return mul(g, 2); });
  const Tensor y = loss(layer, DType::float32);
  layer.to(DType::float64);
  REQUIRE_THROWS_AS(y.backward(), AutogradError);
  CHECK_FALSE(layer.weight.tensor().grad().defined());
}

TEST_CASE("Module::to keeps accumulated gradients, and there and back again between forward and backward is no error") {
  nn::Linear layer({.in = 3, .out = 2});
  const Tensor first = loss(layer, DType::float32), second = loss(layer, DType::float32);
  first.backward();
  const Array once(layer.weight.tensor().grad());
  layer.to(DType::float64);
  check_close(layer.weight.tensor().grad(), once, 0);
  layer.to(DType::float32);
  second.backward();
  Array twice = once;
  for (double& v : twice.v) v *= 2;
  check_close(layer.weight.tensor().grad(), twice, 1e-6);
}

TEST_CASE("optimizers: a model converted after the first step goes on as its float64 twin does") {
  const auto train = [](auto make, bool converted) {
    nn::Linear layer({.in = 3, .out = 2});
    for (const Tensor& p : layer.parameters()) {
      const no_grad off;
      copy_(p, random_tensor(p.shape(), DType::float32, 3));
    }
    if (!converted) layer.to(DType::float64);
    const auto optimizer = make(layer.parameters());
    for (int i = 0; i < 4; ++i) {
      if (i == 1) layer.to(DType::float64);
      optimizer->zero_grad();
      loss(layer, i > 0 || !converted ? DType::float64 : DType::float32).backward();
      optimizer->step();
    }
    CHECK(layer.weight.tensor().dtype() == DType::float64);
    return layer.weight.tensor().detach();
  };
  const auto check = [&](auto make) { check_close(train(make, true), Array(train(make, false)), 1e-5); };
  check([](auto p) { return std::make_unique<optim::AdamW>(p, optim::AdamWOptions{.lr = 0.01}); });
  check([](auto p) { return std::make_unique<optim::SGD>(p, optim::SGDOptions{.lr = 0.01, .momentum = 0.9}); });
}

TEST_CASE("replace: what it refuses") {
  Tensor x = ones({2}).requires_grad_();
  REQUIRE_THROWS_WITH(replace(x, ones({3})), "replace: a value of shape [3] for a tensor of shape [2]");
  REQUIRE_THROWS_WITH(replace(mul(x, 2), ones({2})), "replace: the tensor is the result of an operation");
}
