// Associative recall: what the generator promises.
#if __has_include("grouped_vs_standard/tasks/recall.h")
#include "grouped_vs_standard/tasks/recall.h"

#include <array>
#include <set>

#include "grouped_vs_standard/tasks/fingerprint.h"
#include "support/catch.h"
#include "tutti/ops/copy.h"

using namespace comparison;

TEST_CASE("recall: the question's key is there once, and the label is its value", "[recall]") {
  for (int64_t length : {17, 64, 256, 4096}) {
    const Task& task = *make_task({.name = "recall", .train = 200, .length = length});
    REQUIRE(task.tokens == length);
    REQUIRE(task.symbols == 289);
    REQUIRE(task.classes == 8);
    const Split s = task.sample(1).train;
    const tutti::Tensor tokens = to(task.tokens_of(s.x, true), tutti::cpu);
    REQUIRE(tokens.shape() == tutti::Dims{200, length});
    const auto* x = tokens.data<int64_t>();
    const auto y = s.y.to_vector<int64_t>();
    for (size_t i = 0; i < y.size(); ++i, x += length) {
      std::set<int64_t> keys;
      int pairs = 0, answers = 0, outside = 0;
      for (int64_t t = 1; t < length; ++t) {
        if (x[t] == 0) continue;
        outside += x[t] < 33 || x[t] >= task.symbols;
        const int64_t pair = x[t] - 33;
        ++pairs;
        keys.insert(pair / 8);
        answers += pair / 8 == x[0] - 1 && pair % 8 == y[i];
      }
      REQUIRE(outside == 0);
      REQUIRE(pairs == recall_pairs);
      REQUIRE(keys.size() == recall_pairs);
      REQUIRE(answers == 1);
    }
  }
}

TEST_CASE("recall: values are even, and the answer lies anywhere", "[recall]") {
  const Task& task = *make_task({.name = "recall", .length = 256});
  const Split s = task.sample(1).test;
  const tutti::Tensor tokens = to(task.tokens_of(s.x, false), tutti::cpu);
  const auto* x = tokens.data<int64_t>();
  std::array<int, 8> values{};
  std::array<int, 4> quarters{};
  int64_t i = 0;
  for (int64_t y : s.y.to_vector<int64_t>()) {
    ++values[static_cast<size_t>(y)];
    for (int64_t t = 1; t < 256; ++t)
      if (x[i * 256 + t] >= 33 && (x[i * 256 + t] - 33) / 8 == x[i * 256] - 1) ++quarters[static_cast<size_t>(t / 64)];
    ++i;
  }
  for (int n : values) REQUIRE(n == Approx(250).margin(60));  // 4 deviations
  for (int n : quarters) REQUIRE(n == Approx(500).margin(80));
}

TEST_CASE("recall: the same bits everywhere, other ones for other seeds", "[recall]") {
  const Task& task = *make_task({.name = "recall"});
  const Sample first = task.sample(1);
  REQUIRE(first.train.y.size(0) == 20000);
  REQUIRE(fingerprint(first.train.x) == 0x2f98d6861a6e28f4);
  REQUIRE(fingerprint(first.test.y) == 0x18ced79a3727a684);
  REQUIRE(fingerprint(task.sample(2).train.x) != fingerprint(first.train.x));
  REQUIRE(fingerprint(task.sample(2).test.x) == fingerprint(first.test.x));
  REQUIRE_THROWS_WITH(make_task({.name = "recall", .length = 16}), "task recall: length is 16; expected 17 to 65536");
}
#endif
