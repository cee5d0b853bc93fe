#include "grouped_vs_standard/claims/base.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

/// Standard deviation of a seed's last ten evaluations, in points, seed by seed.
std::vector<double> fluctuations(const std::vector<Outcome>& outcomes) {
  std::vector<double> list;
  for (const Outcome& o : outcomes) list.push_back(standard_deviation({o.curve.end() - 10, o.curve.end()}));
  return list;
}

}  // namespace

Claim c34();
Claim c34() {
  using tutti::nn::ProjectionNorm;
  return {
      34, "If validation fluctuates, add LayerNorm after the projections.",
      "The grouped layer without, with a LayerNorm per group and with one over all channels of q and k, at a constant "
      "rate, tested 20 times on 2000 images: standard deviation of the last ten tests of a seed, and accuracy at the "
      "end. Holds if the norm per group lowers the fluctuation and costs less than 1 point; refuted if it raises it, "
      "changes it by less than 0.1 point, or costs more than 1 point of accuracy; else undecided.",
      [](Lab& lab) {
        constexpr int64_t k = 10;
        const auto arm = [](ProjectionNorm norm) {
          auto options = grouped_options(4);
          options.norm = norm;
          Setting s = grouped_like(base::sweep(), options);
          s.training.evaluations = 20;
          s.training.constant_rate = true;
          return s;
        };
        const Comparison per_group = compare(lab, arm(ProjectionNorm::none), arm(ProjectionNorm::per_group), k);
        const Comparison full = compare(lab, arm(ProjectionNorm::none), arm(ProjectionNorm::full), k);
        if (!lab.complete()) return Finding{};
        const auto calmer = [](const Comparison& c) { return mean_difference(fluctuations(c.b), fluctuations(c.a)); };
        const Interval effect = calmer(per_group);
        Finding f = finding_of(per_group);
        std::string verdict = claim_verdict(effect, 0.1);
        if (per_group.difference.high < -1)
          verdict = "refuted";
        else if (verdict == "holds" && per_group.difference.low <= -1)
          verdict = "undecided";
        f.verdict = with_protocol(verdict, per_group.seeds, k);
        say_effect(f, "calmer by ", effect, " points");
        f.why = "Accuracy changes by " + with_range(per_group.difference, 2, true) + " points.";
        const auto row = [&](const std::string& name, const Comparison& c) {
          return std::vector<std::string>{name, number(mean(fluctuations(c.b))), with_range(calmer(c), 2, true),
                                          with_range(c.accuracy_b), with_range(c.difference, 2, true)};
        };
        f.tables.push_back(
            {"Fluctuation of late tests (standard deviation, points)",
             {"norm of q and k", "fluctuation", "calmer by", "accuracy (%)", "difference (points)"},
             {{"none", number(mean(fluctuations(per_group.a))), "-", with_range(per_group.accuracy_a), "-"},
              row("per group", per_group),
              row("over all channels", full)}});
        return f;
      }};
}

}  // namespace comparison
