// Dropout by groups: what is kept and how often, its expectation, whole groups, the gradient's mask, errors.
#include "tutti/nn/attention/group_dropout.h"

#include <cmath>

#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/core/error.h"
#include "tutti/ops/create.h"
#include "tutti/ops/random.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;
using nn::GroupDropout;

namespace {

/// |got - want| within 4.5 standard deviations of a mean of n values with this variance.
void check_mean(double got, double want, double variance, double n) {
  CHECK(std::abs(got - want) < 4.5 * std::sqrt(variance / n));
}

}  // namespace

TEST_CASE("group dropout: elements of group i are dropped with its rate and scaled by 1 / (1 - rate)") {
  manual_seed(1);
  const std::vector<double> rates{0, 0.1, 0.25, 0.5};
  const GroupDropout layer(4, {.rates = rates});
  const auto v = layer(ones({50, 40, 32})).to_vector<double>();
  std::vector<double> zeros_seen(4), total(4);
  const double n = 50 * 40 * 8;
  for (size_t i = 0; i < v.size(); ++i) {
    const size_t group = i % 32 / 8;
    REQUIRE((v[i] == 0 || v[i] == Approx(1 / (1 - rates[group]))));
    zeros_seen[group] += v[i] == 0;
    total[group] += v[i];
  }
  CHECK(zeros_seen[0] == 0);
  for (size_t g = 0; g < 4; ++g) {
    check_mean(zeros_seen[g] / n, rates[g], rates[g] * (1 - rates[g]) + 1e-12, n);
    check_mean(total[g] / n, 1, rates[g] / (1 - rates[g]) + 1e-9, n);
  }
}

TEST_CASE("group dropout: whole groups follow their rates given that one is kept, and keep the expectation") {
  manual_seed(2);
  const std::vector<double> p{0.9, 0.5, 0.2};
  const int64_t samples = 40000;
  const GroupDropout layer(3, {.rates = p, .whole_groups = true});
  const auto v = layer(ones({samples, 2, 6}, {.dtype = DType::float64})).to_vector<double>();
  const double n = static_cast<double>(samples), all_dropped = 0.9 * 0.5 * 0.2;
  std::vector<double> subset(8), total(3);
  for (size_t s = 0; s < static_cast<size_t>(samples); ++s) {
    size_t kept = 0;
    for (size_t g = 0; g < 3; ++g) {
      const double first = v[s * 12 + 2 * g];
      for (size_t other : {1U, 6U, 7U}) REQUIRE(v[s * 12 + 2 * g + other] == first);  // all tokens and channels
      REQUIRE((first == 0 || first == Approx((1 - all_dropped) / (1 - p[g]))));
      kept |= static_cast<size_t>(first != 0) << g;
      total[g] += first;
    }
    subset[kept] += 1;
  }
  CHECK(subset[0] == 0);
  for (size_t k = 1; k < 8; ++k) {
    double chance = 1 / (1 - all_dropped);
    for (size_t g = 0; g < 3; ++g) chance *= k >> g & 1 ? 1 - p[g] : p[g];
    INFO("kept " << k);
    check_mean(subset[k] / n, chance, chance * (1 - chance), n);
  }
  for (size_t g = 0; g < 3; ++g) {
    const double keep = (1 - p[g]) / (1 - all_dropped);
    check_mean(total[g] / n, 1, (1 - keep) / keep, n);
  }
}

TEST_CASE("group dropout: whole groups one after another, by the generator's numbers") {
  const std::vector<double> p{0.9, 0.5, 0, 0.2, 0.7};
  const GroupDropout layer(5, {.rates = p, .whole_groups = true});
  manual_seed(8);
  const auto drawn = rand({300, 5}, {.dtype = DType::float64}).to_vector<double>();
  manual_seed(8);
  const auto y = layer(ones({300, 1, 5}, {.dtype = DType::float64})).to_vector<double>();
  std::vector<double> none_left(6, 1);
  for (size_t g = 5; g-- > 0;) none_left[g] = none_left[g + 1] * p[g];
  std::vector<double> want(y.size());
  for (size_t s = 0; s < 300; ++s) {
    bool any = false;
    for (size_t g = 0; g < 5; ++g) {
      const double keep = any ? 1 - p[g] : (1 - p[g]) / (1 - none_left[g]);
      if (drawn[5 * s + g] >= keep) continue;
      any = true;
      want[5 * s + g] = (1 - none_left[0]) / (1 - p[g]);
    }
  }
  CHECK(y == want);
}

TEST_CASE("group dropout: at least one group is kept even where all rates are close to 1") {
  manual_seed(3);
  const GroupDropout layer(4, {.rates = {0.999}, .whole_groups = true});
  const auto v = layer(ones({500, 1, 4})).to_vector<double>();
  for (size_t s = 0; s < 500; ++s) CHECK(v[4 * s] + v[4 * s + 1] + v[4 * s + 2] + v[4 * s + 3] > 0);
  const GroupDropout single(1, {.rates = {0.5}, .whole_groups = true});
  check_identical(single(ones({20, 2, 4})), ones({20, 2, 4}));  // the only group always stays
}

TEST_CASE("group dropout: evaluation, no rates and rates of 0 give x itself, one rate for all is dropout") {
  const Tensor x = random_tensor({2, 3, 8}, DType::float32, 1);
  GroupDropout layer(4, {.rates = {0.1, 0.2, 0.3, 0.4}});
  layer.eval();
  const uint64_t position = default_generator().position();
  CHECK(layer(x).impl() == x.impl());
  CHECK(GroupDropout(4)(x).impl() == x.impl());
  CHECK(GroupDropout(4, {.rates = {0, 0, 0, 0}, .whole_groups = true})(x).impl() == x.impl());
  CHECK(default_generator().position() == position);  // nothing was drawn
  CHECK(layer.rates() == std::vector<double>{0.1, 0.2, 0.3, 0.4});
  CHECK(GroupDropout(3, {.rates = {0.2}}).rates() == std::vector<double>{0.2, 0.2, 0.2});
  manual_seed(4);
  const Tensor a = GroupDropout(4, {.rates = {0.3}})(x);
  manual_seed(4);
  check_identical(a, dropout(x, 0.3));
}

TEST_CASE("group dropout: the gradient has the same mask, a sequence without a batch is one sample") {
  for (bool whole : {false, true}) {
    const GroupDropout layer(2, {.rates = {0.3, 0.6}, .whole_groups = whole});
    for (const Dims& shape : {Dims{3, 2, 4}, Dims{3, 4}}) {
      const std::vector<Tensor> x{random_tensor(shape, DType::float64, 1).requires_grad_()};
      const auto f = [&](const std::vector<Tensor>& in) {
        manual_seed(5);
        return layer(in[0]);
      };
      CHECK(gradcheck(f, x));
      CHECK(gradgradcheck(f, x));
      CHECK(f(x).shape() == shape);
    }
    const Tensor turned = transpose(random_tensor({4, 3, 2}, DType::float32, 2), 0, 2);  // [2, 3, 4], strided
    manual_seed(6);
    const Tensor a = layer(turned);
    manual_seed(6);
    check_identical(a, layer(contiguous(turned)));
    CHECK(layer(zeros({0, 3, 4})).shape() == Dims{0, 3, 4});
  }
}

TEST_CASE("group dropout: what is dropped is zero, an infinity or NaN too") {
  manual_seed(5);
  for (const bool whole : {false, true})
    for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
      const GroupDropout layer(2, {.rates = {0.5, 0.25}, .whole_groups = whole});
      const Tensor x = full({40, 2, 4}, bad).requires_grad_();
      const Tensor y = layer(x);
      size_t zero = 0, other = 0;
      for (const double v : y.to_vector<double>()) (v == 0 ? zero : other) += 1;
      CHECK(zero > 60);
      CHECK(other > 60);
      y.backward(full({40, 2, 4}, INFINITY));
      const auto v = y.to_vector<double>(), g = x.grad().to_vector<double>();
      size_t differ = 0;
      for (size_t i = 0; i < v.size(); ++i) differ += (v[i] == 0) != (g[i] == 0) || std::isnan(g[i]);
      CHECK(differ == 0);
    }
}

TEST_CASE("group dropout: errors") {
  REQUIRE_THROWS_WITH(GroupDropout(0), "GroupDropout: groups is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(GroupDropout(4, {.rates = {0.1, 0.2, 0.3}}),
                      "GroupDropout: rates has 3 entries for groups = 4; 4 of them, one for all, or none would fit");
  REQUIRE_THROWS_WITH(GroupDropout(2, {.rates = {0.1, 1}}),
                      "GroupDropout: rates[1] is 1; it must be at least 0 and below 1");
  REQUIRE_THROWS_WITH(GroupDropout(2, {.rates = {-0.5}}),
                      "GroupDropout: rates[0] is -0.5; it must be at least 0 and below 1");
  REQUIRE_THROWS_AS(GroupDropout(2, {.rates = {NAN}}), ValueError);
  REQUIRE_THROWS_WITH(GroupDropout(2, {.whole_groups = true}),
                      "GroupDropout: whole_groups without rates drops nothing; rates = {0.1}, say, or whole_groups = "
                      "false fits");
  const GroupDropout layer(4, {.rates = {0.1}});
  REQUIRE_THROWS_WITH(layer(ones({2, 3, 6})),
                      "GroupDropout: input [2, 3, 6] is neither [batch, tokens, channels] nor "
                      "[tokens, channels] with channels a multiple of groups = 4");
  REQUIRE_THROWS_AS(layer(ones({8})), ShapeError);
  REQUIRE_THROWS_WITH(layer(Tensor()), "GroupDropout: x is undefined");
}
