// Splits of real data sets: disjoint, repeatable, stratified; validation leaves the test part alone.
#if __has_include("grouped_vs_standard/tasks/rows.h")
#include "grouped_vs_standard/tasks/rows.h"

#include <set>

#include "support/catch.h"
#include "tutti/core/error.h"

using namespace comparison;
using tutti::Tensor;

namespace {

/// 100 labels: 60 of class 0, 30 of class 1, 8 of class 2, 2 of class 3.
Tensor labels() {
  std::vector<int64_t> values(100, 0);
  for (size_t i = 60; i < 100; ++i) values[i] = i < 90 ? 1 : i < 98 ? 2 : 3;
  return Tensor::from(values, {100});
}

std::vector<int64_t> counts(const std::vector<int64_t>& rows) {
  std::vector<int64_t> result(4, 0);
  for (const int64_t row : rows) ++result[static_cast<size_t>(labels().at({row}))];
  return result;
}

std::set<int64_t> together(const Rows& rows) {
  std::set<int64_t> all(rows.train.begin(), rows.train.end());
  all.insert(rows.test.begin(), rows.test.end());
  return all;
}

}  // namespace

TEST_CASE("random_rows: parts are disjoint, follow the seed, and cover everything by default", "[tasks]") {
  const TaskSpec spec{.name = "some"};
  const Rows a = random_rows(labels(), spec, 1, {.test = 30}), again = random_rows(labels(), spec, 1, {.test = 30}),
             b = random_rows(labels(), spec, 2, {.test = 30});
  REQUIRE(a.test.size() == 30);
  REQUIRE(a.train.size() == 70);
  REQUIRE(together(a).size() == 100);
  REQUIRE(*together(a).rbegin() == 99);
  REQUIRE(a.test == again.test);
  REQUIRE(a.train == again.train);
  REQUIRE(a.test != b.test);
}

TEST_CASE("random_rows: another training size keeps the test part", "[tasks]") {
  const RowsOptions options{.test = 30, .train = 40};
  const Rows usual = random_rows(labels(), {.name = "some"}, 1, options),
             small = random_rows(labels(), {.name = "some", .train = 10}, 1, options),
             large = random_rows(labels(), {.name = "some", .train = 70}, 1, options);
  REQUIRE(usual.train.size() == 40);
  REQUIRE(small.train.size() == 10);
  REQUIRE(large.train.size() == 70);
  REQUIRE(small.test == usual.test);
  REQUIRE(large.test == usual.test);
  REQUIRE(std::equal(small.train.begin(), small.train.end(), usual.train.begin()));
  REQUIRE_THROWS_WITH(random_rows(labels(), {.name = "some", .train = 71}, 1, options),
                      Contains("task some: train is 71") && Contains("70 samples"));
  REQUIRE(training_size(100, {.name = "some"}, options) == 40);
  REQUIRE(training_size(100, {.name = "some"}, {.test = 30}) == 70);
  REQUIRE_THROWS_AS(training_size(100, {.name = "some", .train = 71}, options), tutti::ValueError);
}

TEST_CASE("random_rows: validation samples come from outside the test part", "[tasks]") {
  const RowsOptions options{.test = 28, .train = 40};
  const TaskSpec tuning{.name = "some", .validation = true};
  const Rows final = random_rows(labels(), {.name = "some"}, 1, options),
             tune = random_rows(labels(), tuning, 1, options);
  REQUIRE(tune.test.size() == 18);  // a quarter of 72
  REQUIRE(tune.train.size() == 40);
  const std::set<int64_t> untouched(final.test.begin(), final.test.end());
  for (const int64_t row : together(tune)) REQUIRE(untouched.count(row) == 0);
  REQUIRE(together(tune).size() == 58);
  REQUIRE(random_rows(labels(), tuning, 1, {.test = 28}).train.size() == 54);
}

TEST_CASE("random_rows: stratified parts have the classes in proportion", "[tasks]") {
  for (const uint64_t seed : {1, 2, 3}) {
    const Rows rows = random_rows(labels(), {.name = "some"}, seed, {.test = 33, .stratified = true});
    // Quotas 19.8, 9.9, 2.64, 0.66: the floors are 30, and the three largest remainders get the other three.
    REQUIRE(counts(rows.test) == std::vector<int64_t>{20, 10, 2, 1});
    REQUIRE(counts(rows.train) == std::vector<int64_t>{40, 20, 6, 1});
    const Rows half = random_rows(labels(), {.name = "some"}, seed, {.test = 50, .train = 25, .stratified = true});
    REQUIRE(counts(half.test) == std::vector<int64_t>{30, 15, 4, 1});
    REQUIRE(counts(half.train) == std::vector<int64_t>{15, 8, 2, 0});  // 15, 7.5, 2, .5: ties to the smaller class
  }
}

TEST_CASE("rows_before_last: the last samples are the test part", "[tasks]") {
  const Rows a = rows_before_last(labels(), {.name = "some", .train = 50}, 1, {.test = 20}),
             b = rows_before_last(labels(), {.name = "some", .train = 50}, 2, {.test = 20});
  REQUIRE(a.test == b.test);
  REQUIRE(a.test.front() == 80);
  REQUIRE(a.test.back() == 99);
  REQUIRE(a.train != b.train);
  REQUIRE(together(a).size() == 70);
  const Rows tune = rows_before_last(labels(), {.name = "some", .validation = true}, 1, {.test = 20});
  REQUIRE(tune.test.size() == 20);
  REQUIRE(tune.train.size() == 60);
  REQUIRE(together(tune).size() == 80);
  REQUIRE(*together(tune).rbegin() == 79);
}

TEST_CASE("samples_at picks samples and their labels", "[tasks]") {
  const Tensor x = Tensor::from({0, 1, 10, 11, 20, 21}, {3, 2}), y = Tensor::from(std::vector<int64_t>{5, 6, 7}, {3});
  const Sample sample = samples_at(x, y, {.train = {2, 0}, .test = {1}});
  REQUIRE(sample.train.x.to_vector<float>() == std::vector<float>{20, 21, 0, 1});
  REQUIRE(sample.train.y.to_vector<int64_t>() == std::vector<int64_t>{7, 5});
  REQUIRE(sample.test.x.to_vector<float>() == std::vector<float>{10, 11});
  REQUIRE(sample.test.y.to_vector<int64_t>() == std::vector<int64_t>{6});
}

TEST_CASE("fixed_permutation is a permutation, always the same", "[tasks]") {
  const std::vector<int64_t> order = fixed_permutation(60).to_vector<int64_t>();
  const std::set<int64_t> distinct(order.begin(), order.end());
  REQUIRE(distinct.size() == 60);
  REQUIRE(*distinct.begin() == 0);
  REQUIRE(*distinct.rbegin() == 59);
  REQUIRE(order == fixed_permutation(60).to_vector<int64_t>());
  int64_t in_place = 0;
  for (size_t i = 0; i < order.size(); ++i) in_place += order[i] == static_cast<int64_t>(i);
  REQUIRE(in_place < 10);
}
#endif
