// The scenarios: every data set on which the two layers are compared, with the model that suits it.
#pragma once
#include <string>
#include <vector>

#include "grouped_vs_standard/claims/base.h"

namespace comparison {

struct Scenario {
  std::string name;      ///< for tables and pictures
  Setting standard{};    ///< the grouped arm follows by equal_ffn, G = 4
  int64_t seeds = 10;    ///< of the protocol
  bool resplit = false;  ///< each seed is another split of one small data set: Nadeau-Bengio instead of the bootstrap
  bool real = true;      ///< data from the world, not generated
};

/// By a short key: "headline", "plain", "coarse", "digits", "splice", "mnist1d", "clevr_relational", "clevr_other",
/// "cells", "arrhythmia", "pixels196", "recall", "listops". ValueError on another.
Scenario scenario(const std::string& key);
std::vector<std::string> scenario_keys();

/// What a scenario found.
struct ScenarioResult {
  Scenario scenario;
  Comparison comparison;
  Interval difference;  ///< by the test that suits it
  double p = 1;         ///< two-sided, that the difference is 0
};
ScenarioResult run_scenario(Lab& lab, const std::string& key, int64_t groups = 4);

}  // namespace comparison
