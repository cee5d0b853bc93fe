#include "grouped_vs_standard/headline/gpu_rows.h"

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

std::vector<std::vector<std::string>> gpu_rows(const nlohmann::json& result) {
  const std::string none = "not run";
  const auto row = [&](const std::string& measure, double a, double b, double effect, int digits, bool sign) {
    return std::vector<std::string>{
        measure, number(a, digits), number(b, digits), number(effect, sign ? 1 : 3, sign), none, none, none, none};
  };
  std::vector<std::vector<std::string>> rows{
      row("training speed on a GPU (iter/s)", Article::speed[0], Article::speed[1], Article::speed_ratio, 1, false),
      row("validation accuracy on a GPU (%)", Article::accuracy[0], Article::accuracy[1], Article::gain, 1, true),
      row("memory on a GPU (MB)", Article::memory[0], Article::memory[1], Article::memory_ratio, 0, false)};
  if (result.is_null()) return rows;
  const auto& arms = result.at("arms");
  const auto fill = [&](size_t i, const std::string& a, const std::string& b, const std::string& effect,
                        const char* verdict) {
    rows[i][4] = a, rows[i][5] = b, rows[i][6] = effect, rows[i][7] = result.at("verdicts").at(verdict);
  };
  if (result.contains("speed_ratio"))
    fill(0, number(median(arms[0].at("rates")), 1), number(median(arms[1].at("rates")), 1),
         with_range(interval_from(result.at("speed_ratio")), 3), "speed");
  if (result.contains("accuracy"))
    fill(1, with_range(interval_from(result.at("accuracy")[0])), with_range(interval_from(result.at("accuracy")[1])),
         with_range(interval_from(result.at("accuracy_difference")), 2, true), "accuracy");
  if (const double ratio = result.at("memory_ratio"); ratio > 0)
    fill(2, number(arms[0].at("tensor_bytes").get<double>() / 1e6),
         number(arms[1].at("tensor_bytes").get<double>() / 1e6), number(ratio, 3), "memory");
  return rows;
}

nlohmann::json read_gpu_result(const std::string& file) {
  if (file.empty()) return nullptr;
  std::ifstream in(file);
  if (!in) throw tutti::IoError(fmt::format("{}: cannot be read", file));
  nlohmann::json result;
  try {
    result = nlohmann::json::parse(in);
    (void)gpu_rows(result);
  } catch (const nlohmann::json::exception& e) {
    throw tutti::ValueError(fmt::format("{}: no result of `grouped_vs_standard --json`: {}", file, e.what()));
  }
  const std::string environment = result.at("environment");
  if (environment.find("cuda") == std::string::npos)
    throw tutti::ValueError(fmt::format("{}: a result of {}, not of a CUDA device", file, environment));
  return result;
}

}  // namespace comparison
