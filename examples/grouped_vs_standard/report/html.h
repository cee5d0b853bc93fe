// The report as one HTML file that needs nothing else: style sheet and pictures are inside, no scripts.
#pragma once
#include <string>

#include "grouped_vs_standard/report/finding.h"

namespace comparison {

/// Text is escaped: it means itself.
std::string html(const Report& report);

}  // namespace comparison
