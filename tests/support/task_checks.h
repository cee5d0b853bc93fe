// What every task on a shipped data set keeps to.
#pragma once
#include <cmath>
#include <vector>

#include "grouped_vs_standard/tasks/task.h"
#include "support/catch.h"
#include "tutti/tutti.h"

namespace tutti_test {

inline std::vector<int64_t> class_counts(const tutti::Tensor& labels, int64_t classes) {
  std::vector<int64_t> counts(static_cast<size_t>(classes), 0);
  for (const int64_t label : labels.to_vector<int64_t>()) ++counts.at(static_cast<size_t>(label));
  return counts;
}

/// Of both parts of a sample together.
inline std::vector<int64_t> class_counts(const comparison::Task& task, uint64_t seed) {
  const comparison::Sample sample = task.sample(seed);
  return class_counts(tutti::cat({sample.train.y, sample.test.y}), task.classes);
}

struct ExpectedTask {
  int64_t train = 0, test = 0;
  bool fixed_test = false;  ///< the same test part for every seed
};

/// Shapes and dtypes of samples and tokens, finite numbers, labels in range; the same sample from the same seed,
/// another from another.
inline void check_task(const comparison::Task& task, const ExpectedTask& expected) {
  using namespace tutti;
  const auto equal = [](const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.to_vector<double>() == b.to_vector<double>();
  };
  const comparison::Sample one = task.sample(1), again = task.sample(1), two = task.sample(2);
  REQUIRE(one.train.x.size(0) == expected.train);
  REQUIRE(one.test.x.size(0) == expected.test);
  for (const comparison::Split* part : {&one.train, &one.test}) {
    REQUIRE(part->y.dtype() == DType::int64);
    REQUIRE(part->y.shape() == Dims{part->x.size(0)});
    class_counts(part->y, task.classes);  // throws out of range
    const Tensor tokens = task.tokens_of(part->x, false);
    REQUIRE(tokens.dtype() == (task.symbols > 0 ? DType::int64 : DType::float32));
    REQUIRE(tokens.shape() ==
            (task.symbols > 0 ? Dims{part->x.size(0), task.tokens} : Dims{part->x.size(0), task.tokens, task.inputs}));
    for (const double v : tokens.to_vector<double>())
      if (task.symbols > 0 ? v < 0 || v >= static_cast<double>(task.symbols) : !std::isfinite(v))
        FAIL("a token holds " << v);
  }
  REQUIRE(equal(one.train.x, again.train.x));
  REQUIRE(equal(one.test.x, again.test.x));
  REQUIRE(!equal(one.train.x, two.train.x));
  REQUIRE(equal(one.test.y, two.test.y) == expected.fixed_test);
  REQUIRE(task.spec.train == expected.train);
  REQUIRE(!task.source.empty());
}

}  // namespace tutti_test
