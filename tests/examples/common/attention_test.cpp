// The attention layers of the examples (the article's printed code, the controls): what they refuse.
#if __has_include("grouped_vs_standard/claims/base.h")
#include "common/control_attention.h"
#include "common/looped_attention.h"
#include "support/catch.h"

using namespace tutti;
using examples::LoopedAttention;

TEST_CASE("looped attention: options and inputs that do not fit say what would") {
  REQUIRE_THROWS_WITH(LoopedAttention({}), "LoopedAttention: embed_dim is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(LoopedAttention({.embed_dim = 8, .groups = 0}),
                      "LoopedAttention: groups is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(LoopedAttention({.embed_dim = 8, .groups = 3}),
                      "LoopedAttention: groups = 3 does not divide embed_dim = 8; of the numbers nearby, 2 and 4 do");
  REQUIRE_THROWS_WITH(LoopedAttention({.embed_dim = 8, .num_heads = 0}),
                      "LoopedAttention: num_heads is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(
      LoopedAttention({.embed_dim = 8, .num_heads = 5}),
      "LoopedAttention: num_heads = 5 does not divide embed_dim = 8; of the numbers nearby, 4 and 8 do");
  LoopedAttention layer({.embed_dim = 8, .num_heads = 2, .groups = 4});
  CHECK(layer(ones({2, 3, 8})).shape() == Dims{2, 3, 8});
  REQUIRE_THROWS_AS(layer(ones({2, 3, 6})), ShapeError);
  REQUIRE_THROWS_WITH(layer(ones({3, 8})), "LoopedAttention: input [3, 8] is not [batch, tokens, 8]");
}

TEST_CASE("control attention: options that do not fit say what would") {
  using examples::LowRankAttention, examples::RandomMaskAttention;
  REQUIRE_THROWS_WITH(RandomMaskAttention({.embed_dim = 8, .groups = 0}),
                      "RandomMaskAttention: groups is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(RandomMaskAttention({.embed_dim = 8, .num_heads = 0}),
                      "RandomMaskAttention: num_heads is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(LowRankAttention({.embed_dim = 8, .num_heads = 0, .rank = 2}),
                      "LowRankAttention: num_heads is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(LowRankAttention({.embed_dim = 8, .rank = 9}),
                      "LowRankAttention: rank = 9 is outside 1 .. embed_dim = 8");
  CHECK(RandomMaskAttention({.embed_dim = 8, .num_heads = 2, .groups = 4})(ones({2, 3, 8})).shape() == Dims{2, 3, 8});
}
#endif
