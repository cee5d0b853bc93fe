// What a report consists of: texts, tables and pictures, without any form. markdown.h and html.h give it one.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "grouped_vs_standard/report/figure.h"

namespace comparison {

struct Table {
  std::string title{};
  std::vector<std::string> header{};
  std::vector<std::vector<std::string>> rows{};  ///< shorter rows are filled up with empty cells
};

/// The test of one claim of the article. All but number, claim and verdict may be empty.
struct Finding {
  int number = 0;            ///< 30 for C30
  std::string claim{};       ///< the article's sentence
  std::string test{};        ///< what was done
  std::string verdict{};     ///< "holds", "refuted", "undecided", "not testable here", or a two-word verdict
  std::string effect{};      ///< "+0.52 points"
  std::string interval{};    ///< "[-0.10, +1.20]"
  std::string n{}, seeds{};  ///< items tested on, runs
  std::string why{};         ///< the reason for the verdict, one or two sentences
  std::vector<Table> tables{};
  std::vector<Picture> pictures{};
};

struct Report {
  std::string title{}, provenance{};  ///< machine, commit, time, seeds
  Table headline{};                   ///< the article's table with ours beside it
  std::vector<Finding> findings{};
  std::vector<Table> extra_tables{};
  std::vector<Picture> pictures{};
  std::vector<std::string> remarks{};
};

/// Every picture of the report once, as {"ID.svg", its SVG}: the files that markdown() refers to. ValueError if two
/// pictures have one id.
std::vector<std::pair<std::string, std::string>> picture_files(const Report& report);

/// The command that tests a claim again: "grouped_vs_standard claims --only C30".
std::string command_of(const Finding& finding);

/// "holds 12; refuted 9; undecided 3": the verdicts counted, "(below protocol)" left aside, most frequent first.
std::string verdict_counts(const std::vector<Finding>& findings);

/// One line per finding, in their order: number, sentence, verdict, effect, interval, n, seeds, `command`.
Table overview(const Report& report);

/// Cells of the widest line.
size_t columns(const Table& table);

/// "c30", which findings[i] is linked to by; "c30-2" where it is the second of that number.
std::string anchor(const std::vector<Finding>& findings, size_t i);

}  // namespace comparison
