// The report as GitHub's Markdown.
#pragma once
#include <string>

#include "grouped_vs_standard/report/finding.h"

namespace comparison {

/// Pictures are referred to as FIGURES_FOLDER/ID.svg (picture_files). Text is escaped: it means itself, apart from
/// `code` in backticks.
std::string markdown(const Report& report, const std::string& figures_folder);

/// One table, with its title in bold above it; all lines have the same number of cells.
std::string markdown(const Table& table);

}  // namespace comparison
