#include <fmt/format.h>

#include "grouped_vs_standard/claims/claim.h"
#include "grouped_vs_standard/claims/exact.h"

namespace comparison {

using namespace tutti;

namespace {

/// Other channels of group `moved` in x: does exactly that group's part of q, k and v change, bit for bit?
bool only_own_group_moves(int64_t width, int64_t groups, int64_t moved) {
  const int64_t g = width / groups;
  nn::GroupedMultiHeadAttention layer({.embed_dim = width, .groups = groups});
  randomize(layer, 50);
  const Tensor x = normal_numbers({2, 7, width}, DType::float32, 1), other = clone(x);
  copy_(slice(other, 2, moved * g, (moved + 1) * g), normal_numbers({2, 7, g}, DType::float32, 2));
  std::vector<nn::QueryKeyValue> before, after;
  layer.context(x, {}, &before);
  layer.context(other, {}, &after);
  before.at(0).unpack();
  after.at(0).unpack();
  for (const auto& [a, b] : {std::pair{before[0].q, after[0].q}, {before[0].k, after[0].k}, {before[0].v, after[0].v}})
    for (int64_t i = 0; i < groups; ++i)
      if (same_bits(slice(a, 2, i * g, (i + 1) * g), slice(b, 2, i * g, (i + 1) * g)) == (i == moved)) return false;
  return true;
}

}  // namespace

Claim c09();
Claim c09() {
  return {9, "Each group is projected independently.",
          "Channels of one group replaced: q, k and v of every other group keep their bits, its own change; every "
          "group, for four pairs of C and G. Holds if every check passes.",
          [](Lab&) {
            ExactChecks checks("Projections of the layer in use");
            for (const auto& [c, groups] : {std::pair<int64_t, int64_t>{16, 2}, {24, 3}, {64, 4}, {64, 8}}) {
              int right = 0;
              for (int64_t j = 0; j < groups; ++j) right += only_own_group_moves(c, groups, j);
              checks.add(fmt::format("C = {}, G = {}", c, groups),
                         fmt::format("{} of {} groups isolated", right, groups), right == groups);
            }
            return checks.finding();
          }};
}

}  // namespace comparison
