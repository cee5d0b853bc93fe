// tutti-bench's operations: each can be done, and asks for what its formula says.
#include "bench/cases.h"
#include "support/catch.h"

using namespace bench;

TEST_CASE("bench: every case can be prepared and run, and every operation is in some case", "[bench]") {
  std::map<std::string, int> seen;
  for (const auto& cases : {usual_cases(), odd_cases()})
    for (const Case& c : shrunk(cases, 12)) {
      INFO(text(c));
      REQUIRE_NOTHROW(prepare(c)());
      ++seen[c.op];
    }
  for (const auto& [name, operation] : operations()) {
    INFO(name);
    REQUIRE(seen[name] > 0);
  }
}

TEST_CASE("bench: arithmetic and bytes by hand", "[bench]") {
  const auto is = [](const Case& c, double flop, double read, double written) {
    INFO(text(c));
    const Cost found = cost(c);
    REQUIRE(found.flop == flop);
    REQUIRE(found.read == 4 * read);
    REQUIRE(found.written == 4 * written);
  };
  is({"matmul", {2, 3, 5}}, 60, 10 + 15, 6);
  is({"matmul", {2, 3, 5}, true}, 180, 25 + 6 + 25, 6 + 25);
  is({"linear", {2, 5, 3}}, 60, 10 + 15 + 3, 6);
  is({"linear", {2, 5, 3}, true}, 180, 28 + 31, 6 + 28);
  is({"grouped_linear", {2, 6, 9, 3}}, 2.0 * 2 * 6 * 9 / 3, 12 + 6 * 9 / 3 + 9, 18);
  is({"batched_matmul", {7, 2, 3, 5}}, 420, 7 * 25, 7 * 6);
  is({"attention", {2, 3, 5, 7}}, 4.0 * 2 * 3 * 5 * 5 * 7, 3 * 210, 210);
  is({"causal_attention", {2, 3, 5, 7}}, 4.0 * 2 * 3 * 15 * 7, 3 * 210, 210);
  is({"attention", {2, 3, 5, 7}, true}, 14.0 * 2 * 3 * 5 * 5 * 7, 8 * 210, 4 * 210);
  is({"softmax", {4, 6}, true}, 0, 24 + 48, 24 + 24);
  is({"sum_dim1", {4, 6}}, 0, 24, 4);
  is({"embedding", {9, 4, 6}, true}, 0, 24 + 24, 24 + 36);
  is({"adamw", {3, 10}}, 0, 120, 90);
}

TEST_CASE("bench: transposed inputs are the same numbers another way round", "[bench]") {
  REQUIRE_NOTHROW(prepare({"softmax", {3, 5}, true, true})());
  REQUIRE(text({"softmax", {3, 5}, true, true}) == "softmax 3 5 --transposed --backward");
}

TEST_CASE("bench: what is asked of no operation is refused", "[bench]") {
  REQUIRE_THROWS_WITH(prepare({"nothing", {1}}), Contains("op 'nothing' is unknown; there are adamw, add, "));
  REQUIRE_THROWS_WITH(prepare({"matmul", {1, 2}}), "op matmul: expected M N K");
  REQUIRE_THROWS_WITH(prepare({"gt", {1, 2}, true}), "op gt has no gradient");
}
