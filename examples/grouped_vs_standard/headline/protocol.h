// The settings of the headline comparison, written down before it was run; the same for both arms. README.md says how
// the learning rate was chosen (on validation images, the same trials for both arms).
#pragma once
#include <string>
#include <vector>

#include "grouped_vs_standard/study/match.h"

namespace comparison {

/// The article's table: what is to be reproduced.
struct Article {
  static constexpr double speed[2] = {12.3, 11.8};     // iterations per second, standard and grouped
  static constexpr double accuracy[2] = {78.5, 81.7};  // validation, percent
  static constexpr double memory[2] = {3420, 3380};    // MB
  static constexpr double speed_ratio = speed[1] / speed[0], memory_ratio = memory[1] / memory[0];
  static constexpr double gain = 3.2;  // points
};

/// The two words on a memory ratio, which is counted, not sampled. It agrees with the article's within what rounding to
/// 10 MB leaves open.
std::string memory_verdict(double ratio);

struct Protocol {
  int64_t patch = 4, dim = 64, heads = 4, groups = 4, layers = 2;  // Fashion-MNIST in patches of this side
  double ratio = 4;                                                // feed-forward width of the standard arm over dim
  int64_t training_images = 1000, test_images = 0;  // drawn per seed and shared by the arms; 0: all 10 000
  bool validation = false;  // test on 5000 images set apart from the training set instead: for tuning
  int64_t batch = 50, steps = 1200;
  double lr = 3e-3;
  bool augment = true;  // random shifts of up to 2 pixels, and random mirroring
};

/// Seeds that the full protocol asks for: fewer are marked "below protocol".
inline constexpr int64_t protocol_seeds = 10;

struct Arm {
  std::string name{};
  Setting setting{};
  Cost cost{};
};

/// standard and grouped.
std::vector<Arm> make_arms(const Protocol& protocol, Match match);

/// |difference| / standard, of all parameters.
double parameter_gap(const std::vector<Arm>& arms);

}  // namespace comparison
