#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

std::string accuracy_verdict(const Interval& d, double article) {
  const std::string direction = d.low > 0                  ? "better"
                                : d.high < 0               ? "worse"
                                : d.low > -1 && d.high < 1 ? "equivalent"
                                                           : "undecided";
  const std::string against = d.low > article                                      ? "exceeds"
                              : d.high < article                                   ? "refuted"
                              : d.low > 0 && d.low <= article && d.high >= article ? "agrees"
                                                                                   : "undecided";
  return direction + ", " + against;
}

bool is_equal(const Interval& r) { return r.low > 0.98 && r.high < 1.02; }

std::string ratio_verdict(const Interval& r, double article, const std::string& more, const std::string& less) {
  const std::string direction = is_equal(r) ? "equal" : r.low > 1 ? more : r.high < 1 ? less : "undecided";
  return direction + (r.low <= article && article <= r.high ? ", agrees" : ", differs");
}

std::string claim_verdict(const Interval& e, double equivalent) {
  if (e.low > 0) return "holds";
  if (e.high < 0 || (e.low > -equivalent && e.high < equivalent)) return "refuted";
  return "undecided";
}

std::string no_loss_verdict(const Interval& d, double margin) {
  return d.low > -margin ? "holds" : d.high < -margin ? "refuted" : "undecided";
}

std::string both(const std::string& a, const std::string& b) { return a == b ? a : "undecided"; }

std::string with_protocol(const std::string& verdict, int64_t seeds, int64_t protocol) {
  return seeds < protocol ? verdict + " (below protocol)" : verdict;
}

}  // namespace comparison
