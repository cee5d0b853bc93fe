// Holm's adjustment against R's p.adjust(p, "holm").
#if __has_include("grouped_vs_standard/statistics/holm.h")
#include "grouped_vs_standard/statistics/holm.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("statistics: p values adjusted by Holm's method", "[statistics]") {
  const auto close = [](const std::vector<double>& p, const std::vector<double>& expected) {
    const auto adjusted = holm(p);
    REQUIRE(adjusted.size() == expected.size());
    for (size_t i = 0; i < p.size(); ++i) REQUIRE(adjusted[i] == Approx(expected[i]));
  };
  close({0.01, 0.02, 0.03, 0.04, 0.05}, {0.05, 0.08, 0.09, 0.09, 0.09});  // p.adjust(1:5 / 100, "holm")
  close({0.04, 0.01, 0.03}, {0.06, 0.03, 0.06});                          // in the order given, and monotone
  close({0.5, 0.9, 0.001}, {1, 1, 0.003});                                // never above 1
  close({0.2}, {0.2});
  close({0, 0.01}, {0, 0.01});
  close({}, {});
  REQUIRE_THROWS_WITH(holm({0.1, 1.5}), Contains("p 1.5"));
}
#endif
