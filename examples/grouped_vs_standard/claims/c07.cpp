#include <fmt/format.h>

#include "grouped_vs_standard/claims/claim.h"
#include "grouped_vs_standard/claims/exact.h"

namespace comparison {

using namespace tutti;

namespace {

/// What the constructor says to C and G; empty if it accepts them.
std::string refusal(int64_t width, int64_t groups) {
  try {
    const nn::GroupedMultiHeadAttention layer({.embed_dim = width, .groups = groups});
    return {};
  } catch (const ValueError& e) {
    return e.what();
  }
}

/// Do the projections of group i see the channels [i g, (i + 1) g) and no others, all of them?
bool contiguous_groups(int64_t width, int64_t groups) {
  const int64_t g = width / groups;
  nn::GroupedMultiHeadAttention layer({.embed_dim = width, .groups = groups});
  randomize(layer, 40);
  for (int64_t channel = 0; channel < width; ++channel) {
    Tensor x = zeros({1, width});
    fill_(select(x, 1, channel), 1);
    const Tensor moved = grouped_linear(x, layer.weight) - grouped_linear(zeros({1, width}), layer.weight);
    const auto y = moved.to_vector<double>();  // q, k and v, each of `width` channels
    for (size_t o = 0; o < y.size(); ++o) {
      const int64_t group = static_cast<int64_t>(o) % width / g;
      if ((y[o] != 0) != (group == channel / g)) return false;
    }
  }
  return true;
}

}  // namespace

Claim c07();
Claim c07() {
  return {
      7,
      "embed_dim must be divisible by groups; groups defaults to 4; group i is the contiguous channels [i g, (i+1) g).",
      "The constructor for every C from 1 to 48 and G from -1 to 50: a ValueError that names groups and C exactly "
      "where G does not divide C; the default; and which channels each group's projections see, by moving one channel "
      "at a time. Holds if every check passes.",
      [](Lab&) {
        ExactChecks checks("Constructor");
        int tried = 0, right = 0, named = 0, refused = 0;
        for (int64_t c = 1; c <= 48; ++c)
          for (int64_t groups = -1; groups <= 50; ++groups) {
            const bool fits = groups > 0 && c % groups == 0;
            const std::string said = refusal(c, groups);
            ++tried;
            right += said.empty() == fits;
            if (said.empty()) continue;
            ++refused;
            named += said.find("groups") != std::string::npos && said.find(std::to_string(groups)) != std::string::npos;
          }
        checks.add("accepts G exactly where it divides C", fmt::format("{} of {}", right, tried), right == tried);
        checks.add("the error names groups and its value", fmt::format("{} of {}", named, refused), named == refused);
        const int64_t usual = nn::GroupedMultiHeadAttention({.embed_dim = 64}).options().groups;
        checks.add("default groups", std::to_string(usual), usual == 4);
        checks.add("an example", refusal(30, 4), !refusal(30, 4).empty());
        for (const auto& [c, groups] : {std::pair<int64_t, int64_t>{16, 4}, {24, 3}, {32, 8}}) {
          const bool own = contiguous_groups(c, groups);
          checks.add(fmt::format("C = {}, G = {}: group i sees its contiguous channels only", c, groups),
                     own ? "exactly" : "others too", own);
        }
        return checks.finding();
      }};
}

}  // namespace comparison
