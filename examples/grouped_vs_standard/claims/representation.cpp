#include "grouped_vs_standard/claims/representation.h"

#include <algorithm>
#include <cmath>

#include "tutti/tutti.h"

namespace comparison {

using namespace tutti;

namespace {

Tensor centred(const Tensor& x) {
  const Tensor wide = to(x, DType::float64);
  return wide - mean(wide, 0, true);
}

double squared_norm(const Tensor& x) { return sum(square(x)).item(); }

/// Rotates rows and columns p and q of the n x n matrix so that its element (p, q) becomes 0.
void rotate(std::vector<double>& a, size_t n, size_t p, size_t q) {
  const double apq = a[p * n + q];
  if (apq == 0) return;
  const double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
  const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(theta, 1.0));
  const double c = 1 / std::hypot(t, 1.0), s = t * c;
  for (size_t i = 0; i < n; ++i) {
    const double x = a[i * n + p], y = a[i * n + q];
    a[i * n + p] = c * x - s * y;
    a[i * n + q] = s * x + c * y;
  }
  for (size_t i = 0; i < n; ++i) {
    const double x = a[p * n + i], y = a[q * n + i];
    a[p * n + i] = c * x - s * y;
    a[q * n + i] = s * x + c * y;
  }
}

}  // namespace

double linear_cka(const Tensor& a, const Tensor& b) {
  const no_grad off;
  const Tensor x = centred(a), y = centred(b), xt = transpose(x, 0, 1), yt = transpose(y, 0, 1);
  return squared_norm(matmul(xt, y)) / std::sqrt(squared_norm(matmul(xt, x)) * squared_norm(matmul(yt, y)));
}

std::vector<double> eigenvalues(std::vector<double> a, int64_t size) {
  const auto n = static_cast<size_t>(size);
  if (a.size() != n * n) throw ShapeError(message("eigenvalues: ", a.size(), " numbers are no ", size, " x ", size));
  double all = 0;
  for (double v : a) all += v * v;
  for (int sweep = 0; sweep < 50; ++sweep) {  // convergence is quadratic: about ten are enough
    double off = 0;
    for (size_t p = 0; p < n; ++p)
      for (size_t q = p + 1; q < n; ++q) off += a[p * n + q] * a[p * n + q];
    if (off <= 1e-24 * all) break;
    for (size_t p = 0; p < n; ++p)
      for (size_t q = p + 1; q < n; ++q) rotate(a, n, p, q);
  }
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) values.push_back(a[i * n + i]);
  std::sort(values.rbegin(), values.rend());
  return values;
}

double effective_rank(const Tensor& x) {
  const no_grad off;
  const Tensor rows = centred(x);
  const auto covariance = matmul(transpose(rows, 0, 1), rows).to_vector<double>();
  double total = 0, entropy = 0;
  const std::vector<double> spectrum = eigenvalues(covariance, x.size(1));
  for (double v : spectrum) total += std::max(v, 0.0);
  for (double v : spectrum)
    if (v > 0) entropy -= v / total * std::log(v / total);
  return std::exp(entropy);
}

double linear_probe(const Split& train, const Split& test, int64_t classes) {
  const Tensor middle = mean(train.x, 0, true), spread = sqrt(var(train.x, Dims{0}, 0, true) + 1e-8);
  const Tensor x = (train.x - middle) / spread;
  nn::Linear probe({.in = x.size(1), .out = classes, .init = nn::LinearInit::zero});
  optim::Adam optimizer(probe.parameters(), {.lr = 0.05});
  for (int step = 0; step < 300; ++step) {
    optimizer.zero_grad();
    cross_entropy(probe(x), train.y).backward();
    optimizer.step();
  }
  const no_grad off;
  return 100 * mean(to(eq(argmax(probe((test.x - middle) / spread), 1), test.y), DType::float32)).item();
}

}  // namespace comparison
