// The article's bands of groups (A7, C27-C29), and widths that none of them fits.
#include "tutti/nn/attention/recommend_groups.h"

#include <limits>

#include "support/catch.h"
#include "tutti/core/error.h"

using namespace tutti;
using nn::recommend_groups;

TEST_CASE("recommend_groups: the bands, their edges and their defaults") {
  struct Row {
    int64_t width, low, high, groups;
  };
  for (const auto& [width, low, high, groups] :
       {Row{2, 2, 4, 2}, Row{3, 2, 4, 3}, Row{6, 2, 4, 3}, Row{64, 2, 4, 4}, Row{250, 2, 4, 2}, Row{255, 2, 4, 3},
        Row{256, 2, 4, 4}, Row{258, 4, 8, 6}, Row{260, 4, 8, 4}, Row{265, 4, 8, 5}, Row{259, 4, 8, 7},
        Row{510, 4, 8, 5}, Row{512, 8, 16, 8}, Row{513, 8, 16, 9}, Row{520, 8, 16, 8}, Row{572, 8, 16, 11},
        Row{768, 8, 16, 8}, Row{1020, 8, 16, 10}, Row{4096, 8, 16, 8}}) {
    INFO("width " << width);
    const auto r = recommend_groups(width);
    CHECK(r.low == low);
    CHECK(r.high == high);
    CHECK(r.groups == groups);
  }
}

TEST_CASE("recommend_groups: what it gives divides the width and lies in the band, or there is none and it says so") {
  int64_t refused = 0;
  for (int64_t width = 1; width <= 1200; ++width) {
    bool fits = false;
    const int64_t low = width <= 256 ? 2 : width < 512 ? 4 : 8, high = 2 * low;
    for (int64_t groups = low; groups <= high; ++groups) fits |= width % groups == 0;
    if (fits) {
      const auto r = recommend_groups(width);
      CHECK((r.low == low && r.high == high && r.groups >= low && r.groups <= high && width % r.groups == 0));
    } else {
      ++refused;
      REQUIRE_THROWS_AS(recommend_groups(width), ValueError);
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("recommend_groups: errors") {
  REQUIRE_THROWS_WITH(recommend_groups(0), "recommend_groups: embed_dim is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(recommend_groups(-4), "recommend_groups: embed_dim is -4; it must be at least 1");
  REQUIRE_THROWS_WITH(
      recommend_groups(1),
      "recommend_groups: no number of groups from 2 to 4 divides embed_dim = 1; the nearest widths that work: 2");
  REQUIRE_THROWS_WITH(
      recommend_groups(25),
      "recommend_groups: no number of groups from 2 to 4 divides embed_dim = 25; the nearest widths that work: 24 and "
      "26");
  REQUIRE_THROWS_WITH(recommend_groups(257),
                      "recommend_groups: no number of groups from 4 to 8 divides embed_dim = 257; the nearest widths "
                      "that work: 256 and "
                      "258");
  REQUIRE_THROWS_WITH(
      recommend_groups(514),
      "recommend_groups: no number of groups from 8 to 16 divides embed_dim = 514; the nearest widths that work: 513 "
      "and 516");
  constexpr int64_t most = std::numeric_limits<int64_t>::max();  // no multiple of 8 to 16 lies between
  REQUIRE_THROWS_WITH(recommend_groups(most), Contains("the nearest widths that work: 9223372036854775800"));
}
