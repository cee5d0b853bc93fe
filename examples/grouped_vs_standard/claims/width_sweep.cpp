#include "grouped_vs_standard/claims/width_sweep.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/seeds.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

constexpr int64_t protocol = 5;  // seeds

double mean_of(const Comparison& c) { return mean(accuracies(c.b)); }

Figure picture(const WidthSweep& s, int64_t from, int64_t to) {
  Series line{.name = fmt::format("C = {}", s.width)};
  for (size_t i = 0; i < s.groups.size(); ++i) line.add(static_cast<double>(s.groups[i]), s.against[i].accuracy_b);
  Series heads{.name = fmt::format("standard, {} heads", s.groups.back()), .line = false};
  heads.add(static_cast<double>(s.groups.back()), s.many_heads.accuracy_b);
  return {.id = fmt::format("groups-c{}", s.width),
          .title = fmt::format("Accuracy against groups at C = {}", s.width),
          .x_label = "groups (1: the standard layer)",
          .y_label = "test accuracy (%)",
          .log_x = true,
          .series = {line, heads},
          .bands = {{static_cast<double>(from), static_cast<double>(to), "advised"}}};
}

}  // namespace

WidthSweep width_sweep(Lab& lab, int64_t width, int64_t from, int64_t to) {
  const int64_t k = width <= 128 ? 10 : width <= 384 ? 5 : 3;
  WidthSweep s{.width = width, .groups = {1, 2, 4, 8, 16}};
  const Setting standard = base::for_task({.name = "fashion", .patch = 7}, width, 1, 4, width <= 256 ? 400 : 200);
  for (const int64_t groups : s.groups)
    s.against.push_back(
        compare(lab, standard, groups == 1 ? standard : grouped_like(standard, grouped_options(groups)), k));
  auto many_heads = standard;
  many_heads.model.attention = tutti::nn::MultiHeadAttentionOptions{.num_heads = s.groups.back()};
  s.many_heads = compare(lab, standard, many_heads, k);
  if (!lab.complete()) return s;
  const auto best_where = [&](auto&& allowed) {
    size_t best = s.groups.size();
    for (size_t i = 0; i < s.groups.size(); ++i)
      if (allowed(s.groups[i]) && (best == s.groups.size() || mean_of(s.against[i]) > mean_of(s.against[best])))
        best = i;
    return best;
  };
  const auto inside = [&](int64_t g) { return g >= from && g <= to; };
  s.best = best_where([](int64_t) { return true; });
  s.best_in_band = best_where(inside);
  s.best_outside = best_where([&](int64_t g) { return !inside(g); });
  const auto in_band = static_cast<double>(std::count_if(s.groups.begin(), s.groups.end(), inside));
  const double pairs = in_band * (static_cast<double>(s.groups.size()) - in_band);
  s.band_minus_outside = accuracy_difference(correct_of(s.against[s.best_outside].b),
                                             correct_of(s.against[s.best_in_band].b), 0.05 / pairs)
                             .interval;
  return s;
}

Finding judge_band(Lab& lab, const std::vector<int64_t>& widths, int64_t from, int64_t to) {
  Finding f;
  Table table{"Best number of groups",
              {"C", "G: accuracy (%)", "best", "best in the band minus best outside", "standard with 16 heads (%)",
               "its gain over 4 heads", "parameters differ by up to (%)"},
              {}};
  bool better = false, worse = false;
  int64_t fewest = 1000;
  std::string seeds;
  for (const int64_t width : widths) {
    const WidthSweep s = width_sweep(lab, width, from, to);
    if (!lab.complete()) continue;
    const int64_t k = s.against[0].seeds;
    fewest = std::min(fewest, k);
    seeds += (seeds.empty() ? "" : " / ") + std::to_string(k);
    std::string all;
    double gap = 0;
    for (const Comparison& c : s.against) gap = std::max(gap, std::abs(parameter_gap(c)));
    for (size_t i = 0; i < s.groups.size(); ++i)
      all += fmt::format("{}{}: {}", i == 0 ? "" : ", ", s.groups[i], number(mean_of(s.against[i])));
    table.rows.push_back({std::to_string(width), all, std::to_string(s.groups[s.best]),
                          with_range(s.band_minus_outside, 2, true), number(mean_of(s.many_heads)),
                          with_range(s.many_heads.difference, 2, true), number(gap, 3)});
    better = better || s.band_minus_outside.low > 0;
    worse = worse || s.band_minus_outside.high < 0;
    f.effect = (f.effect.empty() ? "best G " : f.effect + ", ") + fmt::format("{} at C {}", s.groups[s.best], width);
    f.pictures.push_back(picture(s, from, to));
  }
  if (!lab.complete()) return {};
  f.verdict = with_protocol(better && !worse ? "holds" : worse && !better ? "refuted" : "undecided", fewest, protocol);
  f.seeds = seeds;
  f.n = "10000";
  f.tables.push_back(table);
  f.why =
      "G = 1 is the standard layer with 4 heads; every grouped layer has one head per group (so G and heads grow "
      "together: see the standard layer with 16 heads) and the same parameters. Intervals are corrected by Bonferroni "
      "for the pairs of a G in the band and one outside, of which the best of each side were chosen.";
  return f;
}

}  // namespace comparison
