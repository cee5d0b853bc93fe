#include "common/control_attention.h"

#include <cmath>
#include <numeric>

#include "common/checked_sizes.h"

namespace examples {

using namespace tutti;

namespace {

/// Scores and context of q, k, v side by side [B, T, 3 C], with the standard scale.
Tensor attend(const Tensor& qkv, int64_t heads) {
  const int64_t batch = qkv.size(0), tokens = qkv.size(1), width = qkv.size(2) / 3;
  const Tensor packed = reshape(qkv, {batch, tokens, 3, heads, width / heads});
  return reshape(packed_attention(packed), {batch, tokens, width});
}

LowRankAttentionOptions checked(const LowRankAttentionOptions& o) {
  checked_sizes("LowRankAttention", o);
  if (o.rank < 1 || o.rank > o.embed_dim)
    throw ValueError(message("LowRankAttention: rank = ", o.rank, " is outside 1 .. embed_dim = ", o.embed_dim));
  return o;
}

/// For each of the 3 C rows, C / groups places of their own.
Tensor random_places(const RandomMaskAttentionOptions& o) {
  const int64_t c = o.embed_dim, kept = c / o.groups;
  std::vector<float> mask(static_cast<size_t>(3 * c * c), 0.0f);
  for (int64_t row = 0; row < 3 * c; ++row) {
    const auto order = slice(randperm(c), 0, 0, kept).to_vector<int64_t>();
    for (int64_t column : order) mask[static_cast<size_t>(row * c + column)] = 1;
  }
  return Tensor::from(mask, {3 * c, c});
}

}  // namespace

LowRankAttention::LowRankAttention(LowRankAttentionOptions o)
    : down({.in = checked(o).embed_dim, .out = 3 * o.rank, .bias = false, .init = nn::LinearInit::zero}),
      up({.in = 3 * o.rank, .out = 3 * o.embed_dim, .groups = 3, .init = nn::LinearInit::zero}),
      out({.in = o.embed_dim, .out = o.embed_dim, .init = nn::LinearInit::xavier}),
      options_(o) {
  const no_grad off;  // both keep the variance, so that q, k and v start as large as the standard layer's
  nn::init::kaiming_uniform_(down.weight, 1);
  nn::init::kaiming_uniform_(up.weight, 1);
}

void LowRankAttention::children(nn::Visitor& visit) {
  visit("down", down);
  visit("up", up);
  visit("out", out);
}

Tensor LowRankAttention::forward(const Tensor& x) { return out(attend(up(down(x)), options_.num_heads)); }

RandomMaskAttention::RandomMaskAttention(RandomMaskAttentionOptions o)
    : weight(zeros({3 * checked_sizes("RandomMaskAttention", o).embed_dim, o.embed_dim})),
      bias(zeros({3 * o.embed_dim})),
      mask(random_places(o)),
      out({.in = o.embed_dim, .out = o.embed_dim, .init = nn::LinearInit::xavier}),
      options_(o) {
  const no_grad off;
  const double bound = std::sqrt(3.0 / static_cast<double>(o.embed_dim / o.groups));  // of C / groups inputs
  nn::init::uniform_(weight, -bound, bound);
}

void RandomMaskAttention::children(nn::Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
  visit("mask", mask);
  visit("out", out);
}

Tensor RandomMaskAttention::forward(const Tensor& x) {
  const Tensor weights = mul(weight, mask);
  return out(attend(linear(x, weights, bias), options_.num_heads));
}

int64_t RandomMaskAttention::effective_parameters() const {
  const int64_t c = options_.embed_dim;
  return 3 * (c * (c / options_.groups) + c) + c * c + c;
}

}  // namespace examples
