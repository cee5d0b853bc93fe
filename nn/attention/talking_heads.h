// Attention whose heads are mixed before and after the softmax.
#pragma once
#include "tutti/nn/attention/self_attention.h"
#include "tutti/nn/module.h"
#include "tutti/ops/attention.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Talking heads (Shazeer et al. 2020): with S_j = q_j k_j^T scale the scores of head j,
///   S'_i = sum_j before[i, j] S_j,   P = softmax(S' + mask),   P'_i = sum_j after[i, j] P_j,   result_i = P'_i v_i.
/// Both matrices start as the identity, so that the layer starts as plain attention: 2 H^2 parameters. Composed of
/// differentiable operations that store [B, H, Tq, Tk] matrices: memory is quadratic in the number of tokens, unlike
/// scaled_dot_product_attention's.
class TalkingHeads : public Module {
 public:
  explicit TalkingHeads(int64_t num_heads);  ///< ValueError unless positive
  void children(Visitor& visit) override;
  /// q [B, H, Tq, D], k [B, Hk, Tk, D], v [B, Hk, Tk, Dv], H a multiple of Hk, to [B, H, Tq, Dv]. Options are those of
  /// scaled_dot_product_attention, except a block layout (ValueError). A key that is hidden from a head gets no weight
  /// there, before and after mixing; a row without any key gives 0. Dropout is of the mixed weights P'. A NaN in a key
  /// or value that its head hides from a query reaches nothing by way of this query, forward or backward.
  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {}) const;
  Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {}) const {
    return scope([&] { return forward(q, k, v, options); }, q, k, v, options);
  }
  Parameter before, after;  ///< [H, H]: row i says what mixed head i takes from the heads
};

/// self_attention with heads that talk: [B, T, H D] (or without B); dropout and scale are the layer's.
Tensor talking_self_attention(const TalkingHeads& heads, QueryKeyValue qkv, double scale, double dropout,
                              AttentionOptions call);

}  // namespace tutti::nn
#pragma GCC visibility pop
