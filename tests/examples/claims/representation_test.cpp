// Measures of representations: CKA, effective rank, eigenvalues and the linear probe, against cases known in closed
// form.
#if __has_include("grouped_vs_standard/claims/representation.h")
#include "grouped_vs_standard/claims/representation.h"

#include <cmath>

#include "support/catch.h"
#include "tutti/tutti.h"

using namespace comparison;
using namespace tutti;

TEST_CASE("eigenvalues: of a tridiagonal matrix, in closed form", "[representation]") {
  constexpr int64_t n = 24;
  std::vector<double> a(n * n);
  for (size_t i = 0; i < n; ++i) {
    a[i * n + i] = 2;
    if (i > 0) a[i * n + i - 1] = a[(i - 1) * n + i] = -1;
  }
  const auto values = eigenvalues(a, n);
  REQUIRE(values.size() == n);
  for (size_t k = 0; k < n; ++k)  // 2 - 2 cos(pi j / (n + 1)), largest first
    REQUIRE(values[k] == Approx(2 - 2 * std::cos(M_PI * static_cast<double>(n - k) / (n + 1))).epsilon(1e-12));
  REQUIRE(eigenvalues({3, 0, 0, 5}, 2) == std::vector<double>{5, 3});
  REQUIRE_THROWS_WITH(eigenvalues({1, 2, 3}, 2), "eigenvalues: 3 numbers are no 2 x 2");
}

TEST_CASE("linear_cka: 1 up to rotation and scale, 0 without correlation", "[representation]") {
  manual_seed(1);
  const Tensor x = randn({400, 2});
  const double c = std::cos(0.7), s = std::sin(0.7);
  const Tensor turned = matmul(x, Tensor::from({c, s, -s, c}, {2, 2})) * 3.0 + 5.0;
  REQUIRE(linear_cka(x, turned) == Approx(1).epsilon(1e-6));
  // Columns of signs that are orthogonal to one another.
  const Tensor a = Tensor::from({1, 1, -1, -1}, {4, 1}), b = Tensor::from({1, -1, 1, -1}, {4, 1});
  REQUIRE(linear_cka(a, b) == Approx(0).margin(1e-12));
  // Of [a, b] and a: ||A^T A|| / ||[A, B]^T [A, B]|| = 1 / sqrt 2.
  REQUIRE(linear_cka(cat({a, b}, 1), a) == Approx(std::sqrt(0.5)).epsilon(1e-12));
}

TEST_CASE("effective_rank: exp of the spectrum's entropy", "[representation]") {
  const Tensor a = Tensor::from({1, 1, -1, -1}, {4, 1}), b = Tensor::from({1, -1, 1, -1}, {4, 1});
  REQUIRE(effective_rank(cat({a, b}, 1)) == Approx(2).epsilon(1e-12));
  REQUIRE(effective_rank(cat({a, a * 2.0, a + 7.0}, 1)) == Approx(1).epsilon(1e-9));
  // Variances 9 and 1.
  const double entropy = -(0.9 * std::log(0.9) + 0.1 * std::log(0.1));
  REQUIRE(effective_rank(cat({a * 3.0, b}, 1)) == Approx(std::exp(entropy)).epsilon(1e-12));
}

TEST_CASE("linear_probe: what a line separates, and what none does", "[representation]") {
  manual_seed(2);
  const auto split = [](bool separable) {
    const Tensor x = randn({400, 2});
    const auto v = x.to_vector<float>();
    std::vector<int64_t> y;
    for (size_t i = 0; i < 400; ++i) {
      const float p = v[2 * i], q = v[2 * i + 1];
      y.push_back(separable ? p + q > 0 : p * q > 0);
    }
    return Split{x * 100.0 + 30.0, Tensor::from(y, {400})};  // scaling takes this away
  };
  REQUIRE(linear_probe(split(true), split(true), 2) > 96);
  const double chance = linear_probe(split(false), split(false), 2);  // exclusive or: a coin
  REQUIRE(chance > 35);
  REQUIRE(chance < 65);
}
#endif
