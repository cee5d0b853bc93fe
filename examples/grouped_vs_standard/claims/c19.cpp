#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/seeds.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

constexpr double rates[] = {3e-3, 1e-2, 2e-2, 3e-2, 6e-2, 0.1, 0.2, 0.3};

/// Deviation of the last fifth of the losses.
double late_spread(const Outcome& o) {
  return standard_deviation({o.losses.end() - static_cast<int64_t>(o.losses.size() / 5), o.losses.end()});
}

/// Steps after the first twenty whose loss exceeds the mean of the ten before by more than four of their deviations.
double spikes(const Outcome& o) {
  int count = 0;
  for (size_t i = 20; i < o.losses.size(); ++i) {
    const std::vector<double> before(o.losses.begin() + static_cast<int64_t>(i) - 10,
                                     o.losses.begin() + static_cast<int64_t>(i));
    count += o.losses[i] > mean(before) + 4 * standard_deviation(before);
  }
  return count;
}

/// Did it learn nothing: the last tenth of the losses no better than chance, or not finite?
bool diverged(const Outcome& o, double chance) {
  const double late = mean({o.losses.end() - static_cast<int64_t>(o.losses.size() / 10), o.losses.end()});
  return !(late < 0.98 * chance);
}

/// A rate; where it is the largest tried: "0.3 or more".
std::string at_least(double rate) { return fmt::format("{:g}{}", rate, rate == std::end(rates)[-1] ? " or more" : ""); }

}  // namespace

// The article itself advises against oscillation elsewhere (C31 to C33).
Claim c19();
Claim c19() {
  return {
      19, "Training is more stable.",
      "Four measures: deviation of the late losses and loss spikes of the plain headline runs (20 seeds), deviation of "
      "accuracy over these seeds, and the largest of eight learning rates (warm-up, then cosine) at which no seed of "
      "three ends at chance within 150 steps. Holds if the late deviation is smaller and no other measure is worse; "
      "refuted if it is larger, or the same within 5 % of the standard layer's; else undecided.",
      [](Lab& lab) {
        constexpr int64_t k = 20;
        const Setting standard = base::headline_plain();
        const auto options = grouped_options(4);
        const Comparison c = compare(lab, standard, grouped_like(standard, options), k);
        double largest[2] = {0, 0};
        Table by_rate{
            "Runs (of three) that end at chance within 150 steps", {"learning rate", "standard", "grouped"}, {}};
        bool going[2] = {true, true};
        for (const double rate : rates) {
          Setting s = base::sweep();
          s.training.steps = 150;
          s.training.lr = rate;
          int lost[2] = {0, 0};
          for (size_t arm = 0; arm < 2; ++arm) {
            for (const Outcome& o : lab.train(arm == 0 ? s : grouped_like(s, options), 3))
              lost[arm] += diverged(o, std::log(10.0));
            going[arm] = going[arm] && lost[arm] == 0;
            if (going[arm]) largest[arm] = rate;
          }
          by_rate.rows.push_back({fmt::format("{:g}", rate), std::to_string(lost[0]), std::to_string(lost[1])});
        }
        if (!lab.complete()) return Finding{};
        std::vector<double> usual, spread, spike;
        for (size_t i = 0; i < c.a.size(); ++i) {
          usual.push_back(late_spread(c.a[i]));
          spread.push_back(usual.back() - late_spread(c.b[i]));
          spike.push_back(spikes(c.a[i]) - spikes(c.b[i]));
        }
        const Interval calmer = mean_over_seeds(spread), fewer = mean_over_seeds(spike);
        const Interval seeds = over_seeds(c.a.size(), [&](const std::vector<size_t>& drawn) {
          std::vector<double> a, b;
          for (const size_t i : drawn) a.push_back(c.a[i].accuracy()), b.push_back(c.b[i].accuracy());
          return standard_deviation(a) - standard_deviation(b);
        });
        const bool worse = fewer.high < 0 || seeds.high < 0 || largest[1] < largest[0];
        Finding f = finding_of(c);
        f.verdict = with_protocol(
            worse && claim_verdict(calmer) == "holds" ? "undecided" : claim_verdict(calmer, 0.05 * mean(usual)),
            c.seeds, k);
        say_effect(f, "late deviation smaller by ", calmer, "", 4);
        f.tables.push_back({"Standard minus grouped (positive: grouped is more stable)",
                            {"measure", "difference"},
                            {{"deviation of the last fifth of the losses", with_range(calmer, 4, true)},
                             {"loss spikes a run", with_range(fewer, 2, true)},
                             {"deviation of accuracy over seeds (points)", with_range(seeds, 2, true)},
                             {"largest stable learning rate",
                              fmt::format("{} standard, {} grouped", at_least(largest[0]), at_least(largest[1]))}}});
        f.tables.push_back(by_rate);
        return f;
      }};
}

}  // namespace comparison
