#include "tutti/nn/attention/kv_cache.h"

#include "tutti/autograd/node.h"
#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/nn/option.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

namespace tutti::nn {
namespace {

uint32_t version_of(const Tensor& x) { return x.impl()->storage->version.load(std::memory_order_relaxed); }

}  // namespace

KVCache::KVCache(int64_t max_tokens) : max_tokens_(max_tokens) { check_positive("KVCache", "max_tokens", max_tokens); }

void KVCache::truncate(int64_t tokens) {
  if (tokens < 0 || tokens > tokens_)
    throw ValueError(message("KVCache: truncate to ", tokens, " tokens; it holds ", tokens_));
  tokens_ = tokens;
}

void KVCache::check(const char* layer, const Tensor& weight, const Tensor& k, const Tensor& v) const {
  check_same(layer, k, v, "k", "v");
  if (k.rank() != 4 || v.shape() != k.shape())
    throw ShapeError(message(layer, ": k ", k.shape(), " and v ", v.shape(),
                             " for a KVCache are not both [batch, heads, tokens, width]"));
  if (k.size(2) > max_tokens_ - tokens_)
    throw ValueError(message(layer, ": ", k.size(2), " more tokens do not fit a KVCache that holds ", tokens_,
                             " of at most ", max_tokens_));
  if (tokens_ == 0) return;
  if (weight_.lock().get() != weight.impl())
    throw ValueError(message(layer, ": the KVCache holds ", tokens_,
                             " tokens of another layer; each layer needs its own, and clear() frees one for another"));
  if (version_ != version_of(weight))
    throw ValueError(message(layer, ": the weights have changed since the KVCache got its ", tokens_,
                             " tokens; clear() it and begin again"));
  const Tensor& held = memory_;
  if (k.dtype() != held.dtype())
    throw DTypeError(message(layer, ": k is ", k.dtype(), ", and the KVCache holds ", held.dtype(), "; clear() it"));
  if (k.device() != held.device())
    throw DeviceError(message(layer, ": k is on ", k.device(), ", the KVCache on ", held.device(), "; clear() it"));
  const Dims holds{held.size(1), held.size(2), tokens_, held.size(4)};
  if (k.size(0) != holds[0] || k.size(1) != holds[1] || k.size(3) != holds[3])
    throw ShapeError(message(layer, ": k ", k.shape(), " does not go on from what the KVCache holds, ", holds,
                             " (batch, heads, tokens, width); clear() it"));
}

KVCache::View KVCache::append(const char* layer, const Tensor& weight, const Tensor& k, const Tensor& v) {
  check(layer, weight, k, v);
  if (grad_mode() && (k.requires_grad() || v.requires_grad()))
    throw AutogradError(message(layer, ": a KVCache passes no gradients on; call with no_grad"));
  const no_grad off;
  const Dims shape{2, k.size(0), k.size(1), max_tokens_, k.size(3)};
  if (!memory_.defined() || memory_.shape() != shape || memory_.tensor().dtype() != k.dtype() ||
      memory_.tensor().device() != k.device()) {
    memory_ = Buffer();                                       // before the new one is taken
    memory_ = Buffer(zeros(shape, {k.dtype(), k.device()}));  // for a copy reads all of it
  }
  const int64_t end = tokens_ + k.size(2);
  View all{slice(select(memory_, 0, 0), 2, 0, end), slice(select(memory_, 0, 1), 2, 0, end)};
  copy_(slice(all.k, 2, tokens_, end), k);
  copy_(slice(all.v, 2, tokens_, end), v);
  tokens_ = end;
  weight_ = Access::handle(weight);
  version_ = version_of(weight);
  return all;
}

Tensor cached_attention(const char* layer, KVCache& cache, const Tensor& weight, QueryKeyValue x, double scale,
                        double dropout, AttentionOptions call) {
  x.unpack();
  if (grad_mode() && x.q.requires_grad())
    throw AutogradError(message(layer, ": a KVCache passes no gradients on; call with no_grad"));
  // What attention itself would find, while the cache is as it was.
  if (call.layout.defined() || call.block != 0)
    throw ValueError(message(layer, ": a layout with a KVCache; a mask or window fits"));
  if (call.window < 0) throw ValueError(message(layer, ": window ", call.window, " is negative"));
  const Tensor q = split_heads(x.q, x.num_heads);
  if (call.mask.defined())
    check_mask(layer, call.mask, q, {q.size(0), q.size(1), q.size(2), cache.tokens() + q.size(2)});
  call.causal = true;
  call.scale = scale;
  call.dropout = dropout;
  const auto all = cache.append(layer, weight, split_heads(x.k, x.num_kv_heads), split_heads(x.v, x.num_kv_heads));
  return merge_heads(scaled_dot_product_attention(q, all.k, all.v, call), x.q.rank() == 3);
}

}  // namespace tutti::nn
