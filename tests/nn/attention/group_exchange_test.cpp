// Shuffle and tokens over groups: the formulae, gradients, what they let a group see, errors.
#include "tutti/nn/attention/group_exchange.h"

#include <cmath>

#include "support/module_gradcheck.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/nn/init.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::shuffle_groups;
using nn::TokensOverGroups;

namespace {

/// Whether the channels of group `to` after f depend on those of group `from`, at the same and at another position.
template <class F>
std::pair<bool, bool> depends(const F& f, int64_t groups, int64_t width, int64_t to, int64_t from) {
  const Tensor x = random_tensor({3, groups * width}, DType::float64, 2).requires_grad_();
  sum(square(slice(select(f(x), 0, 1), 0, to * width, (to + 1) * width))).backward();
  const Tensor from_group = abs(slice(x.grad(), 1, from * width, (from + 1) * width));
  return {sum(select(from_group, 0, 1)).item() > 0, sum(select(from_group, 0, 0)).item() > 0};
}

}  // namespace

TEST_CASE("shuffle: channel w i + j goes to G j + i, as in ShuffleNet") {
  const Tensor x = reshape(arange(0, 12), {1, 12});
  CHECK(shuffle_groups(x, 3).to_vector<int>() == std::vector<int>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  check_identical(shuffle_groups(shuffle_groups(x, 3), 4), x);  // G and then w groups: back again
  check_identical(shuffle_groups(x, 1), x);
  check_identical(shuffle_groups(x, 12), x);
  const Tensor batch = random_tensor({2, 3, 12}, DType::float32, 1);
  check_identical(select(shuffle_groups(batch, 3), 0, 1), shuffle_groups(select(batch, 0, 1), 3));
  CHECK(gradcheck([](const auto& in) { return square(shuffle_groups(in[0], 2)); },
                  {random_tensor({2, 6}, DType::float64, 1).requires_grad_()}));
}

TEST_CASE("shuffle: a later group takes from every group, at its own position") {
  for (int64_t from = 0; from < 4; ++from)
    CHECK(depends([](const Tensor& x) { return shuffle_groups(x, 4); }, 4, 4, 1, from) == std::pair{true, false});
}

TEST_CASE("tokens over groups: the formula") {
  manual_seed(5);
  const TokensOverGroups layer({.groups = 3, .width = 4});
  nn::init::normal_(layer.bias, 0, 0.5);
  const Tensor x = random_tensor({2, 2, 12}, DType::float32, 1);
  const Array X(x), W(layer.weight.tensor().detach()), b(layer.bias.tensor().detach());
  Array want(x.shape());
  for (int64_t p = 0; p < 4; ++p) {
    Array qkv({3, 3, 4});  // part, group, channel
    for (int64_t i = 0; i < 36; ++i) {
      qkv[i] = b[i / 12 * 4 + i % 4];
      for (int64_t c = 0; c < 4; ++c) qkv[i] += W[(i / 12 * 4 + i % 4) * 4 + c] * X[p * 12 + i / 4 % 3 * 4 + c];
    }
    for (int64_t i = 0; i < 3; ++i) {
      double weight[3], total = 0;
      for (int64_t j = 0; j < 3; ++j) {
        double score = 0;
        for (int64_t c = 0; c < 4; ++c) score += qkv[i * 4 + c] * qkv[12 + j * 4 + c] / 2;
        total += weight[j] = std::exp(score);
      }
      for (int64_t c = 0; c < 4; ++c) {
        want[p * 12 + i * 4 + c] = X[p * 12 + i * 4 + c];
        for (int64_t j = 0; j < 3; ++j) want[p * 12 + i * 4 + c] += weight[j] / total * qkv[24 + j * 4 + c];
      }
    }
  }
  check_close(layer(x).detach(), want, 1e-6);
  check_identical(layer(select(x, 0, 1)).detach(), select(layer(x), 0, 1).detach());
  CHECK(layer(zeros({0, 2, 12})).shape() == Dims{0, 2, 12});
}

TEST_CASE("tokens over groups: gradients, of the bias too, counts and start") {
  TokensOverGroups layer({.groups = 3, .width = 2});
  layer.to(DType::float64);
  CHECK(gradcheck_module(
      layer, [&](const std::vector<Tensor>& x) { return square(layer(x[0])); },
      {random_tensor({2, 2, 6}, DType::float64, 1).requires_grad_()}, true));
  CHECK(layer.parameter_count() == 3 * (4 + 2));
  CHECK(TokensOverGroups({.groups = 3, .width = 2, .bias = false}).parameter_count() == 12);
  const TokensOverGroups wide({.groups = 2, .width = 64});
  const double bound = std::sqrt(3.0 / 64);
  for (int64_t part = 0; part < 3; ++part) {
    double top = 0;
    for (double v : select(wide.weight, 0, part).to_vector<double>()) top = std::max(top, std::abs(v));
    CHECK(top <= bound);
    CHECK(top > 0.98 * bound);
  }
}

TEST_CASE("tokens over groups: a group sees all groups at its own position, none elsewhere") {
  TokensOverGroups layer({.groups = 4, .width = 2});
  layer.to(DType::float64);
  for (int64_t from = 0; from < 4; ++from)
    CHECK(depends([&](const Tensor& x) { return layer(x); }, 4, 2, 1, from) == std::pair{true, false});
  // With v = 0 nothing is added: the exchange is off.
  nn::init::zeros_(select(layer.weight, 0, 2).detach());
  for (int64_t from = 0; from < 4; ++from)
    CHECK(depends([&](const Tensor& x) { return layer(x); }, 4, 2, 1, from) == std::pair{from == 1, false});
}

TEST_CASE("exchange of groups: errors") {
  REQUIRE_THROWS_WITH(shuffle_groups(ones({2, 6}), 4),
                      "shuffle_groups: x [2, 6] does not end in channels that 4 groups divide");
  REQUIRE_THROWS_WITH(shuffle_groups(ones({2, 6}), 0), "shuffle_groups: groups is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(shuffle_groups(Tensor(), 2), "shuffle_groups: x is undefined");
  REQUIRE_THROWS_WITH(TokensOverGroups({.groups = 0, .width = 2}),
                      "TokensOverGroups: groups is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(TokensOverGroups({.groups = 2}), "TokensOverGroups: width is 0; it must be at least 1");
  const TokensOverGroups layer({.groups = 2, .width = 3});
  REQUIRE_THROWS_WITH(layer(ones({4, 5})), "TokensOverGroups: x [4, 5] does not end in 2 groups x 3 = 6");
  REQUIRE_THROWS_WITH(layer(Tensor()), "TokensOverGroups: x is undefined");
}
