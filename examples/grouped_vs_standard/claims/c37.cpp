#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

Setting dropping(const std::vector<double>& rates, bool whole_groups = false) {
  auto options = grouped_options(4);
  options.group_dropout = {.rates = rates, .whole_groups = whole_groups};
  return grouped_like(base::sweep(), options);
}

}  // namespace

Claim c37();
Claim c37() {
  return {37, "Grouped dropout with a different rate for each group.",
          "Rates 0.05, 0.15, 0.25, 0.35 against 0.2 for all groups, of elements and of whole groups; both against "
          "none. Holds if graded rates beat the constant one in both kinds, refuted if in both they are worse or "
          "inside +-1 point.",
          [](Lab& lab) {
            constexpr int64_t k = 10;
            const std::vector<double> constant(4, 0.2), graded{0.05, 0.15, 0.25, 0.35};
            const Setting none = grouped_like(base::sweep(), grouped_options(4));
            const Comparison elements = compare(lab, dropping(constant), dropping(graded), k);
            const Comparison groups = compare(lab, dropping(constant, true), dropping(graded, true), k);
            const Comparison some = compare(lab, none, dropping(constant), k);
            const Comparison some_groups = compare(lab, none, dropping(constant, true), k);
            if (!lab.complete()) return Finding{};
            const std::string a = claim_verdict(elements.difference, 1), b = claim_verdict(groups.difference, 1);
            Finding f = finding_of(elements);
            f.verdict = with_protocol(both(a, b), elements.seeds, k);
            f.why =
                "Of elements; of whole groups the difference is " + with_range(groups.difference, 2, true) + " points.";
            f.tables.push_back(
                {"Dropout of the groups' results",
                 comparison_header("b - a", "a (%)", "b (%)"),
                 {row_of("elements: graded - constant", elements), row_of("whole groups: graded - constant", groups),
                  row_of("elements: constant - none", some), row_of("whole groups: constant - none", some_groups)}});
            return f;
          }};
}

}  // namespace comparison
