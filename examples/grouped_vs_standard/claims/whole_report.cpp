#include "grouped_vs_standard/claims/whole_report.h"

#include <filesystem>

#include "common/program.h"
#include "grouped_vs_standard/report/html.h"
#include "grouped_vs_standard/report/markdown.h"

namespace comparison {

Report whole_report(Lab&, const std::vector<Finding>& findings, const std::string& environment) {
  Report report{.title = "Grouped multi-head attention: the article, claim by claim", .provenance = environment};
  report.findings = findings;
  return report;
}

void write_report(const Report& report, const std::string& folder) {
  std::filesystem::create_directories(folder + "/figures");
  const auto draw = [&](const Picture& picture) {
    std::visit([&](const auto& p) { examples::write_file(folder + "/figures/" + p.id + ".svg", svg(p)); }, picture);
  };
  for (const Finding& finding : report.findings)
    for (const Picture& picture : finding.pictures) draw(picture);
  for (const Picture& picture : report.pictures) draw(picture);
  examples::write_file(folder + "/REPORT.md", markdown(report, "figures"));
  examples::write_file(folder + "/REPORT.html", html(report));
}

}  // namespace comparison
