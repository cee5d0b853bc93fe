// ListOps: the value of expressions worked out by hand, and what the generator promises.
#if __has_include("grouped_vs_standard/tasks/listops.h")
#include "grouped_vs_standard/tasks/listops.h"

#include <array>
#include <sstream>

#include "grouped_vs_standard/tasks/fingerprint.h"
#include "support/catch.h"

using namespace comparison;

namespace {

/// "[MAX 2 9 ]" as symbols.
std::vector<uint8_t> symbols_of(const std::string& text) {
  const std::vector<std::string> names = {"[MAX", "[MIN", "[MED", "[SM", "]"};
  std::vector<uint8_t> symbols;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t i = 0;
    while (i < names.size() && names[i] != word) ++i;
    symbols.push_back(static_cast<uint8_t>(i < names.size() ? size_t{list_max} + i : list_digit + std::stoul(word)));
  }
  return symbols;
}

int64_t value(const std::string& text) { return listops_value(symbols_of(text)); }

}  // namespace

TEST_CASE("listops: values by hand", "[listops]") {
  REQUIRE(value("7") == 7);
  REQUIRE(value("[MAX 2 9 0 ]") == 9);
  REQUIRE(value("[MIN 2 9 1 ]") == 1);
  REQUIRE(value("[MED 9 1 5 ]") == 5);
  REQUIRE(value("[MED 1 8 2 5 ]") == 3);  // the mean of 2 and 5, rounded down
  REQUIRE(value("[MED 4 7 ]") == 5);
  REQUIRE(value("[SM 9 8 7 ]") == 4);
  REQUIRE(value("[SM 5 5 ]") == 0);
  // The example in the paper's first figure.
  REQUIRE(value("[MAX 2 9 [MIN 4 7 ] 0 ]") == 9);
  REQUIRE(value("[MAX 2 [MIN 4 [SM 9 9 ] ] [MED [MAX 1 3 ] 3 1 ] ]") == 4);
  auto padded = symbols_of("[MIN 3 [SM 1 1 ] ]");
  padded.resize(40, list_pad);
  REQUIRE(listops_value(padded) == 2);
}

TEST_CASE("listops: what is no expression is an error", "[listops]") {
  REQUIRE_THROWS_WITH(value("[MAX 2 9"), "listops: symbol 3 is 0; expected a digit or an operator");
  REQUIRE_THROWS_WITH(value("[MAX ]"), "listops: the list at symbol 0 is empty");
  REQUIRE_THROWS_WITH(value("1 2"), "listops: the expression ends before symbol 1");
  REQUIRE_THROWS_WITH(value(""), "listops: symbol 0 is 0; expected a digit or an operator");
}

TEST_CASE("listops: expressions of the promised length and depth, with their values", "[listops]") {
  for (const auto& [variant, length, depth] :
       std::vector<std::tuple<std::string, int64_t, int>>{{"", 0, 10}, {"", 512, 10}, {"3", 64, 3}, {"1", 8, 1}}) {
    const Task& task = *make_task({.name = "listops", .variant = variant, .train = 500, .length = length});
    const int64_t most = length ? length : 128;
    REQUIRE(task.tokens == most);
    REQUIRE(task.symbols == list_symbols);
    const Split s = task.sample(1).train;
    const tutti::Tensor tokens = task.tokens_of(s.x, true);
    REQUIRE(tokens.shape() == tutti::Dims{500, most});
    REQUIRE(tokens.dtype() == tutti::DType::int64);
    const auto x = tokens.to_vector<uint8_t>();
    const auto y = s.y.to_vector<int64_t>();
    int deepest = 0;
    for (size_t i = 0; i < 500; ++i) {
      const std::vector<uint8_t> one(x.begin() + static_cast<int64_t>(i) * most,
                                     x.begin() + static_cast<int64_t>(i + 1) * most);
      REQUIRE(listops_value(one) == y[i]);
      int64_t used = 0;
      int open = 0;
      for (uint8_t symbol : one) {
        used += symbol != list_pad;
        open += symbol == list_end ? -1 : symbol >= list_max;
        deepest = std::max(deepest, open);
      }
      REQUIRE(open == 0);
      REQUIRE(used > most / 4);
    }
    REQUIRE(deepest <= depth);
    REQUIRE(deepest >= std::min(depth, 3));
  }
}

TEST_CASE("listops: all classes occur, none in the majority", "[listops]") {
  const auto labels = make_task({.name = "listops"})->sample(1).test.y.to_vector<int64_t>();
  std::array<int, 10> count{};
  for (int64_t y : labels) ++count[static_cast<size_t>(y)];
  REQUIRE(labels.size() == 2000);
  for (int n : count) {
    REQUIRE(n > 80);
    REQUIRE(n < 500);
  }
}

TEST_CASE("listops: the same bits everywhere, other ones for other seeds", "[listops]") {
  const Task& task = *make_task({.name = "listops", .train = 1000});
  const Sample first = task.sample(1);
  REQUIRE(fingerprint(first.train.x) == 0x3a26819189e208b);
  REQUIRE(fingerprint(first.test.x) == 0x19d09c23866bb06a);
  REQUIRE(fingerprint(first.train.y) == 0xadfc316c9ed8af6b);
  REQUIRE(fingerprint(task.sample(2).train.x) != fingerprint(first.train.x));
  REQUIRE(fingerprint(make_task({.name = "listops", .validation = true})->sample(1).test.x) !=
          fingerprint(first.test.x));
  REQUIRE_THROWS_WITH(make_task({.name = "listops", .variant = "0"}),
                      "task listops: variant '0'; expected a depth from 1 to 20, or ''");
  REQUIRE_THROWS_WITH(make_task({.name = "listops", .length = 4}), "task listops: length is 4; expected 8 to 2048");
  REQUIRE_THROWS_WITH(make_task({.name = "listops", .variant = "2", .length = 2048}),
                      "task listops: length is 2048; trees of depth 2 hardly ever have more than 512 symbols");
}
#endif
