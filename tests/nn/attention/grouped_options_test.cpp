// The grouped layer's options: what is filled in, names, and every wrong combination with what would fit.
#include "tutti/nn/attention/grouped_options.h"

#include <cmath>

#include "support/catch.h"
#include "tutti/core/error.h"
#include "tutti/nn/transformer.h"

using namespace tutti;
using namespace nn;
using Options = GroupedMultiHeadAttentionOptions;

TEST_CASE("grouped options: what is 0 is filled in, and filled in once") {
  const Options plain = checked({.embed_dim = 32});
  CHECK(plain.groups == 4);
  CHECK(plain.num_heads == 4);
  CHECK(plain.num_kv_heads == 4);
  CHECK(plain.inner_dim == 32);
  const Options wide = checked({.embed_dim = 32, .num_heads = 8, .num_kv_heads = 2, .inner_dim = 64});
  CHECK(wide.num_heads == 8);
  CHECK(wide.num_kv_heads == 2);
  CHECK(wide.inner_dim == 64);
  const Options literal = checked({.embed_dim = 32, .num_heads = 7, .head_mode = HeadMode::literal});
  CHECK(literal.num_heads == 1);
  CHECK(literal.num_kv_heads == 1);
  for (const Options& o : {plain, wide, literal}) {
    const Options again = checked(o);
    CHECK(again.num_heads == o.num_heads);
    CHECK(again.num_kv_heads == o.num_kv_heads);
    CHECK(again.inner_dim == o.inner_dim);
  }
}

TEST_CASE("grouped options: names") {
  CHECK(std::string(name_of(HeadMode::literal)) == "literal");
  CHECK(std::string(name_of(AttentionScale::learned)) == "learned");
  CHECK(std::string(name_of(OutputProjection::grouped)) == "grouped");
  CHECK(std::string(name_of(InitSchedule::inverse_index)) == "inverse_index");
  CHECK(std::string(name_of(ScheduledProjections::qkv)) == "qkv");
  CHECK(std::string(name_of(ProjectionNorm::full)) == "full");
  CHECK(std::string(name_of(GroupExchange::cascade)) == "cascade");
  CHECK(std::string(name_of(GroupExchange::talking_heads)) == "talking_heads");
  CHECK(std::string(name_of(Sparsity::big_bird)) == "big_bird");
}

TEST_CASE("grouped options: wrong heads, widths and outputs say what would fit") {
  REQUIRE_THROWS_WITH(checked({}), "GroupedMultiHeadAttention: embed_dim is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .inner_dim = -8}),
                      "GroupedMultiHeadAttention: inner_dim is -8; it must be at least 1");
  REQUIRE_THROWS_WITH(
      checked({.embed_dim = 32, .inner_dim = 30}),
      "GroupedMultiHeadAttention: inner_dim = 30 is no multiple of groups = 4; of the numbers nearby, 28 and 32 are");
  REQUIRE_THROWS_WITH(
      checked({.embed_dim = 32, .num_heads = 8, .inner_dim = 30}),  // multiples of the heads, which are of the groups
      "GroupedMultiHeadAttention: inner_dim = 30 is no multiple of groups = 4; of the numbers nearby, 24 and 32 are");
  REQUIRE_THROWS_WITH(
      checked({.embed_dim = 32, .inner_dim = 3}),
      "GroupedMultiHeadAttention: inner_dim = 3 is no multiple of groups = 4; of the numbers nearby, 4 is");
  for (int64_t inner : {4, 24, 28, 32}) REQUIRE_NOTHROW(checked({.embed_dim = 32, .inner_dim = inner}));
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .num_heads = 8, .inner_dim = 36}),
                      "GroupedMultiHeadAttention: num_heads = 8 does not divide inner_dim = 36; of the numbers nearby "
                      "that fit groups = 4, 4 and 12 do");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 24, .num_heads = 7}),
                      "GroupedMultiHeadAttention: num_heads = 7 does not divide embed_dim = 24; of the numbers nearby "
                      "that fit groups = 4, 4 and 8 do");
  for (int64_t heads : {4, 8}) REQUIRE_NOTHROW(checked({.embed_dim = 24, .num_heads = heads}));
  REQUIRE_THROWS_WITH(checked({.embed_dim = 24, .num_heads = 30}),
                      "GroupedMultiHeadAttention: num_heads = 30 does not divide embed_dim = 24; of the numbers nearby "
                      "that fit groups = 4, 24 does");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .num_heads = -2}),
                      "GroupedMultiHeadAttention: num_heads is -2; it must be at least 1");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .num_heads = -2, .head_mode = HeadMode::literal}),
                      "GroupedMultiHeadAttention: num_heads is -2; it must be at least 1");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .num_heads = 8, .num_kv_heads = -1}),
                      "GroupedMultiHeadAttention: num_kv_heads is -1; it must be at least 1");
  REQUIRE_THROWS_WITH(
      checked({.embed_dim = 32, .num_heads = 8, .num_kv_heads = 3}),
      "GroupedMultiHeadAttention: num_kv_heads = 3 does not divide num_heads = 8; of the numbers nearby that fit "
      "groups = 4, 2 and 4 do");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 48, .num_heads = 12, .groups = 4, .num_kv_heads = 5}),
                      "GroupedMultiHeadAttention: num_kv_heads = 5 does not divide num_heads = 12; of the numbers "
                      "nearby that fit groups = 4, 4 and 12 do");
  for (int64_t heads : {4, 12})
    REQUIRE_NOTHROW(checked({.embed_dim = 48, .num_heads = 12, .groups = 4, .num_kv_heads = heads}));
  REQUIRE_THROWS_WITH(checked({.embed_dim = 16, .num_heads = 16, .groups = 16, .num_kv_heads = 3}),
                      "GroupedMultiHeadAttention: num_kv_heads = 3 does not divide num_heads = 16; of the numbers "
                      "nearby that fit groups = 16, 16 does");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 48, .num_heads = 12, .groups = 4, .num_kv_heads = 6}),
                      "GroupedMultiHeadAttention: num_kv_heads = 6 is neither a multiple nor a divisor of groups = 4; "
                      "num_kv_heads = 4 gives each group one; 0 means num_heads");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .num_heads = 16, .groups = 8, .num_kv_heads = 2}),
                      "GroupedMultiHeadAttention: num_kv_heads = 2 heads of width 2 are 4 channels, which groups = 8 "
                      "does not divide; 0, which means num_heads, always fits");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .head_mode = HeadMode::literal, .num_kv_heads = 2}),
                      "GroupedMultiHeadAttention: num_kv_heads = 2 with head_mode literal, whose single map has one "
                      "head; 0 or 1 fits");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .inner_dim = 64, .output = OutputProjection::none}),
                      "GroupedMultiHeadAttention: output = none gives inner_dim = 64 channels instead of embed_dim = "
                      "32; inner_dim = 0, or output = dense or grouped, fits");
}

TEST_CASE("grouped options: wrong norms and dropouts say what would fit") {
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .norm_eps = -1e-5}),
                      "GroupedMultiHeadAttention: norm_eps is -1e-05; it must be finite and not negative");
  for (double eps : {INFINITY, NAN})
    REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .norm_eps = eps}),
                        Contains("norm_eps is ") && Contains("; it must be finite and not negative"));
  REQUIRE_THROWS_WITH(checked({.embed_dim = 4, .norm = ProjectionNorm::per_group}),
                      "GroupedMultiHeadAttention: norm = per_group over one channel of q would leave nothing of it; at "
                      "least 2 (a larger inner_dim, or norm = full) fit");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 8, .num_heads = 8, .num_kv_heads = 4, .norm = ProjectionNorm::per_group}),
                      "GroupedMultiHeadAttention: norm = per_group over one channel of k would leave nothing of it; at "
                      "least 2 (a larger inner_dim, or norm = full) fit");
  REQUIRE_THROWS_WITH(
      checked({.embed_dim = 1, .groups = 1, .norm = ProjectionNorm::full}),
      "GroupedMultiHeadAttention: norm = full over one channel of q would leave nothing of it; at least "
      "2 (a larger inner_dim, or norm = none) fit");
  const Options thin{.embed_dim = 4, .norm = ProjectionNorm::per_group};
  const auto advised = [](Options o, auto change, const char* advice) {
    REQUIRE_THROWS_WITH(checked(o), Contains(advice));
    change(o);
    REQUIRE_NOTHROW(checked(o));
  };
  Options cascade = thin, bare = thin, narrow = thin;
  cascade.exchange = GroupExchange::cascade;
  for (auto change : {+[](Options& o) { o.groups = 2; }, +[](Options& o) { o.norm = ProjectionNorm::none; }})
    advised(cascade, change, "at least 2 (fewer groups, or norm = none) fit");
  bare.output = OutputProjection::none;
  for (auto change : {+[](Options& o) { o.groups = 2; }, +[](Options& o) { o.norm = ProjectionNorm::full; }})
    advised(bare, change, "at least 2 (fewer groups, or norm = full) fit");
  narrow = {.embed_dim = 1, .groups = 1, .output = OutputProjection::none, .norm = ProjectionNorm::full};
  advised(
      narrow, [](Options& o) { o.norm = ProjectionNorm::none; }, "at least 2 (norm = none) fit");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .dropout = 1.5}),
                      "GroupedMultiHeadAttention: dropout is 1.5; it must be between 0 and 1");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .group_dropout = {.rates = {0.1, 0.2}}}),
                      "GroupedMultiHeadAttention: group_dropout.rates has 2 entries for groups = 4; 4 of them, one for "
                      "all, or none would fit");
  REQUIRE_THROWS_WITH(checked({.embed_dim = 32, .group_dropout = {.rates = {1}}}),
                      "GroupedMultiHeadAttention: group_dropout.rates[0] is 1; it must be at least 0 and below 1");
  REQUIRE_THROWS_WITH(
      checked({.embed_dim = 32, .group_dropout = {.whole_groups = true}}),
      "GroupedMultiHeadAttention: group_dropout.whole_groups without rates drops nothing; rates = {0.1}, "
      "say, or whole_groups = false fits");
}

TEST_CASE("grouped options: a block passes them on") {
  const TransformerBlock block(
      {.embed_dim = 32, .attention = grouped({.inner_dim = 16, .norm = ProjectionNorm::per_group})});
  CHECK(std::get<GroupedMultiHeadAttention>(block.attention).norm_q->weight.shape() == Dims{16});
  REQUIRE_THROWS_WITH(
      TransformerBlock({.embed_dim = 30, .attention = grouped({})}),
      "GroupedMultiHeadAttention: groups = 4 does not divide embed_dim = 30; of the numbers nearby, 3 and 5 do");
}
