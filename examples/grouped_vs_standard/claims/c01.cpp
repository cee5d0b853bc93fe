#include <fmt/format.h>

#include "grouped_vs_standard/claims/claim.h"
#include "grouped_vs_standard/claims/exact.h"

namespace comparison {

using namespace tutti;

namespace {

/// What a layer makes of one input: result, and gradients of the input and of every parameter.
struct Result {
  Tensor y, dx;
  std::vector<Tensor> gradients;
};

template <class Layer>
Result run(Layer& layer, int64_t width, DType dtype) {
  Tensor x = normal_numbers({3, 9, width}, dtype, 5);
  x.requires_grad_();
  Result r{.y = layer(x), .dx = {}, .gradients = {}};
  r.y.backward(normal_numbers(r.y.shape(), dtype, 6));
  r.dx = x.grad();
  for (const Tensor& p : layer.parameters()) r.gradients.push_back(p.grad());
  return r;
}

/// G = 1: weights, results and gradients, parameter by parameter.
bool identical_at_one_group(DType dtype, int64_t heads) {
  manual_seed(11);
  nn::MultiHeadAttention standard({.embed_dim = 24, .num_heads = heads});
  manual_seed(11);
  nn::GroupedMultiHeadAttention grouped(
      {.embed_dim = 24, .num_heads = heads, .groups = 1, .scale = nn::AttentionScale::head_dim});
  standard.to(dtype);
  grouped.to(dtype);
  const Result a = run(standard, 24, dtype), b = run(grouped, 24, dtype);
  bool same = same_bits(a.y, b.y) && same_bits(a.dx, b.dx) && a.gradients.size() == b.gradients.size();
  for (size_t i = 0; same && i < a.gradients.size(); ++i)
    same = same_bits(a.gradients[i], reshape(b.gradients[i], a.gradients[i].shape()));
  return same;
}

/// The largest relative difference to the standard layer with block-diagonal q, k and v: results and all gradients.
double block_diagonal_difference(DType dtype, int64_t heads, int64_t groups) {
  const int64_t c = 32, g = c / groups;
  manual_seed(12);
  nn::GroupedMultiHeadAttention grouped(
      {.embed_dim = c, .num_heads = heads, .groups = groups, .scale = nn::AttentionScale::head_dim});
  nn::MultiHeadAttention dense({.embed_dim = c, .num_heads = heads});
  grouped.to(dtype);
  dense.to(dtype);
  randomize(grouped, 20);
  {
    const no_grad off;
    for (int64_t p = 0; p < 3; ++p)
      copy_(slice(dense.qkv.weight, 0, p * c, (p + 1) * c), block_diagonal(select(grouped.weight, 0, p)));
    copy_(dense.qkv.bias, grouped.bias);
    const auto& out = std::get<nn::Linear>(grouped.out);
    copy_(dense.out.weight, out.weight);
    copy_(dense.out.bias, out.bias);
  }
  const Result a = run(dense, c, dtype), b = run(grouped, c, dtype);
  double worst = std::max(relative_difference(b.y, a.y), relative_difference(b.dx, a.dx));
  const Tensor whole = reshape(a.gradients[0], {3, groups, g, groups, g});
  for (int64_t i = 0; i < groups; ++i)  // only the blocks on the diagonal are parameters of the grouped layer
    worst = std::max(worst, relative_difference(select(b.gradients[0], 1, i), select(select(whole, 1, i), 2, i)));
  for (size_t i = 1; i < a.gradients.size(); ++i)
    worst = std::max(worst, relative_difference(b.gradients[i], a.gradients[i]));
  return worst;
}

}  // namespace

Claim c01();
Claim c01() {
  return {1, "An improved attention by grouping features.",
          "What the layer is: at G = 1 with scale head_dim the standard layer bit for bit; at G > 1 a dense layer with "
          "block-diagonal weights, results and all gradients within 1e-12 (float64) or 1e-5 (float32) relative. Holds "
          "if every check passes. Whether it is an improvement: C21.",
          [](Lab&) {
            ExactChecks checks("Grouped layer and standard layer");
            for (const DType dtype : {DType::float32, DType::float64})
              for (const int64_t heads : {1, 3}) {
                const bool same = identical_at_one_group(dtype, heads);
                checks.add(fmt::format("G = 1, H = {}, {}", heads, tutti::name_of(dtype)),
                           same ? "same bits" : "differs", same);
              }
            for (const DType dtype : {DType::float32, DType::float64})
              for (const int64_t groups : {2, 4, 8})
                for (const int64_t heads : {4, 8})
                  checks.add_difference(
                      fmt::format("G = {}, H = {}, {}: block-diagonal", groups, heads, tutti::name_of(dtype)),
                      block_diagonal_difference(dtype, heads, groups), dtype == DType::float64 ? 1e-12 : 1e-5);
            return checks.finding();
          }};
}

}  // namespace comparison
