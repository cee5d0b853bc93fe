#include "grouped_vs_standard/claims/whole_report.h"

#include <ctime>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "common/program.h"
#include "grouped_vs_standard/claims/attention_maps.h"
#include "grouped_vs_standard/claims/speeds.h"
#include "grouped_vs_standard/claims/tuned.h"
#include "grouped_vs_standard/headline/protocol.h"
#include "grouped_vs_standard/headline/report_rows.h"
#include "grouped_vs_standard/report/html.h"
#include "grouped_vs_standard/report/markdown.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {
namespace {

/// Mean loss over seeds in windows of 20 steps, with the smallest and the largest seed as band.
Series loss_curve(const std::string& name, const std::vector<Outcome>& runs) {
  Series line{.name = name, .points = false};
  constexpr size_t window = 20;
  for (size_t begin = 0; begin + window <= runs.at(0).losses.size(); begin += window) {
    double sum = 0, low = 1e30, high = -1e30;
    for (const Outcome& run : runs) {
      double mean = 0;
      for (size_t i = begin; i < begin + window; ++i) mean += run.losses[i] / window;
      sum += mean;
      low = std::min(low, mean);
      high = std::max(high, mean);
    }
    line.add(static_cast<double>(begin + window), {sum / static_cast<double>(runs.size()), low, high});
  }
  return line;
}

/// "; 12 of 1500 results were made by commit a1b2c3d": by programs other than this one.
std::string made_by(const std::map<std::string, int>& commits, const std::string& commit) {
  std::string text;
  int all = 0;
  for (const auto& [name, count] : commits) all += count;
  for (const auto& [name, count] : commits)
    if (name == "unknown" && commit != "unknown")
      text += fmt::format("; {} of {} results do not say which commit made them", count, all);
    else if (name != commit)
      text += fmt::format("; {} of {} results were made by commit {}", count, all, name);
  return text;
}

Table headline_table(const Comparison& tuned, const Comparison& plain, const SpeedRatio& speed,
                     const StepBytes (&bytes)[2], const nlohmann::json& gpu) {
  const double memory = bytes[1].peak / bytes[0].peak;
  const auto accuracy_row = [&](const std::string& name, const Comparison& c, int64_t protocol) {
    return headline_row(Measure::accuracy, name,
                        {with_range(c.accuracy_a), with_range(c.accuracy_b), with_range(c.difference, 2, true),
                         with_protocol(accuracy_verdict(c.difference, Article::gain), c.seeds, protocol)});
  };
  Table table{"The article's table, with ours beside it",
              {"measure", "article: standard", "grouped", "ratio", "here: standard", "grouped", "ratio or difference",
               "verdict"},
              {headline_row(Measure::speed, "training speed (iter/s)",
                            {number(speed.a, 1), number(speed.b, 1), with_range(speed.ratio, 3),
                             ratio_verdict(speed.ratio, Article::speed_ratio, "faster", "slower")}),
               accuracy_row("validation accuracy (%), tuned", tuned, 10),
               accuracy_row("validation accuracy (%), plain", plain, 20),
               headline_row(Measure::memory, "memory (MB)",
                            {number(bytes[0].peak / 1e6), number(bytes[1].peak / 1e6), number(memory, 3),
                             memory_verdict(memory)})}};
  for (auto& row : gpu_rows(gpu)) table.rows.push_back(std::move(row));
  return table;
}

}  // namespace

Report whole_report(Lab& lab, const std::vector<Finding>& findings, const std::string& machine,
                    const std::string& commit, const nlohmann::json& gpu) {
  const Setting plain = base::headline_plain(), plain_grouped = grouped_like(plain, grouped_options(4));
  const Comparison without = compare(lab, plain, plain_grouped, 20);
  const Comparison with_augmentation = compare_tuned(lab, tuned_headline(lab));
  const SpeedRatio speed = speed_ratio(lab, plain, plain_grouped);
  const StepBytes bytes[2] = {step_bytes(lab, plain), step_bytes(lab, plain_grouped)};
  const Heatmaps maps = attention_maps(lab);
  Report report{.title = "Grouped multi-head attention: the article, claim by claim"};
  if (!lab.complete()) return report;

  report.provenance =
      fmt::format("{}; commit {}; {:%Y-%m-%d}; the results took {:.0f} minutes of one core{}.{}", machine, commit,
                  fmt::gmtime(std::time(nullptr)), lab.seconds() / 60, made_by(lab.commits(), commit),
                  lab.quick() ? " A quick run, with about a third of the protocol's seeds." : "");
  report.headline = headline_table(with_augmentation, without, speed, bytes, gpu);
  report.findings = findings;
  for (const auto& [id, title, c] :
       {std::tuple{"training-tuned", "Training loss, tuned (band: all seeds)", &with_augmentation},
        std::tuple{"training-plain", "Training loss, plain (band: all seeds)", &without}})
    report.pictures.push_back(Figure{.id = id,
                                     .title = title,
                                     .x_label = "step",
                                     .y_label = "loss (mean of 20 steps)",
                                     .log_y = true,
                                     .filled_bands = true,
                                     .series = {loss_curve("standard", c->a), loss_curve("grouped", c->b)}});
  report.pictures.push_back(maps);
  report.remarks = {
      "The article names no data set, model, batch, hardware, seed count or split, and reports one run: its table can "
      "be tested, not replicated to the digit.",
      "Tests and verdict rules were written down before their experiments ran. After a first quick run (a third of the "
      "seeds), and before the results of the whole one were looked at, some rules were made stricter and intervals of "
      "few seeds wider; README.md lists them.",
      "Hyper-parameters were chosen on validation images with the same trials for both arms. Both arms share seeds: "
      "training subset, order, augmentation.",
      "Intervals are 95 % bootstrap intervals, of accuracies over seeds and test items, of other quantities over "
      "seeds; with fewer than ten seeds they are never narrower than Student's t. 'Below protocol' marks fewer seeds "
      "than the protocol asks for. Where an effect lies above 0, this goes before its being small.",
      "Grouped-query attention is another thing (shared key/value heads) and is not what is compared here."};
  return report;
}

void write_report(const Report& report, const std::string& folder) {
  std::filesystem::create_directories(folder + "/figures");
  for (const auto& [name, picture] : picture_files(report)) examples::write_file(folder + "/figures/" + name, picture);
  examples::write_file(folder + "/REPORT.md", markdown(report, "figures"));
  examples::write_file(folder + "/REPORT.html", html(report));
}

}  // namespace comparison
