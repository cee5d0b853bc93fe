#include <fmt/format.h>

#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

using tutti::nn::GroupedMultiHeadAttentionOptions;
using tutti::nn::GroupExchange;

GroupedMultiHeadAttentionOptions exchanging(GroupExchange exchange) {
  auto options = grouped_options(4);
  options.exchange = exchange;
  return options;
}

}  // namespace

// The planted pair shows that the bench sees an effect in both directions; the same tasks then say what an exchange
// between groups is worth where it is needed. Ten seeds decide, ten others with another test set confirm.
Claim c36();
Claim c36() {
  return {36, "Information exchange across groups.",
          "Planted tasks whose answer crosses groups: ACROSS (a question meets keys of another group) and ACROSS-V "
          "(the value is in another group), and IN, where it does not. Holds if the plain grouped layer wins IN and "
          "loses ACROSS and ACROSS-V against standard, the standard layer is as good on ACROSS-V as on IN (the "
          "interval contains 0), the inter-group path regains at least half of the loss on ACROSS and talking heads at "
          "least half of that on ACROSS-V, each over ten seeds and again over ten others with another test set; "
          "refuted if neither gains anything; else undecided.",
          [](Lab& lab) {
            constexpr int64_t k = 10;
            Finding f;
            bool gains_something = false;
            Interval first{};
            std::vector<std::string> failures;
            for (const bool again : {false, true}) {
              const std::string suffix = again ? "/2" : "";
              const uint64_t seed = again ? 101 : 1;
              Table table{again ? "Other seeds, another test set" : "First seeds",
                          comparison_header("task: b - a", "a (%)", "b (%)"),
                          {}};
              const auto standard = [&](const char* variant) { return base::planted(variant + suffix); };
              const auto grouped = [&](const char* variant, GroupExchange exchange = GroupExchange::none) {
                return grouped_like(standard(variant), exchanging(exchange));
              };
              const auto show = [&](const std::string& name, const Setting& a, const Setting& b) {
                const Comparison c = compare(lab, a, b, k, seed);
                table.rows.push_back(row_of(name, c));
                return c.difference;
              };
              const auto against_standard = [&](const std::string& name, const char* variant) {
                return show(name + ": grouped - standard", standard(variant), grouped(variant));
              };
              const auto exchange = [&](const std::string& name, const char* variant, GroupExchange kind,
                                        const char* way) {
                return show(name + ": " + way + " - grouped", grouped(variant), grouped(variant, kind));
              };
              const auto expect = [&](const std::string& what, bool seen) {
                if (!seen) failures.push_back(what);
              };
              expect("IN", against_standard("IN", "in").low > 0);
              const Interval across = against_standard("ACROSS", "across"),
                             across_v = against_standard("ACROSS-V", "across_v");
              expect("ACROSS", across.high < 0);
              expect("ACROSS-V", across_v.high < 0);
              const Interval path = exchange("ACROSS", "across", GroupExchange::inter_group, "inter-group path");
              const Interval talk = exchange("ACROSS-V", "across_v", GroupExchange::talking_heads, "talking heads");
              expect("the inter-group path on ACROSS", 2 * path.low > -across.value);
              expect("talking heads on ACROSS-V", 2 * talk.low > -across_v.value);
              // Shown beside them: these cannot make q meet another group's keys.
              exchange("ACROSS", "across", GroupExchange::talking_heads, "talking heads");
              exchange("ACROSS", "across", GroupExchange::shuffle, "shuffle");
              exchange("ACROSS", "across", GroupExchange::tokens_over_groups, "tokens over groups");
              exchange("ACROSS", "across", GroupExchange::cascade, "cascade");
              const Interval same = show("standard: ACROSS-V - IN", standard("in"), standard("across_v"));
              expect("the standard layer on IN and ACROSS-V", same.low <= 0 && same.high >= 0);
              gains_something = gains_something || path.low > 0 || talk.low > 0;
              if (!again) first = path;
              f.tables.push_back(table);
            }
            if (!lab.complete()) return Finding{};
            f.verdict = with_protocol(failures.empty()   ? "holds"
                                      : !gains_something ? "refuted"
                                                         : "undecided",
                                      lab.seeds(k), k);
            f.effect = "the inter-group path recovers ACROSS by " + with_range(first, 2, true);
            f.seeds = std::to_string(2 * lab.seeds(k));
            f.n = "4000";
            f.why = failures.empty() ? "Every expectation was met in both series."
                                     : fmt::format("Not as expected: {}.", fmt::join(failures, "; "));
            f.why +=
                " IN is an effect of sample and step efficiency: with twice the steps it nearly vanishes, and a dense "
                "embedding, mean pooling or two layers let groups mix.";
            return f;
          }};
}

}  // namespace comparison
