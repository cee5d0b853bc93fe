// Rows of the report's headline table, and those of a GPU, also while nobody has run them.
#pragma once
#include <array>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace comparison {

enum class Measure { speed, accuracy, memory };

/// The measure's name, the article's two numbers and their ratio or difference; then ours, as texts, and the verdict.
std::vector<std::string> headline_row(Measure measure, const std::string& name, const std::array<std::string, 4>& ours);

/// Speed, accuracy and memory as the report's headline table has them: measure, the article's three numbers, ours,
/// verdict. `result` is json(HeadlineResult) of a run with --device cuda; what it lacks is "not run", and all is if it
/// is null.
std::vector<std::vector<std::string>> gpu_rows(const nlohmann::json& result);

/// What `grouped_vs_standard --device cuda --json FILE` has written; null for an empty name. ValueError naming the file
/// if it is of another device, IoError if it cannot be read.
nlohmann::json read_gpu_result(const std::string& file);

}  // namespace comparison
