// The report on all claims: the findings, the headline and the pictures that belong to no claim alone.
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "grouped_vs_standard/claims/claim.h"

namespace comparison {

/// Asks the lab for what the headline and the general pictures need. Provenance says machine, commit, day and time
/// taken. `gpu`: headline/report_rows.h.
Report whole_report(Lab& lab, const std::vector<Finding>& findings, const std::string& machine,
                    const std::string& commit, const nlohmann::json& gpu);

/// REPORT.md, REPORT.html and figures/*.svg in `folder`.
void write_report(const Report& report, const std::string& folder);

}  // namespace comparison
