#include "grouped_vs_standard/headline/table.h"

#include <fmt/format.h>

#include "grouped_vs_standard/statistics/seeds.h"

namespace comparison {
namespace {

std::string interval(const Interval& i, int digits) {
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", i.value, digits, i.low, digits, i.high, digits);
}

std::string signed_interval(const Interval& i) {
  return fmt::format("{:+.2f} [{:+.2f}, {:+.2f}]", i.value, i.low, i.high);
}

/// The three rows as numbers, each present only if it was measured.
struct Rows {
  explicit Rows(const HeadlineResult& f) {
    has_speed = f.speed.rates[0].size() >= 2;
    has_accuracy = !f.seeds.empty();
    for (int arm = 0; arm < 2; ++arm) {
      if (has_speed) speed[arm] = median(f.speed.rates[arm]);
      if (has_accuracy) accuracy[arm] = accuracy_over_seeds(correct_of(f.outcomes[arm]));
      for (const Outcome& o : f.outcomes[arm]) per_seed[arm].push_back(o.accuracy());
    }
    if (has_speed) speed_ratio = ratio(f.speed.rates[0], f.speed.rates[1]);
    if (has_accuracy) difference = accuracy_difference(correct_of(f.outcomes[0]), correct_of(f.outcomes[1])).interval;
    if (f.memory[0].tensor_bytes > 0) memory_ratio = f.memory[1].tensor_bytes / f.memory[0].tensor_bytes;
  }
  bool has_speed, has_accuracy;
  double speed[2]{};
  Interval accuracy[2], speed_ratio, difference;
  double memory_ratio = 0;  ///< counted, not sampled: no interval
  std::vector<double> per_seed[2];
};

const std::string below_protocol = " (below protocol)";

std::string line(const std::string& measure, const std::string& a, const std::string& b, const std::string& c,
                 const std::string& d, const std::string& e, const std::string& f, const std::string& verdict) {
  return fmt::format("{:<24}{:>9}{:>9}{:>8}   {:>22}{:>22}{:>24}   {}\n", measure, a, b, c, d, e, f, verdict);
}

}  // namespace

std::string table(const HeadlineResult& f) {
  const Rows rows(f);
  const Protocol& p = f.protocol;
  const bool fewer = static_cast<int64_t>(f.seeds.size()) < protocol_seeds;
  std::string out = fmt::format(
      "\n{}.\n"
      "{}x{} patches ({} tokens), width {}, {} layers, {} heads, {} groups; {} steps of {}, AdamW at {} with warm-up "
      "and "
      "cosine,\nweight decay {}; parameters matched by {}; tested on {} {} images.\n"
      "{}; {} of {} seeds finished in {:.0f} s.\n\n",
      f.data, p.patch, p.patch, (28 / p.patch) * (28 / p.patch), p.dim, p.layers, p.heads, p.groups, p.steps, p.batch,
      p.lr, f.arms[0].setting.training.weight_decay, f.match,
      f.outcomes[0].empty() ? p.test_images : static_cast<int64_t>(f.outcomes[0][0].correct.size()),
      p.validation ? "validation" : "test", f.environment, f.seeds.size(), f.seeds_wanted, f.seconds);

  out += line("", "article", "", "", "this run", "", "", "");
  out += line("measure", "standard", "grouped", "ratio", "standard", "grouped", "ratio/diff. [95 %]", "verdict");
  if (rows.has_speed)
    out +=
        line("training speed (iter/s)", fmt::format("{:.1f}", Article::speed[0]),
             fmt::format("{:.1f}", Article::speed[1]), fmt::format("{:.3f}", Article::speed_ratio),
             fmt::format("{:.1f}", rows.speed[0]), fmt::format("{:.1f}", rows.speed[1]), interval(rows.speed_ratio, 3),
             ratio_verdict(rows.speed_ratio, Article::speed_ratio, "faster", "slower"));
  if (rows.has_accuracy)
    out += line("validation accuracy (%)", fmt::format("{:.1f}", Article::accuracy[0]),
                fmt::format("{:.1f}", Article::accuracy[1]), fmt::format("{:+.1f}", Article::gain),
                interval(rows.accuracy[0], 2), interval(rows.accuracy[1], 2), signed_interval(rows.difference),
                accuracy_verdict(rows.difference, Article::gain) + (fewer ? below_protocol : ""));
  if (f.memory[0].tensor_bytes > 0)
    out += line("memory (MB)", fmt::format("{:.0f}", Article::memory[0]), fmt::format("{:.0f}", Article::memory[1]),
                fmt::format("{:.3f}", Article::memory_ratio), fmt::format("{:.2f}", f.memory[0].tensor_bytes / 1e6),
                fmt::format("{:.2f}", f.memory[1].tensor_bytes / 1e6), fmt::format("{:.3f}", rows.memory_ratio),
                memory_verdict(rows.memory_ratio));

  const auto beside = [&](const std::string& what, const std::string& standard, const std::string& grouped,
                          const std::string& r) { out += line(what, "", "", "", standard, grouped, r, ""); };
  const auto ratio_of = [](double a, double b) { return fmt::format("{:.3f}", b / a); };
  out += "\n";
  beside("parameters", fmt::format("{}", f.arms[0].cost.parameters), fmt::format("{}", f.arms[1].cost.parameters),
         ratio_of(static_cast<double>(f.arms[0].cost.parameters), static_cast<double>(f.arms[1].cost.parameters)));
  beside("MFLOP of a training step",
         fmt::format("{:.1f}", 3e-6 * static_cast<double>(p.batch) * f.arms[0].cost.forward_flops),
         fmt::format("{:.1f}", 3e-6 * static_cast<double>(p.batch) * f.arms[1].cost.forward_flops),
         ratio_of(f.arms[0].cost.forward_flops, f.arms[1].cost.forward_flops));
  beside("activations kept (MB)",
         fmt::format("{:.2f}", 4e-6 * static_cast<double>(p.batch) * f.arms[0].cost.activation_floats),
         fmt::format("{:.2f}", 4e-6 * static_cast<double>(p.batch) * f.arms[1].cost.activation_floats),
         ratio_of(f.arms[0].cost.activation_floats, f.arms[1].cost.activation_floats));
  if (f.memory[0].rss_bytes > 0)
    beside("peak RSS of a process (MB)", fmt::format("{:.1f}", f.memory[0].rss_bytes / 1e6),
           fmt::format("{:.1f}", f.memory[1].rss_bytes / 1e6), ratio_of(f.memory[0].rss_bytes, f.memory[1].rss_bytes));
  if (rows.has_accuracy) {
    out += "\n";
    for (int arm = 0; arm < 2; ++arm) {
      out += fmt::format("{:<9} accuracy by seed:", f.arms[static_cast<size_t>(arm)].name);
      for (double a : rows.per_seed[arm]) out += fmt::format(" {:.2f}", a);
      out += fmt::format("  (deviation {:.2f})\n", standard_deviation(rows.per_seed[arm]));
    }
  }
  out +=
      "\nThe article states one run of an unnamed data set, model and machine: its table can be tested, not "
      "replicated.\n"
      "Memory is the tensors' high-water mark over one step; the wider feed-forward of equal_ffn keeps more "
      "activations.\n";
  if (fewer)
    out += fmt::format("Below protocol: {} seeds here, {} in the full protocol.\n", f.seeds.size(), protocol_seeds);
  if (parameter_gap(f.arms) >= 1e-3)
    out += fmt::format("The parameters are nearly equal only: they differ by {:.2f} %.\n", 100 * parameter_gap(f.arms));
  return out;
}

nlohmann::json json(const HeadlineResult& f) {
  const Rows rows(f);
  const Protocol& p = f.protocol;
  const auto as_json = [](const Interval& i) {
    return nlohmann::json{{"value", i.value}, {"low", i.low}, {"high", i.high}};
  };
  nlohmann::json j{
      {"environment", f.environment},
      {"data", f.data},
      {"match", f.match},
      {"seconds", f.seconds},
      {"seeds", f.seeds},
      {"seeds_wanted", f.seeds_wanted},
      {"protocol_seeds", protocol_seeds},
      {"protocol",
       {{"patch", p.patch},
        {"dim", p.dim},
        {"heads", p.heads},
        {"groups", p.groups},
        {"layers", p.layers},
        {"training_images", p.training_images},
        {"validation", p.validation},
        {"batch", p.batch},
        {"steps", p.steps},
        {"warmup", f.arms[0].setting.training.warmup},
        {"lr", p.lr},
        {"weight_decay", f.arms[0].setting.training.weight_decay},
        {"augment", p.augment}}},
      {"article", {{"speed", Article::speed}, {"accuracy", Article::accuracy}, {"memory", Article::memory}}}};
  for (size_t arm = 0; arm < 2; ++arm)
    j["arms"].push_back({{"name", f.arms[arm].name},
                         {"parameters", f.arms[arm].cost.parameters},
                         {"hidden", f.arms[arm].setting.model.hidden},
                         {"forward_flops", f.arms[arm].cost.forward_flops},
                         {"activation_bytes", 4 * static_cast<double>(p.batch) * f.arms[arm].cost.activation_floats},
                         {"tensor_bytes", f.memory[arm].tensor_bytes},
                         {"rss_bytes", f.memory[arm].rss_bytes},
                         {"accuracy_by_seed", rows.per_seed[arm]},
                         {"rates", f.speed.rates[arm]}});
  if (rows.has_speed)
    j["speed_ratio"] = as_json(rows.speed_ratio),
    j["verdicts"]["speed"] = ratio_verdict(rows.speed_ratio, Article::speed_ratio, "faster", "slower");
  if (rows.has_accuracy) {
    j["accuracy"] = {as_json(rows.accuracy[0]), as_json(rows.accuracy[1])};
    j["accuracy_difference"] = as_json(rows.difference);
    j["verdicts"]["accuracy"] = accuracy_verdict(rows.difference, Article::gain);
  }
  j["memory_ratio"] = rows.memory_ratio;
  j["verdicts"]["memory"] = memory_verdict(rows.memory_ratio);
  return j;
}

}  // namespace comparison
