// The arms of grouped_vs_standard against the article's formulae.
#if __has_include("grouped_vs_standard/arms.h")
#include "grouped_vs_standard/arms.h"
#include "support/catch.h"

using namespace comparison;

TEST_CASE("arms: parameters are the module's own count and equal within 0.1 %", "[comparison]") {
  for (int64_t dim : {64, 128})
    for (int64_t layers : {2, 4}) {
      Protocol p;
      p.dim = dim;
      p.layers = layers;
      const auto equal = make_arms(p, Match::equal_ffn), same = make_arms(p, Match::same_width);
      for (const auto& arms : {equal, same})
        for (const Arm& arm : arms) REQUIRE(examples::Classifier(arm.model).parameter_count() == arm.parameters);
      REQUIRE(parameter_gap(equal) < 1e-3);
      // The article's formula for the attention layer: C^2 (1 + 3/G) + 4C against 4C^2 + 4C.
      REQUIRE(same[0].parameters - same[1].parameters == layers * 3 * (dim * dim - dim * dim / 4));
      // equal_ffn: r' = r + 1.5 (1 - 1/G) = 5.125 at G = 4, so equal work too.
      REQUIRE(static_cast<double>(equal[1].model.hidden[0]) == Approx(5.125 * static_cast<double>(dim)).epsilon(0.01));
      REQUIRE(equal[1].forward_flops == Approx(equal[0].forward_flops).epsilon(0.003));
    }
  REQUIRE_THROWS_WITH(match_from("x"), "match 'x': expected equal_ffn or same_width");
}
#endif
