// Match modes of grouped_vs_standard against the article's formulae and the modules' own counts.
#if __has_include("grouped_vs_standard/study/match.h")
#include "grouped_vs_standard/study/match.h"

#include <cmath>

#include "support/catch.h"

using namespace comparison;
using examples::ClassifierOptions;

namespace {

ClassifierOptions standard_model(int64_t dim, int64_t layers) {
  ClassifierOptions o{
      .attention = tutti::nn::MultiHeadAttentionOptions{.num_heads = 4}, .dim = dim, .layers = layers, .classes = 10};
  o.hidden.assign(static_cast<size_t>(layers), 4 * dim);
  return o;
}

double gap(const std::array<ClassifierOptions, 2>& arms) {
  const auto a = static_cast<double>(parameters_of(arms[0])), b = static_cast<double>(parameters_of(arms[1]));
  return std::abs(b - a) / a;
}

constexpr Match equal_modes[] = {Match::equal_ffn, Match::equal_inner, Match::equal_depth, Match::shrunk_baseline};

}  // namespace

TEST_CASE("match: equal modes differ by less than .1 %, and the formulae count what the modules count", "[match]") {
  for (int64_t dim : {64, 128})
    for (int64_t layers : {2, 4})
      for (int64_t groups : {2, 4, 8})
        for (Match match : equal_modes) {
          const auto arms = match_arms(standard_model(dim, layers), {.groups = groups}, match);
          CAPTURE(dim, layers, groups, name_of(match));
          REQUIRE(gap(arms) < 1e-3);
          for (const ClassifierOptions& arm : arms) REQUIRE(cost_of(arm).parameters == parameters_of(arm));
        }
}

TEST_CASE("match: each mode changes what it says", "[match]") {
  const ClassifierOptions standard = standard_model(64, 13);
  const auto same = match_arms(standard, {.groups = 4}, Match::same_width);
  // The attention layer has C^2 (1 + 3/G) + 4C against 4C^2 + 4C.
  REQUIRE(parameters_of(same[0]) - parameters_of(same[1]) == 13 * 3 * (64 * 64 - 64 * 64 / 4));
  REQUIRE(same[1].hidden == standard.hidden);
  // equal_ffn: r' = r + 1.5 (1 - 1/G) = 5.125 at G = 4; equal parameters are equal work.
  const auto ffn = match_arms(standard, {.groups = 4}, Match::equal_ffn);
  REQUIRE(static_cast<double>(ffn[1].hidden[0]) == Approx(5.125 * 64).epsilon(0.01));
  REQUIRE(cost_of(ffn[1]).forward_flops == Approx(cost_of(ffn[0]).forward_flops).epsilon(0.003));
  // equal_inner: e = 4G/(G + 3) = 2.286; equal_depth: 16 grouped blocks for 13.
  const auto inner = match_arms(standard, {.groups = 4}, Match::equal_inner);
  REQUIRE(std::get<tutti::nn::GroupedMultiHeadAttentionOptions>(inner[1].attention).inner_dim == 148);
  REQUIRE(match_arms(standard, {.groups = 4}, Match::equal_depth)[1].layers == 16);
  // shrunk_baseline: C sqrt(.8125) = 57.7, a multiple of the heads.
  const auto shrunk = match_arms(standard, {.groups = 4}, Match::shrunk_baseline);
  REQUIRE(shrunk[0].dim == 56);
  REQUIRE(shrunk[1].dim == 64);
  REQUIRE_THROWS_WITH(match_from("x"),
                      "match 'x': expected same_width, equal_ffn, equal_inner, equal_depth or shrunk_baseline");
}

TEST_CASE("match: parameters are counted as the built model counts them, whatever it is made of", "[match]") {
  using examples::Embedding;
  const examples::AttentionChoice layers[] = {
      tutti::nn::MultiHeadAttentionOptions{.num_heads = 4},
      tutti::nn::GroupedMultiHeadAttentionOptions{.groups = 4},
      tutti::nn::GroupedMultiHeadAttentionOptions{
          .num_heads = 8, .groups = 4, .num_kv_heads = 4, .norm = tutti::nn::ProjectionNorm::per_group},
      tutti::nn::GroupedMultiHeadAttentionOptions{.groups = 4, .exchange = tutti::nn::GroupExchange::inter_group},
      tutti::nn::GroupedMultiHeadAttentionOptions{.dynamic = {.candidates = {1, 2, 4}}},
      examples::LoopedAttentionOptions{.num_heads = 4, .groups = 4},
      examples::LowRankAttentionOptions{.num_heads = 4, .rank = 3}};
  for (const auto& attention : layers)
    for (const Embedding embedding :
         {Embedding::linear, Embedding::identity, Embedding::symbols, Embedding::halves, Embedding::interleaved}) {
      const ClassifierOptions o{.attention = attention,
                                .inputs = embedding == Embedding::identity ? 32 : 7,
                                .tokens = 5,
                                .dim = 32,
                                .layers = 2,
                                .classes = 3,
                                .hidden = {50, 61},
                                .embedding = embedding,
                                .symbols = 11,
                                .first_inputs = 3};
      REQUIRE(parameters_of(o) == examples::Classifier(o).parameter_count());
      REQUIRE(parameters_of(o) == examples::Classifier(o).parameter_count());  // and when asked again
    }
}

TEST_CASE("match: a random mask's zeros are no parameters", "[match]") {
  ClassifierOptions grouped = standard_model(64, 2), masked = grouped;
  grouped.attention = tutti::nn::GroupedMultiHeadAttentionOptions{.groups = 4};
  masked.attention = examples::RandomMaskAttentionOptions{.num_heads = 4, .groups = 4};
  REQUIRE(parameters_of(masked) == parameters_of(grouped));
}
#endif
