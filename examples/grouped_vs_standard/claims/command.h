// `grouped_vs_standard claims`: tests every claim of the article, or some, and writes the report.
#pragma once
#include <functional>

#include <CLI/CLI.hpp>

namespace comparison {

/// Adds the command's options; what is returned runs it (the exit status of main).
std::function<int()> add_claims(CLI::App& command);

}  // namespace comparison
