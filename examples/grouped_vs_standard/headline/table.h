// What the comparison found: the article's table with ours beside it, as text and as JSON.
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "grouped_vs_standard/headline/measure.h"
#include "grouped_vs_standard/headline/protocol.h"
#include "grouped_vs_standard/statistics/bootstrap.h"
#include "grouped_vs_standard/statistics/interval.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/statistics/verdict.h"

namespace comparison {

struct HeadlineResult {
  Protocol protocol{};
  std::string match{}, data{}, environment{};
  std::vector<Arm> arms{};
  std::vector<uint64_t> seeds{};       ///< those that both arms finished
  std::vector<Outcome> outcomes[2]{};  ///< by arm, then seed
  Speed speed{};
  Memory memory[2]{};
  int64_t seeds_wanted = 0;
  double seconds = 0;
};

std::string table(const HeadlineResult& result);
nlohmann::json json(const HeadlineResult& result);

}  // namespace comparison
