// Student's t against SciPy (reference/statistics.py) and closed forms.
#if __has_include("grouped_vs_standard/statistics/student.h")
#include <cmath>
#include <limits>

#include "grouped_vs_standard/statistics/student.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("statistics: two-sided p of Student's t", "[statistics]") {
  const auto close = [](double t, double freedom, double p) {
    REQUIRE(student_p(t, freedom) == Approx(p).epsilon(1e-10));
    REQUIRE(student_p(-t, freedom) == student_p(t, freedom));
  };
  close(2.262157162740992, 9, 0.0500000000046757);
  close(0.5, 1, 0.7048327646991335);
  close(1, 2, 0.4226497308103742);
  close(3.5, 4, 0.024896163460222748);
  close(10, 9, 3.578237431924736e-06);
  close(40, 19, 8.307757199338434e-20);
  close(1e-3, 7, 0.9992300172449988);
  close(2, 250, 0.04658210534325142);
  for (double t : {0.1, 1.0, 7.0})  // one degree of freedom is Cauchy's distribution
    REQUIRE(student_p(t, 1) == Approx(1 - 2 / std::acos(-1.0) * std::atan(t)).epsilon(1e-12));
  REQUIRE(student_p(0, 5) == 1);
  REQUIRE(student_p(std::numeric_limits<double>::infinity(), 5) == 0);
  REQUIRE_THROWS_WITH(student_p(1, 0), Contains("freedom 0"));
}

TEST_CASE("statistics: quantiles of Student's t", "[statistics]") {
  const auto close = [](double p, double freedom, double t) {
    REQUIRE(student_quantile(p, freedom) == Approx(t).epsilon(1e-10));
  };
  close(0.05, 1, 12.706204736174705);
  close(0.05, 4, 2.7764451051977943);
  close(0.05, 9, 2.2621571627982053);
  close(0.05, 19, 2.09302405440831);
  close(0.01, 9, 3.2498355415921263);
  close(0.32, 1, 1.8189932472810662);
  close(0.05, 1000, 1.9623390808264085);
  close(0.999, 3, 0.001360350082597263);
  REQUIRE_THROWS_WITH(student_quantile(1, 3), Contains("p 1"));
}
#endif
