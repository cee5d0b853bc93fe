#include "tutti/ops/multinomial.h"

#include <algorithm>
#include <set>

#include "support/malformed.h"
#include "support/op_test.h"
#include "tutti/core/parallel.h"

using namespace tutti;
using namespace tutti_test;

namespace {

using Positions = std::vector<int64_t>;

/// sum of (observed - expected)^2 / expected over the weights above 0.
double chi_square(const Positions& drawn, const std::vector<double>& weights) {
  double total = 0, sum = 0;
  for (double w : weights) total += w;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double seen = static_cast<double>(std::count(drawn.begin(), drawn.end(), static_cast<int64_t>(i)));
    const double expected = weights[i] / total * static_cast<double>(drawn.size());
    if (expected == 0)
      CHECK(seen == 0);
    else
      sum += (seen - expected) * (seen - expected) / expected;
  }
  return sum;
}

}  // namespace

TEST_CASE("multinomial draws as often as the weights say") {
  const std::vector<double> weights{0, 1, 2, 0, 5, 0.5, 0};
  Generator generator(7);
  for (DType t : {DType::float32, DType::float64, DType::float16}) {
    const Tensor w = to(Tensor::from(weights, {7}), t);
    const Tensor y = multinomial(w, 8000, true, generator);
    CHECK(y.dtype() == DType::int64);
    CHECK(chi_square(y.to_vector<int64_t>(), weights) < 16.3);  // 3 degrees of freedom: .001
    // Without replacement the first draw has the same odds.
    const Tensor many = multinomial(expand(w, {2000, 7}), 2, false, generator);
    CHECK(many.shape() == Dims{2000, 2});
    CHECK(chi_square(many[{ellipsis, 0}].to_vector<int64_t>(), weights) < 16.3);
    CHECK(all(ne(many[{ellipsis, 0}], many[{ellipsis, 1}])).item() == 1);
  }
}

TEST_CASE("multinomial: the rule by element, and the same on every number of threads") {
  const Tensor w = random_tensor({3, 50}, DType::float32, 3, 0, 1);
  const auto draw = [&](bool replacement) {
    Generator generator(11);
    return multinomial(w, 40, replacement, generator);
  };
  const Tensor with = draw(true), without = draw(false);
  Generator generator(11);
  const auto u = rand({3, 40}, {.dtype = DType::float64}, generator).to_vector<double>();
  const auto weights = w.to_vector<double>();
  const Positions drawn = with.to_vector<int64_t>();
  for (size_t i = 0; i < drawn.size(); ++i) {
    const double* line = weights.data() + i / 40 * 50;
    double total = 0, sum = 0;
    for (int k = 0; k < 50; ++k) total += line[k];
    int64_t at = 0;
    for (sum = line[0]; sum <= u[i] * total; sum += line[at]) ++at;
    CHECK(drawn[i] == at);
  }
  for (int64_t line = 0; line < 3; ++line) {
    const Positions p = without[line].to_vector<int64_t>();
    CHECK(std::set<int64_t>(p.begin(), p.end()).size() == 40);
  }
  for (int n : {1, 2, 6}) {
    set_num_threads(n);
    check_identical(draw(true), with);
    check_identical(draw(false), without);
  }
  set_num_threads(0);
}

TEST_CASE("multinomial: one weight, no draws, a weight of 0 at the end") {
  CHECK(multinomial(Tensor::from({0, 3, 0}, {3}), 5, true).to_vector<int64_t>() == Positions(5, 1));
  CHECK(multinomial(Tensor::from({0, 3, 0}, {3}), 1).item() == 1);
  CHECK(multinomial(Tensor::from({1e-30, 1e30}, {2}), 2).to_vector<int64_t>() == Positions{1, 0});
  CHECK(multinomial(ones({4}), 0).shape() == Dims{0});
  CHECK(multinomial(ones({0, 4}), 3).shape() == Dims{0, 3});
  Tensor leaf = ones({3}).requires_grad_();
  CHECK_FALSE(multinomial(leaf, 2).requires_grad());
}

TEST_CASE("malformed: multinomial") {
  check_malformed({
      {[](const Given& g) { multinomial(g.x, 1); }, "ValueError",
       "multinomial: 1 draws without replacement from 0 weights above 0 (weights of shape [2, 3])"},
      {[](const Given& g) { multinomial(g.weight + 1, 3); }, "ValueError",
       "multinomial: 3 draws without replacement from 2 weights above 0 (weights of shape [5, 2])"},
      {[](const Given&) {
         multinomial(zeros({2, 0}), 3, true);
       },
       "ValueError", "multinomial: 3 draws with replacement from 0 weights above 0 (weights of shape [2, 0])"},
      {[](const Given&) {
         multinomial(Tensor::from({1, -1}, {2}), 1);
       },
       "ValueError", "multinomial: a weight is negative or not finite"},
      {[](const Given&) {
         multinomial(Tensor::from({1, INFINITY}, {2}), 1);
       },
       "ValueError", "multinomial: a weight is negative or not finite"},
      {[](const Given&) {
         multinomial(Tensor::from({1, NAN}, {2}), 1);
       },
       "ValueError", "multinomial: a weight is negative or not finite"},
      {[](const Given& g) { multinomial(g.x, -1); }, "ValueError", "multinomial: num_samples = -1 is negative"},
      {[](const Given& g) { multinomial(g.q, 1); }, "ShapeError",
       "multinomial: weights of shape [1, 2, 3, 4] are not [V] or [B, V]"},
      {[](const Given& g) { multinomial(g.indices, 1); }, "DTypeError", "multinomial: int64 is not a floating dtype"},
      {[](const Given& g) { multinomial(g.none, 1); }, "ValueError", "multinomial: weights is undefined"},
  });
}
