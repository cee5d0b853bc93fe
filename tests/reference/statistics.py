# The values that tests/statistics_*_test.cpp compare with, by SciPy: python3 statistics.py
import numpy as np
from scipy import stats

for t, df in [(2.262157162740992, 9), (0.5, 1), (1, 2), (3.5, 4), (10, 9), (40, 19), (1e-3, 7), (2, 250)]:
    print("student_p", t, df, repr(float(2 * stats.t.sf(t, df))))
for p, df in [(0.05, 1), (0.05, 4), (0.05, 9), (0.05, 19), (0.01, 9), (0.32, 1), (0.05, 1000), (0.999, 3)]:
    print("student_quantile", p, df, repr(float(stats.t.isf(p / 2, df))))

for a, b in [(3, 9), (0, 5), (12, 12), (1, 23)]:
    print("mcnemar, exact", a, b, repr(float(stats.binomtest(min(a, b), a + b).pvalue)))
for a, b in [(150, 86), (12, 13), (5, 25), (400, 520)]:
    chi2 = max(0, abs(a - b) - 1) ** 2 / (a + b)
    print("mcnemar, chi-square", a, b, repr(float(stats.chi2.sf(chi2, 1))))

d, train, test = np.array([1.2, 0.4, -0.3, 2.1, 0.9, 1.5, -0.6, 0.8, 1.1, 0.2]), 1000, 186
error = np.sqrt((1 / len(d) + test / train) * d.var(ddof=1))
half, t = stats.t.ppf(0.975, len(d) - 1) * error, d.mean() / error
print("nadeau_bengio", d.mean(), d.mean() - half, d.mean() + half, t, 2 * stats.t.sf(t, len(d) - 1))
