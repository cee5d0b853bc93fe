#include "grouped_vs_standard/statistics/nadeau_bengio.h"

#include <cmath>
#include <limits>

#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/student.h"
#include "tutti/core/error.h"

namespace comparison {

CorrectedT nadeau_bengio(const std::vector<double>& differences, int64_t train, int64_t test) {
  const size_t k = differences.size();
  if (k < 2) throw tutti::ValueError(tutti::message("nadeau_bengio: ", k, " splits: at least two are needed"));
  if (train < 1 || test < 1)
    throw tutti::ValueError(
        tutti::message("nadeau_bengio: train ", train, ", test ", test, ": both must be at least 1"));
  const double m = mean(differences), s = standard_deviation(differences), freedom = static_cast<double>(k - 1);
  const double error =
      s * std::sqrt(1 / static_cast<double>(k) + static_cast<double>(test) / static_cast<double>(train));
  // Without any spread the test is degenerate: a mean of 0 is no evidence, any other is certain.
  const double t = error > 0 ? m / error : m == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), m);
  const double half = error * student_quantile(0.05, freedom);
  return {{m, m - half, m + half}, t, student_p(t, freedom)};
}

}  // namespace comparison
