#include "grouped_vs_standard/headline/report_rows.h"

#include <fstream>

#include <fmt/format.h>

#include "grouped_vs_standard/headline/protocol.h"
#include "grouped_vs_standard/report/format.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "tutti/core/error.h"

namespace comparison {
namespace {

Interval interval_from(const nlohmann::json& j) { return {j.at("value"), j.at("low"), j.at("high")}; }

}  // namespace

std::vector<std::string> headline_row(Measure measure, const std::string& name,
                                      const std::array<std::string, 4>& ours) {
  const auto row = [&](const double(&article)[2], int digits, const std::string& effect) {
    return std::vector<std::string>{
        name, number(article[0], digits), number(article[1], digits), effect, ours[0], ours[1], ours[2], ours[3]};
  };
  switch (measure) {
    case Measure::speed:
      return row(Article::speed, 1, number(Article::speed_ratio, 3));
    case Measure::accuracy:
      return row(Article::accuracy, 1, number(Article::gain, 1, true));
    default:
      return row(Article::memory, 0, number(Article::memory_ratio, 3));
  }
}

std::vector<std::vector<std::string>> gpu_rows(const nlohmann::json& result) {
  const std::array<std::string, 4> none{"not run", "not run", "not run", "not run"};
  auto speed = none, accuracy = none, memory = none;
  if (!result.is_null()) {
    const auto &arms = result.at("arms"), &verdicts = result.at("verdicts");
    if (result.contains("speed_ratio"))
      speed = {number(median(arms[0].at("rates")), 1), number(median(arms[1].at("rates")), 1),
               with_range(interval_from(result.at("speed_ratio")), 3), verdicts.at("speed")};
    if (result.contains("accuracy"))
      accuracy = {with_range(interval_from(result.at("accuracy")[0])),
                  with_range(interval_from(result.at("accuracy")[1])),
                  with_range(interval_from(result.at("accuracy_difference")), 2, true), verdicts.at("accuracy")};
    if (const double ratio = result.at("memory_ratio"); ratio > 0)
      memory = {number(arms[0].at("tensor_bytes").get<double>() / 1e6),
                number(arms[1].at("tensor_bytes").get<double>() / 1e6), number(ratio, 3), verdicts.at("memory")};
  }
  return {headline_row(Measure::speed, "training speed on a GPU (iter/s)", speed),
          headline_row(Measure::accuracy, "validation accuracy on a GPU (%)", accuracy),
          headline_row(Measure::memory, "memory on a GPU (MB)", memory)};
}

nlohmann::json read_gpu_result(const std::string& file) {
  if (file.empty()) return nullptr;
  std::ifstream in(file);
  if (!in) throw tutti::IoError(fmt::format("{}: cannot be read", file));
  nlohmann::json result;
  std::string environment;
  try {
    result = nlohmann::json::parse(in);
    (void)gpu_rows(result);
    environment = result.at("environment");
  } catch (const nlohmann::json::exception& e) {
    throw tutti::ValueError(fmt::format("{}: no result of `grouped_vs_standard --json`: {}", file, e.what()));
  }
  if (environment.find("cuda") == std::string::npos)
    throw tutti::ValueError(fmt::format("{}: a result of {}, not of a CUDA device", file, environment));
  return result;
}

}  // namespace comparison
