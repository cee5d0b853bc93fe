// The article's table on a GPU: rows for the report, also while nobody has run them.
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace comparison {

/// Speed, accuracy and memory as the report's headline table has them: measure, the article's three numbers, ours,
/// verdict. `result` is json(HeadlineResult) of a run with --device cuda; what it lacks is "not run", and all is if it
/// is null.
std::vector<std::vector<std::string>> gpu_rows(const nlohmann::json& result);

/// What `grouped_vs_standard --device cuda --json FILE` has written; null for an empty name. ValueError naming the file
/// if it is of another device, IoError if it cannot be read.
nlohmann::json read_gpu_result(const std::string& file);

}  // namespace comparison
