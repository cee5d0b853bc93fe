#include "grouped_vs_standard/statistics/student.h"

#include <cmath>

#include "tutti/core/error.h"

namespace comparison {
namespace {

/// The continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8) by Lentz's method; converges
/// fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::fabs(v) < tiny ? tiny : v; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      value *= c * d;
    }
    if (std::fabs(c * d - 1) < 1e-15) break;
  }
  return value;
}

/// I_x(a, b), given x and 1 - x apart, so that neither loses its digits.
double incomplete_beta(double a, double b, double x, double rest) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, rest) / b;
}

}  // namespace

double student_p(double t, double freedom) {
  if (!(freedom > 0)) throw tutti::ValueError(tutti::message("student_p: freedom ", freedom, ": must be above 0"));
  if (std::isinf(t)) return 0;
  const double whole = freedom + t * t;
  return incomplete_beta(freedom / 2, 0.5, freedom / whole, t * t / whole);
}

double student_quantile(double p, double freedom) {
  if (!(p > 0 && p < 1)) throw tutti::ValueError(tutti::message("student_quantile: p ", p, ": must be within 0 and 1"));
  double low = 0, high = 1;
  while (student_p(high, freedom) > p) low = high, high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_p(middle, freedom) > p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace comparison
