// The two arms: standard attention, and grouped attention with the same number of parameters in the whole model.
#pragma once
#include <string>
#include <vector>

#include "common/classifier.h"
#include "grouped_vs_standard/protocol.h"

namespace comparison {

enum class Match { equal_ffn, same_width };
Match match_from(const std::string& name);  ///< ValueError naming them

struct Arm {
  std::string name;
  examples::ClassifierOptions model;
  int64_t parameters = 0;
  double forward_flops = 0;      ///< of one image: 2 per multiply-add of all matrix products
  double activation_floats = 0;  ///< kept for backward in one image's blocks, by the article's formula
};

/// standard and grouped. equal_ffn: the grouped arm's feed-forward is wider by exactly the parameters that its
/// attention saves: hidden = round(r C + saved / (2C + 1)), the remainder spread over the layers. same_width: as the
/// printed code does.
std::vector<Arm> make_arms(const Protocol& protocol, Match match);

/// |difference| / standard, of all parameters.
double parameter_gap(const std::vector<Arm>& arms);

}  // namespace comparison
