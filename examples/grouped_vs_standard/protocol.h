// The settings of the comparison, written down before it was run; the same for both arms. README.md here says how the
// learning rate was chosen (on validation images, the same trials for both arms).
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

namespace comparison {

/// The article's table: what is to be reproduced.
struct Article {
  static constexpr double speed[2] = {12.3, 11.8};     // iterations per second, standard and grouped
  static constexpr double accuracy[2] = {78.5, 81.7};  // validation, percent
  static constexpr double memory[2] = {3420, 3380};    // MB
};

struct Protocol {
  // Model: 4x4 patches of 28x28 images.
  int64_t patch = 4, dim = 64, heads = 4, groups = 4, layers = 2, classes = 10;
  double ratio = 4;  // feed-forward width of the standard arm over dim

  // Data: a subset of the training images per seed (shared by the arms), all test images.
  int64_t training_images = 1000, test_images = 10000;
  int64_t validation_images = 0;  // > 0: test on this many of the training images instead (set apart from training)

  // Training.
  int64_t batch = 50, steps = 1200;
  double lr = 3e-3, weight_decay = 0.05;
  int64_t shift = 2;  // random shifts of up to this many pixels, and random mirroring
  bool augment = true;

  int64_t warmup() const { return std::max<int64_t>(1, steps / 20); }  // linear, then cosine to 0
  int64_t tokens() const { return (28 / patch) * (28 / patch); }
};

/// Seeds that the full protocol asks for: fewer are marked "below protocol".
inline constexpr int64_t protocol_seeds = 10;

}  // namespace comparison
