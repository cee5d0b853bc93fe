// Keys and values of the tokens so far: what writing a text token by token need not compute again.
#pragma once
#include "tutti/nn/attention/self_attention.h"
#include "tutti/nn/parameter.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// Of one attention layer: a model has one for each. `layer(x, cache)` appends x's tokens and lets them see all before
/// them. The memory, 2 B Hk max_tokens d elements, is taken with the first tokens and never moves; appending copies
/// the new ones alone. A copy is independent of the original: a prompt's cache can be gone on from several times.
class KVCache {
 public:
  /// Of every sequence of a batch. ValueError unless at least 1.
  explicit KVCache(int64_t max_tokens);
  int64_t max_tokens() const { return max_tokens_; }
  int64_t tokens() const { return tokens_; }  ///< that it holds of each sequence: the next one's position
  /// Forgets all but the first ones. ValueError unless 0 <= tokens <= tokens().
  void truncate(int64_t tokens);
  /// Forgets all, so that any layer and batch may fill it; the memory is kept for one of the same sizes.
  void clear() { truncate(0); }

  /// For attention layers: views of all keys and values, [B, Hk, tokens(), d], after k and v [B, Hk, T, d] were
  /// appended. `weight`, of the layer, tells whose they are. ValueError if they do not fit any more, or were another
  /// layer's or made by other values of `weight`; ShapeError, DTypeError or DeviceError if they differ from what it
  /// holds; AutogradError if they require a gradient while recording.
  struct View {
    Tensor k, v;
  };
  View append(const char* layer, const Tensor& weight, const Tensor& k, const Tensor& v);

 private:
  void check(const char* layer, const Tensor& weight, const Tensor& k, const Tensor& v) const;
  int64_t max_tokens_, tokens_ = 0;
  Buffer memory_;  // [2, B, Hk, max_tokens, d]: k, v; none before the first tokens
  std::weak_ptr<const TensorImpl> weight_;
  uint32_t version_ = 0;  // of weight_'s values
};

/// The rest of a layer's call with a cache: appends k and v, attends causally over all tokens so far, and gives the
/// heads' results side by side, [B, T, E] (or [T, E]). A mask of the call broadcasts to [B, H, T, all tokens]; a layout
/// is a ValueError, for its blocks would not lie at the tokens' places. Errors of KVCache::append.
Tensor cached_attention(const char* layer, KVCache& cache, const Tensor& weight, QueryKeyValue x, double scale,
                        double dropout, AttentionOptions call);

}  // namespace tutti::nn
#pragma GCC visibility pop
