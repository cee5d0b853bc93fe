// All options of the grouped layer with one another: each combination works with all its gradients, or is refused by
// name.
#include <cmath>

#include "support/grouped_layer.h"
#include "tutti/core/error.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// Every combination of the values in `choices` applied to `o`, one after another.
using Change = std::function<void(Options&)>;
void for_each_combination(Options o, const std::vector<std::vector<Change>>& choices, size_t depth,
                          const std::function<void(const Options&)>& body) {
  if (depth == choices.size()) return body(o);
  for (const Change& change : choices[depth]) {
    Options next = o;
    change(next);
    for_each_combination(next, choices, depth + 1, body);
  }
}

std::string described(const Options& o) {
  return message(name_of(o.head_mode), " heads, ", o.num_kv_heads, " kv, inner ", o.inner_dim, ", scale ",
                 name_of(o.scale), ", output ", name_of(o.output), ", norm ", name_of(o.norm), ", ",
                 o.group_dropout.rates.size(), " rates, exchange ", name_of(o.exchange), ", ",
                 o.dynamic.candidates.size(), " candidates, sparsity ", name_of(o.sparsity.pattern));
}

/// The rules of nn/README.md.
bool should_fit(const Options& o) {
  using nn::GroupExchange;
  const bool literal = o.head_mode == nn::HeadMode::literal, fewer_kv = o.num_kv_heads != 0;
  if (literal && fewer_kv) return false;
  if (o.output == nn::OutputProjection::none && o.inner_dim != 0) return false;
  if (!o.dynamic.candidates.empty() &&
      (fewer_kv || o.exchange == GroupExchange::inter_group || o.exchange == GroupExchange::cascade))
    return false;
  switch (o.exchange) {
    case GroupExchange::inter_group:
      return !fewer_kv;
    case GroupExchange::talking_heads:
      return !literal && o.sparsity.pattern != nn::Sparsity::big_bird;
    case GroupExchange::cascade:
      return !literal && !fewer_kv && o.inner_dim == 0 && o.norm != nn::ProjectionNorm::full;
    default:
      return true;
  }
}

bool finite(const Tensor& x) { return std::isfinite(sum(abs(x)).item()); }

/// Forward and backward: the shape, finite numbers, and a gradient for x and for every parameter. Causal, but with
/// dynamic groups, whose gate reads all tokens: there under a key mask, and causal is refused.
void check_runs(GroupedMultiHeadAttention& layer, const Tensor& x) {
  layer.zero_grad();
  x.zero_grad();
  AttentionOptions call{.causal = true};
  if (layer.dynamic) {
    REQUIRE_THROWS_WITH(layer(x, call), Contains("causal with dynamic.candidates: the gate reads the mean of all"));
    call = {.mask = Tensor::from(std::vector<bool>{true, true, true, true, false}, {1, 1, 1, 5})};
  }
  const Tensor y = layer(x, call);
  CHECK(y.shape() == x.shape());
  CHECK(finite(y));
  sum(mul(y, y)).backward();
  CHECK(finite(x.grad()));
  for (const auto& [name, p] : layer.named_parameters()) {
    INFO(name);
    REQUIRE(p.grad().defined());
    CHECK(finite(p.grad()));
  }
}

/// Of all other options with this one.
void check_combinations(nn::GroupExchange exchange) {
  using nn::AttentionScale;
  using nn::OutputProjection;
  using nn::ProjectionNorm;
  using nn::Sparsity;
  const auto same = [](Options&) {};
  const auto output = [](OutputProjection p) { return [p](Options& o) { o.output = p; }; };
  const auto norm = [](ProjectionNorm n) { return [n](Options& o) { o.norm = n; }; };
  const std::vector<std::vector<Change>> choices{
      {same, [](Options& o) { o.head_mode = nn::HeadMode::literal; }},
      {same, [](Options& o) { o.num_heads = 4, o.num_kv_heads = 2; }},
      {same, [](Options& o) { o.inner_dim = 16; }},
      {same, [](Options& o) { o.scale = AttentionScale::learned; }},
      {output(OutputProjection::none), output(OutputProjection::dense), output(OutputProjection::grouped)},
      {norm(ProjectionNorm::none), norm(ProjectionNorm::per_group), norm(ProjectionNorm::full)},
      {same,
       [](Options& o) {
         o.group_dropout = {.rates = {0.1, 0.4}, .whole_groups = true};
       }},
      {same,
       [](Options& o) {
         o.dynamic.candidates = {1, 2};
       }},
      {same, [](Options& o) { o.sparsity = {.pattern = Sparsity::sliding_window, .window = 2}; },
       [](Options& o) { o.sparsity = {.pattern = Sparsity::big_bird, .block = 2}; }}};
  manual_seed(1);
  const Tensor x = random_tensor({2, 5, 8}, DType::float32, 1).requires_grad_();
  int64_t number = 0, works = 0, refused = 0;
  for_each_combination({.embed_dim = 8, .groups = 2, .exchange = exchange}, choices, 0, [&](const Options& o) {
    ++number;
    INFO(described(o));
    try {
      GroupedMultiHeadAttention layer(o);
      ++works;
      CHECK(should_fit(o));
      check_runs(layer, x);
    } catch (const ValueError& e) {
      ++refused;
      CHECK_FALSE(should_fit(o));
      CHECK(std::string(e.what()).starts_with("GroupedMultiHeadAttention: "));
    }
  });
  CHECK(number == 2 * 2 * 2 * 2 * 3 * 3 * 2 * 2 * 3);
  CHECK(works + refused == number);
}

}  // namespace

// In six parts, which run side by side: on an emulated device all take minutes.
TEST_CASE("grouped attention: every combination of options works or is refused by name: no exchange") {
  check_combinations(nn::GroupExchange::none);
}
TEST_CASE("grouped attention: every combination of options works or is refused by name: shuffle") {
  check_combinations(nn::GroupExchange::shuffle);
}
TEST_CASE("grouped attention: every combination of options works or is refused by name: talking heads") {
  check_combinations(nn::GroupExchange::talking_heads);
}
TEST_CASE("grouped attention: every combination of options works or is refused by name: inter-group") {
  check_combinations(nn::GroupExchange::inter_group);
}
TEST_CASE("grouped attention: every combination of options works or is refused by name: tokens over groups") {
  check_combinations(nn::GroupExchange::tokens_over_groups);
}
TEST_CASE("grouped attention: every combination of options works or is refused by name: cascade") {
  check_combinations(nn::GroupExchange::cascade);
}
