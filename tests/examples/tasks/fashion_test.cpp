// Fashion-MNIST as a task. Needs the data: without it, it tests the error.
#if __has_include("grouped_vs_standard/tasks/fashion.h")
#include "grouped_vs_standard/tasks/fashion.h"

#include <algorithm>
#include <filesystem>

#include "grouped_vs_standard/tasks/fingerprint.h"
#include "support/catch.h"
#include "tutti/tutti.h"

using namespace comparison;
using namespace tutti;

namespace {

const char* const folder = "/usr/share/datasets/fashion-mnist";
bool have_data() {
  if (std::filesystem::is_directory(folder)) return true;
  REQUIRE_THROWS_WITH(make_task({.name = "fashion"})->sample(1), Contains("Debian package dataset-fashion-mnist"));
  return false;
}

Tensor pixels(const char* part) { return data::read_idx(std::string(folder) + "/" + part + "-images-idx3-ubyte.gz"); }
Tensor labels(const char* part) {
  return to(data::read_idx(std::string(folder) + "/" + part + "-labels-idx1-ubyte.gz"), DType::int64);
}
Tensor standardised(const Tensor& bytes) { return (to(bytes, DType::float32) / 255.0 - 0.2860) / 0.3530; }

/// Token t of an image, written out: patch (t / n, t % n) row by row.
Tensor patches(const Tensor& images, int64_t side) {
  std::vector<Tensor> tokens;
  for (int64_t y = 0; y < 28; y += side)
    for (int64_t x = 0; x < 28; x += side)
      tokens.push_back(reshape(slice(slice(images, 1, y, y + side), 2, x, x + side), {-1, 1, side * side}));
  return cat(tokens, 1);
}

}  // namespace

TEST_CASE("fashion: this seed's images, standardised and in patches", "[fashion]") {
  if (!have_data()) return;
  const Tensor images = standardised(pixels("train")), classes = labels("train");
  for (int64_t patch : {0, 7, 2, 1}) {
    const Task& task = *make_task({.name = "fashion", .train = 300, .patch = patch});
    const int64_t side = patch ? patch : 4;
    REQUIRE(task.tokens == (28 / side) * (28 / side));
    REQUIRE(task.inputs == side * side);
    const Sample s = task.sample(5);
    Generator draw(5);
    const Tensor which = slice(randperm(60000, draw), 0, 0, 300);
    const Tensor tokens = task.tokens_of(s.train.x, true);
    REQUIRE(tokens.shape() == Dims{300, task.tokens, task.inputs});
    REQUIRE(fingerprint(tokens) == fingerprint(patches(index_select(images, 0, which), side)));
    REQUIRE(fingerprint(s.train.y) == fingerprint(index_select(classes, 0, which)));
    REQUIRE(s.test.y.size(0) == 10000);
  }
  // Every class is a tenth of the test images.
  const auto tested = make_task({.name = "fashion"})->sample(1).test.y.to_vector<int64_t>();
  for (int64_t c = 0; c < 10; ++c) REQUIRE(std::count(tested.begin(), tested.end(), c) == 1000);
}

TEST_CASE("fashion: validation images come from the end of the training part, and are not trained on", "[fashion]") {
  if (!have_data()) return;
  const Tensor images = pixels("train"), classes = labels("train");
  const Task& task = *make_task({.name = "fashion", .train = 55000, .validation = true});
  const Sample s = task.sample(1);
  REQUIRE(fingerprint(s.test.x) == fingerprint(slice(images, 0, 55000, 60000)));
  // All of the other 55000, in some order: the labels' counts are theirs.
  const auto left = slice(classes, 0, 0, 55000).to_vector<int64_t>(), drawn = s.train.y.to_vector<int64_t>();
  REQUIRE(std::is_permutation(drawn.begin(), drawn.end(), left.begin()));
  REQUIRE_THROWS_WITH(make_task({.name = "fashion", .train = 55001, .validation = true}),
                      "task fashion: train is 55001; there are 55000 images");
  REQUIRE_THROWS_WITH(make_task({.name = "fashion", .patch = 5}),
                      "task fashion: patch is 5; it must divide 28: 1, 2, 4, 7, 14 or 28");
}

TEST_CASE("fashion: shuffled pixels are the same pixels in one order for all images", "[fashion]") {
  if (!have_data()) return;
  const TaskSpec plain{.name = "fashion", .train = 200, .patch = 1};
  TaskSpec shuffled = plain;
  shuffled.shuffled = true;
  const Tensor x = make_task(plain)->sample(1).train.x;
  const Tensor a = reshape(make_task(plain)->tokens_of(x, false), {200, 784}),
               b = reshape(make_task(shuffled)->tokens_of(x, false), {200, 784});
  REQUIRE(fingerprint(a) != fingerprint(b));
  // As columns (a pixel over all images) the two are equal sets.
  const auto columns = [](const Tensor& t) {
    std::vector<uint64_t> prints;
    for (int64_t i = 0; i < 784; ++i) prints.push_back(fingerprint(slice(t, 1, i, i + 1)));
    std::sort(prints.begin(), prints.end());
    return prints;
  };
  REQUIRE(columns(a) == columns(b));
}

TEST_CASE("fashion: augmentation moves and mirrors training images only", "[fashion]") {
  if (!have_data()) return;
  const Task& task = *make_task({.name = "fashion", .variant = "augmented", .train = 200, .patch = 1});
  const Tensor x = task.sample(1).train.x;
  const Tensor plain = reshape(task.tokens_of(x, false), {200, 28, 28}),
               moved = reshape(task.tokens_of(x, true), {200, 28, 28});
  REQUIRE(fingerprint(plain) == fingerprint(standardised(x)));
  REQUIRE(fingerprint(moved) == fingerprint(task.tokens_of(x, true)));  // of the batch alone
  REQUIRE(fingerprint(slice(moved, 0, 0, 100)) != fingerprint(task.tokens_of(slice(x, 0, 0, 100), true)));
  // Each is its image mirrored or not, shifted by -2 .. 2 both ways: some shift of it agrees on all pixels that stay.
  int mirrored = 0, unexplained = 0;
  const auto before = plain.to_vector<float>(), after = moved.to_vector<float>();
  const float *from = before.data(), *to = after.data();
  for (int64_t i = 0; i < 200; ++i, from += 784, to += 784) {
    const auto explained = [&](bool mirror) {
      for (int64_t dy = -2; dy <= 2; ++dy)
        for (int64_t dx = -2; dx <= 2; ++dx) {
          bool same = true;
          for (int64_t r = 2; r < 26 && same; ++r)
            for (int64_t c = 2; c < 26 && same; ++c) {
              const int64_t column = mirror ? 27 - c : c;
              same = to[r * 28 + c] == from[(r - dy) * 28 + column - (mirror ? -dx : dx)];
            }
          if (same) return true;
        }
      return false;
    };
    const bool as_is = explained(false), other = explained(true);
    unexplained += !as_is && !other;
    mirrored += other;
  }
  REQUIRE(unexplained == 0);
  REQUIRE(mirrored > 70);
  REQUIRE(mirrored < 130);
}
#endif
