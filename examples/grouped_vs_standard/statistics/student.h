// Student's t distribution.
#pragma once

namespace comparison {

/// Two-sided p of |T| >= |t| with `freedom` > 0 degrees of freedom: the regularised incomplete beta function
/// I_x(freedom / 2, 1 / 2) at x = freedom / (freedom + t^2) (Abramowitz & Stegun 26.7.1), by its continued fraction.
double student_p(double t, double freedom);

/// The t whose two-sided p is `p` in (0, 1): 2.262 for p = 0.05 and 9 degrees of freedom.
double student_quantile(double p, double freedom);

}  // namespace comparison
