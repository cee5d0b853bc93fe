// A claim of the article: its text, how it is tested, and the function that runs the test and judges it. Each is one
// small file c01.cpp ... c41.cpp; the build makes the list (all_claims) from the files that are there.
#pragma once
#include <string>
#include <vector>

#include "grouped_vs_standard/report/finding.h"
#include "grouped_vs_standard/study/lab.h"

namespace comparison {

struct Claim {
  int number = 0;
  std::string text;  ///< what the article says
  std::string test;  ///< how that is tested here
  /// Asks the lab for what it needs and judges it. While the lab is not complete, results are blank and what is
  /// returned is thrown away; the function is then called again.
  std::function<Finding(Lab&)> judge;
};

/// Every claim, by number.
const std::vector<Claim>& all_claims();

}  // namespace comparison
