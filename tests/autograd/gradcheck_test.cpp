// gradcheck must accept right gradients and name what is wrong with others.
#include "tutti/autograd/gradcheck.h"

#include <cmath>

#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;
using tutti_test::random_tensor;

namespace {

Tensor input(const Dims& shape, uint64_t seed) {
  Tensor x = random_tensor(shape, DType::float64, seed, 0.5, 2);
  x.requires_grad_();
  return x;
}

/// x^3 with a gradient of factor * x^2.
Tensor cube(const Tensor& x, double factor) {
  auto values = x.to_vector<double>();
  for (double& v : values) v = std::pow(v, 3);
  const Output y = Access::output(Access::handle(Tensor::from(values, x.shape(), x.device())));
  return with_grad("cube", y, {x}, {x},
                   [factor](Saved& s, const Tensor& dy) { return Grads{mul(mul(dy, factor), mul(s[0], s[0]))}; });
}

}  // namespace

TEST_CASE("gradcheck accepts right gradients", "[gradcheck]") {
  CHECK(gradcheck([](const auto& x) { return cube(x[0], 3); }, {input({2, 3}, 1)}));
  CHECK(gradcheck([](const auto& x) { return mul(x[0], add(x[1], x[0])); }, {input({2, 3}, 1), input({1, 3}, 2)}));
  CHECK(
      gradcheck([](const auto& x) { return mul(x[0], x[1]); }, {input({4}, 1), random_tensor({4}, DType::float64, 2)}));
  CHECK(gradcheck([](const auto& x) { return mul(x[0], x[0]); }, {input({0, 3}, 1)}));
  CHECK(gradcheck([](const auto& x) { return mul(x[0], x[0]); }, {input({}, 1)}));
  Tensor transposed = transpose(random_tensor({2, 3}, DType::float64, 3), 0, 1).detach();
  transposed.requires_grad_();
  CHECK(gradcheck([](const auto& x) { return mul(x[0], x[0]); }, {transposed}));
}

TEST_CASE("gradcheck works inside no_grad and leaves the inputs' gradients alone", "[gradcheck]") {
  const no_grad off;
  const Tensor x = input({2}, 1);
  CHECK(gradcheck([](const auto& in) { return mul(in[0], in[0]); }, {x}));
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("gradcheck names the input, the element and both values", "[gradcheck]") {
  Tensor x = Tensor::from({1, 2}, {1, 2}, DType::float64);
  x.requires_grad_();
  const auto wrong = [](const auto& in) { return sum(cube(in[1], 2)); };
  REQUIRE_THROWS_AS(gradcheck(wrong, {input({1}, 1), x}), AutogradError);
  REQUIRE_THROWS_WITH(
      gradcheck(wrong, {input({1}, 1), x}),
      Contains("gradcheck: input 1, element [0, 0]: the gradient is ") && Contains(", the central difference "));
  // A gradient that is lost altogether is 0.
  REQUIRE_THROWS_WITH(
      gradcheck([](const auto& in) { return add(sum(in[0]), sum(in[1].detach())); }, {input({1}, 1), x}),
      Contains("gradcheck: input 1, element [0, 0]: the gradient is 0, the central difference "));
}

TEST_CASE("gradcheck says what it cannot check", "[gradcheck]") {
  const auto square = [](const auto& x) { return mul(x[0], x[0]); };
  Tensor single = Tensor::from({1}, {1});
  REQUIRE_THROWS_WITH(gradcheck(square, {single}), "gradcheck: no input requires a gradient");
  single.requires_grad_();
  REQUIRE_THROWS_WITH(gradcheck(square, {single}), "gradcheck: input 0 is float32, not float64");
  REQUIRE_THROWS_WITH(gradcheck([](const auto& x) { return x[0].detach(); }, {input({2}, 1)}),
                      "gradcheck: the result does not depend on an input that requires a gradient");
  double drift = 0;
  REQUIRE_THROWS_WITH(gradcheck([&](const auto& x) { return mul(x[0], drift += 1); }, {input({2}, 1)}),
                      "gradcheck: the function gives other values when called again with the same inputs");
}

TEST_CASE("gradgradcheck", "[gradcheck]") {
  CHECK(gradgradcheck([](const auto& x) { return cube(x[0], 3); }, {input({2, 3}, 1)}));
  CHECK(gradgradcheck([](const auto& x) { return mul(mul(x[0], x[1]), x[0]); }, {input({2, 3}, 1), input({3}, 2)}));
  CHECK(gradgradcheck([](const auto& x) { return mul(x[0], 2); }, {input({3}, 1)}));
  // Right the first time, wrong the second: the gradient's own graph is cut.
  const auto cut = [](const auto& in) {
    const Tensor& x = in[0];
    auto values = x.to_vector<double>();
    for (double& v : values) v *= v;
    const Output y = Access::output(Access::handle(Tensor::from(values, x.shape(), x.device())));
    return with_grad("square", y, {x}, {x},
                     [](Saved& s, const Tensor& dy) { return Grads{mul(mul(dy, 2), s[0].detach())}; });
  };
  CHECK(gradcheck(cut, {input({2}, 1)}));
  REQUIRE_THROWS_WITH(gradgradcheck(cut, {input({2}, 1)}), Contains("gradgradcheck: input 0, element [0]: "));
}
