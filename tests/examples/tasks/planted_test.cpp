// The planted pair: what the generator promises, sample by sample, and the floor that a linear model reaches.
#if __has_include("grouped_vs_standard/tasks/planted.h")
#include "grouped_vs_standard/tasks/planted.h"

#include <array>

#include "grouped_vs_standard/tasks/fingerprint.h"
#include "support/catch.h"
#include "support/linear_probe.h"

using namespace comparison;

namespace {

/// One sample, read by the article's definition: token t, block b, channel c.
struct View {
  const float* x;
  float at(int t, int b, int c) const { return x[t * 60 + b * 15 + c]; }
  int code(int t, int b) const {
    int bits = 0;
    for (int c = 0; c < 8; ++c) bits |= (at(t, b, c) > 0) << c;
    return bits;
  }
  /// How many items carry token 0's code of block b in block b + sk; `item` is the last of them.
  int matches(int b, int sk, int& item) const {
    int n = 0;
    for (int t = 1; t <= 8; ++t)
      if (code(t, (b + sk) % 4) == code(0, b)) item = t, ++n;
    return n;
  }
};

const Task& task_of(const std::string& variant, bool validation = false) {
  return *make_task({.name = "planted", .variant = variant, .validation = validation});
}

struct Shifts {
  std::string variant;
  int sk, sv;
};
const std::vector<Shifts> variants = {{"in", 0, 0}, {"across", 1, 1}, {"across_v", 0, 1}};

}  // namespace

TEST_CASE("planted: the asked code is one item's, and its value is the label", "[planted]") {
  for (const auto& [variant, sk, sv] : variants) {
    const Task& task = task_of(variant);
    REQUIRE(task.tokens == 9);
    REQUIRE(task.inputs == 60);
    REQUIRE(task.classes == 2);
    const Sample sample = task.sample(3);
    for (const Split& part : {sample.train, sample.test}) {
      REQUIRE(part.x.shape() == tutti::Dims{part.y.size(0), 9, 60});
      const tutti::Tensor inputs = to(part.x, tutti::cpu), labels = to(part.y, tutti::cpu);
      const auto* x = inputs.data<float>();
      const auto* y = labels.data<int64_t>();
      int wrong = 0;
      for (int64_t i = 0; i < part.y.size(0); ++i) {
        const View v{x + i * 540};
        int item = 0;
        for (int b = 0; b < 4; ++b) {
          wrong += v.matches(b, sk, item) != 1;  // codes are distinct within a block
          wrong += v.at(0, b, 8) != 0;
        }
        v.matches(0, sk, item);
        wrong += (v.at(item, sv, 8) > 0) != (y[i] == 1);
      }
      REQUIRE(wrong == 0);
    }
    REQUIRE(sample.train.y.size(0) == 2500);
    REQUIRE(sample.test.y.size(0) == 4000);
  }
}

TEST_CASE("planted: the variants differ by the shifts alone", "[planted]") {
  const Split in = task_of("in").sample(1).train, across = task_of("across").sample(1).train,
              across_v = task_of("across_v").sample(1).train;
  REQUIRE(fingerprint(in.x) == fingerprint(across_v.x));  // the same questions; only the value that counts differs
  const auto items = [](const tutti::Tensor& x) { return fingerprint(slice(x, 1, 1, 9)); };
  REQUIRE(items(in.x) == items(across.x));
  REQUIRE(fingerprint(in.x) != fingerprint(across.x));
  // across: token 0's code of block b is the one that "in" asks in block b + 1, for block b's item.
  REQUIRE(fingerprint(in.y) != fingerprint(across_v.y));
  REQUIRE(fingerprint(across.y) == fingerprint(across_v.y));  // the same item, the same value

  // For a layer that sees all channels alike "in" and "across_v" are one task: with the values of block b in block
  // b + 1, the label of across_v is the label of "in".
  const tutti::Tensor inputs = to(in.x, tutti::cpu), labels = to(across_v.y, tutti::cpu);
  const auto* x = inputs.data<float>();
  const auto* y = labels.data<int64_t>();
  int wrong = 0;
  for (int64_t i = 0; i < in.y.size(0); ++i) {
    std::array<float, 540> moved{};
    std::copy_n(x + i * 540, 540, moved.begin());
    for (size_t t = 0; t < 9; ++t)
      for (size_t b = 0; b < 4; ++b)
        moved[t * 60 + b * 15 + 8] = x[i * 540 + static_cast<int64_t>(t * 60 + (b + 1) % 4 * 15 + 8)];
    const View v{moved.data()};
    int item = 0;
    v.matches(0, 0, item);
    wrong += (v.at(item, 0, 8) > 0) != (y[i] == 1);
  }
  REQUIRE(wrong == 0);
}

TEST_CASE("planted: fair bits, fair labels, and the majority of the values", "[planted]") {
  const Split test = task_of("in").sample(1).test;
  const tutti::Tensor inputs = to(test.x, tutti::cpu), labels = to(test.y, tutti::cpu);
  const auto* x = inputs.data<float>();
  const auto* y = labels.data<int64_t>();
  const int64_t n = test.y.size(0);
  std::array<double, 540> sum{};
  double ones = 0, majority = 0;
  std::array<int, 8> asked{};
  for (int64_t i = 0; i < n; ++i) {
    for (size_t c = 0; c < 540; ++c) {
      sum[c] += x[i * 540 + static_cast<int64_t>(c)];
      if (c % 15 == 8 && c < 60) REQUIRE(x[i * 540 + static_cast<int64_t>(c)] == 0);
    }
    const View v{x + i * 540};
    int item = 0;
    v.matches(0, 0, item);
    ++asked[static_cast<size_t>(item - 1)];
    double votes = 0;
    for (int t = 1; t <= 8; ++t) votes += v.at(t, 0, 8);
    ones += static_cast<double>(y[i]);
    majority += votes == 0 ? 0.5 : (votes > 0) == (y[i] == 1);
  }
  const double sd = 1 / std::sqrt(static_cast<double>(n));
  for (double s : sum) REQUIRE(std::abs(s / static_cast<double>(n)) < 4.5 * sd);
  REQUIRE(std::abs(ones / static_cast<double>(n) - 0.5) < 2 * sd);
  for (int count : asked) REQUIRE(count == Approx(500).margin(85));  // 4 deviations
  // Expected: 1/2 + C(8, 4) / 2^9 = .6367.
  REQUIRE(majority / static_cast<double>(n) == Approx(0.6367).margin(0.03));
}

TEST_CASE("planted: the same bits everywhere, other ones for other seeds and sets", "[planted]") {
  const Sample first = task_of("in").sample(1), second = task_of("in").sample(2);
  REQUIRE(fingerprint(first.train.x) == 0xe228f81556d63225);
  REQUIRE(fingerprint(first.train.y) == 0x42a3e84712a0da04);
  REQUIRE(fingerprint(first.test.x) == 0x565f63d1326d7ea5);
  REQUIRE(fingerprint(task_of("across").sample(1).train.x) == 0xe62d867c8aa908a5);
  REQUIRE(fingerprint(second.train.x) != fingerprint(first.train.x));
  REQUIRE(fingerprint(second.test.x) == fingerprint(first.test.x));
  REQUIRE(fingerprint(task_of("in/1").sample(1).test.x) == fingerprint(first.test.x));
  REQUIRE(fingerprint(task_of("in/2").sample(1).test.x) != fingerprint(first.test.x));
  REQUIRE(fingerprint(task_of("in/2").sample(1).train.x) == fingerprint(first.train.x));
  REQUIRE(fingerprint(task_of("in", true).sample(1).test.x) != fingerprint(first.test.x));
  REQUIRE_THROWS_WITH(task_of("in/x"),
                      "task planted: variant 'in/x': expected in/n with the number n of a test set from 1 to 1000");
  // Fewer training samples are the first ones of more.
  const Task& few = *make_task({.name = "planted", .variant = "in", .train = 100});
  REQUIRE(fingerprint(few.sample(1).train.x) == fingerprint(slice(first.train.x, 0, 0, 100)));
}

TEST_CASE("planted: logistic regression reaches the article's floor", "[planted]") {
  const double accuracy = tutti_test::linear_probes(task_of("in"), 2, 0.1);
  INFO("accuracy " << accuracy);
  REQUIRE(accuracy == Approx(0.59).margin(0.015));
}
#endif
