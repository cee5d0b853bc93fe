#include "grouped_vs_standard/claims/width_sweep.h"

#include <algorithm>

#include <fmt/format.h>

#include "grouped_vs_standard/statistics/bootstrap.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

double mean_of(const Comparison& c) { return mean(accuracies(c.b)); }

Figure picture(const WidthSweep& s, int64_t from, int64_t to) {
  Series line{.name = fmt::format("C = {}", s.width)};
  for (size_t i = 0; i < s.groups.size(); ++i) {
    line.x.push_back(static_cast<double>(s.groups[i]));
    line.y.push_back(s.against[i].accuracy_b.value);
    line.low.push_back(s.against[i].accuracy_b.low);
    line.high.push_back(s.against[i].accuracy_b.high);
  }
  return {.id = fmt::format("groups-c{}", s.width),
          .title = fmt::format("Accuracy against groups at C = {}", s.width),
          .x_label = "groups (1: the standard layer)",
          .y_label = "test accuracy (%)",
          .log_x = true,
          .series = {line},
          .bands = {{static_cast<double>(from), static_cast<double>(to), "advised"}}};
}

}  // namespace

WidthSweep width_sweep(Lab& lab, int64_t width, int64_t from, int64_t to, int64_t k) {
  WidthSweep s{.width = width, .groups = {1, 2, 4, 8, 16}};
  const Setting standard = base::for_task({.name = "fashion", .patch = 7}, width, 1, 4, width <= 256 ? 400 : 200);
  for (const int64_t groups : s.groups)
    s.against.push_back(
        compare(lab, standard, groups == 1 ? standard : grouped_like(standard, grouped_options(groups)), k));
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
  std::vector<double> differences = accuracies(s.against[s.best_in_band].b);
  const auto outside = accuracies(s.against[s.best_outside].b);
  for (size_t i = 0; i < differences.size(); ++i) differences[i] -= outside[i];
  s.band_minus_outside = bootstrap_mean(differences).interval;
  return s;
}

Finding judge_band(Lab& lab, const std::vector<int64_t>& widths, int64_t from, int64_t to, int64_t k) {
  Finding f;
  Table table{"Best number of groups", {"C", "G: accuracy (%)", "best", "best in the band minus best outside"}, {}};
  bool better = false, worse = false;
  for (const int64_t width : widths) {
    const WidthSweep s = width_sweep(lab, width, from, to, k);
    if (!lab.complete()) continue;
    std::string all;
    for (size_t i = 0; i < s.groups.size(); ++i)
      all += fmt::format("{}{}: {}", i == 0 ? "" : ", ", s.groups[i], number(mean_of(s.against[i])));
    table.rows.push_back(
        {std::to_string(width), all, std::to_string(s.groups[s.best]), with_range(s.band_minus_outside, 2, true)});
    better = better || s.band_minus_outside.low > 0;
    worse = worse || s.band_minus_outside.high < 0;
    f.effect = (f.effect.empty() ? "best G " : f.effect + ", ") + fmt::format("{} at C {}", s.groups[s.best], width);
    f.pictures.push_back(picture(s, from, to));
  }
  if (!lab.complete()) return {};
  f.verdict = with_protocol(better && !worse ? "holds" : worse && !better ? "refuted" : "undecided", lab.seeds(k), k);
  f.seeds = std::to_string(lab.seeds(k));
  f.n = "10000";
  f.tables.push_back(table);
  f.why =
      "G = 1 is the standard layer with 4 heads; every grouped layer has one head per group and the same parameters. "
      "The "
      "best of each side is chosen on the same seeds, which favours neither.";
  return f;
}

}  // namespace comparison
