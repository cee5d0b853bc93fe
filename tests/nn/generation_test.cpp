// Drawing tokens: which may come, how often, and that a seed repeats them.
#include "tutti/nn/generation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;
using nn::sample;
using nn::SampleOptions;

namespace {

/// The definition, in plain loops: each token's probability.
std::vector<double> probabilities(const std::vector<double>& logits, const SampleOptions& o) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  if (o.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(o.top_k)));
  std::vector<double> result(logits.size());
  const auto normalize = [&] {
    double total = 0;
    for (size_t i : order) total += result[i];
    for (double& p : result) p /= total;
  };
  for (size_t i : order) result[i] = std::exp(logits[i] / o.temperature);
  normalize();
  double before = 0;
  for (size_t i : order) {
    const double p = result[i];
    if (before >= o.top_p) result[i] = 0;
    before += p;
  }
  normalize();
  return result;
}

}  // namespace

TEST_CASE("sample: every token as often as it should come") {
  const std::vector<double> logits{1.5, -1, 2, 0.25, 2, -INFINITY, 0};
  const int64_t draws = 4000;
  Tensor rows = expand(Tensor::from(logits, {7}), {draws, 7});
  for (const SampleOptions& o : {SampleOptions{},
                                 {.temperature = 0.5},
                                 {.temperature = 3, .top_k = 4},
                                 {.top_k = 1},
                                 {.top_p = 0.6},
                                 {.top_p = 0.01},
                                 {.temperature = 2, .top_k = 5, .top_p = 0.8},
                                 {.top_k = 99},
                                 {.temperature = 1e-300}}) {
    manual_seed(3);
    const Tensor tokens = sample(to(rows, DType::float32), o);
    CHECK(tokens.shape() == Dims{draws});
    CHECK(tokens.dtype() == DType::int64);
    std::vector<double> count(7);
    for (int64_t t : tokens.to_vector<int64_t>()) ++count.at(static_cast<size_t>(t));
    const std::vector<double> want = o.temperature < 1e-9 ? std::vector<double>{0, 0, .5, 0, .5, 0, 0}  // no 0/0
                                                          : probabilities(logits, o);
    INFO("temperature " << o.temperature << ", top_k " << o.top_k << ", top_p " << o.top_p);
    for (size_t i = 0; i < 7; ++i) {
      INFO("token " << i);
      const double expected = want[i] * draws;
      if (want[i] == 0) CHECK(count[i] == 0);
      CHECK(std::abs(count[i] - expected) <= 4.5 * std::sqrt(expected * (1 - want[i])));
    }
  }
}

TEST_CASE("sample: greedy at temperature 0, the first of equals, and nothing is drawn") {
  const Tensor logits = Tensor::from(std::vector<float>{1, 3, 3, -2, 0, 5}, {6});
  const uint64_t before = default_generator().position();
  CHECK(sample(logits, {.temperature = 0}).item() == 5);
  CHECK(sample(logits, {.temperature = 0}).rank() == 0);
  CHECK(sample(reshape(logits, {2, 3}), {.temperature = 0}).to_vector<int64_t>() == std::vector<int64_t>{1, 2});
  CHECK(default_generator().position() == before);
}

TEST_CASE("sample: a seed repeats its tokens, dtypes and layouts agree") {
  const Tensor logits = to(random_tensor({6, 40}, DType::float32, 1, -4, 4), DType::bfloat16);
  const SampleOptions o{.temperature = 0.8, .top_k = 20, .top_p = 0.9};
  const auto draw = [&](const Tensor& x, uint64_t seed) {
    Generator generator(seed);
    return sample(x, o, generator).to_vector<int64_t>();
  };
  const auto want = draw(logits, 7);
  CHECK(draw(logits, 7) == want);
  CHECK(draw(logits, 8) != want);
  for (const DType dtype : {DType::float32, DType::float64}) CHECK(draw(to(logits, dtype), 7) == want);
  CHECK(draw(with_layout(logits, Layout::transposed), 7) == want);
  CHECK(draw(slice(logits, 0, 0, 1), 7).at(0) == want[0]);
  Generator generator(7);
  CHECK(sample(select(logits, 0, 0), o, generator).item() == static_cast<double>(want[0]));
  CHECK(sample(zeros({0, 5})).shape() == Dims{0});
}

TEST_CASE("sample: what it cannot draw from") {
  const Tensor logits = zeros({2, 3});
  REQUIRE_THROWS_WITH(sample(logits, {.temperature = -1}),
                      "sample: temperature is -1; it must be finite and not negative");
  REQUIRE_THROWS_AS(sample(logits, {.temperature = NAN}), ValueError);
  REQUIRE_THROWS_WITH(sample(logits, {.top_k = -3}), "sample: top_k is -3; it must be positive, or 0 for all");
  REQUIRE_THROWS_WITH(sample(logits, {.top_p = 0}), "sample: top_p is 0; it must be in (0, 1]");
  REQUIRE_THROWS_WITH(sample(logits, {.top_p = 1.5}), "sample: top_p is 1.5; it must be in (0, 1]");
  REQUIRE_THROWS_WITH(sample(zeros({1, 2, 3})),
                      "sample: logits of shape [1, 2, 3] are not [V] or [B, V] with V above 0");
  REQUIRE_THROWS_AS(sample(zeros({2, 0})), ShapeError);
  REQUIRE_THROWS_AS(sample(zeros({2, 3}, {DType::int64})), DTypeError);
  for (const double wrong : {double{NAN}, double{INFINITY}}) {
    const Tensor one = Tensor::from(std::vector<double>{0, wrong, 1}, {3});
    REQUIRE_THROWS_WITH(sample(one), "sample: the largest logit of a row is not finite (NaN counts as the largest)");
    REQUIRE_THROWS_AS(sample(one, {.temperature = 0}), ValueError);
  }
  REQUIRE_THROWS_AS(sample(full({3}, -INFINITY)), ValueError);
}
