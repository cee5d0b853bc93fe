#include "tutti/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/attention.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/detail/attention_dense.h"

namespace tutti {
namespace {

/// What a gradient needs to know besides tensors.
struct Settings {
  const char* op;
  int64_t nearest, farthest, block;
  double scale, dropout;
  DrawKey key;
};

/// Axes of a tensor as batch, head, token, channel, from an element offset on.
template <class H, class V>
H heads_view(V* data, const TensorImpl& t, int b, int h, int token, int c, int64_t offset = 0) {
  auto* bytes = static_cast<std::conditional_t<std::is_const_v<V>, const char, char>*>(data);
  return {bytes + offset * static_cast<int64_t>(size_of(t.dtype)),
          t.dtype,
          t.shape[b],
          t.shape[h],
          t.shape[token],
          t.shape[c],
          t.strides[b],
          t.strides[h],
          t.strides[token],
          t.strides[c]};
}
ConstHeads heads(const Tensor& x) { return heads_view<ConstHeads>(x.data(), *x.impl(), 0, 1, 2, 3); }
Heads heads(const Output& y) { return heads_view<Heads>(y.data(), *y.impl(), 0, 1, 2, 3); }
/// Part 0, 1 or 2 (q, k, v) of [B, T, 3, H, D].
ConstHeads part(const Tensor& x, int i) {
  return heads_view<ConstHeads>(x.data(), *x.impl(), 0, 3, 1, 4, i * x.strides()[2]);
}
Heads part(const Output& y, int i) { return heads_view<Heads>(y.data(), *y.impl(), 0, 3, 1, 4, i * y.strides()[2]); }
/// [B, T, H, D] as [B, H, T, D].
ConstHeads token_major(const Tensor& x) { return heads_view<ConstHeads>(x.data(), *x.impl(), 0, 2, 1, 3); }
Heads token_major(const Output& y) { return heads_view<Heads>(y.data(), *y.impl(), 0, 2, 1, 3); }

/// New memory of shape [B, H, T, D], laid out [B, T, H, D].
Output token_major_output(const Dims& s, DType dtype, Device device) {
  const Output y = output({s[0], s[2], s[1], s[3]}, dtype, device);
  const Dims t = y.strides();
  return y.view(s, {t[0], t[2], t[1], t[3]}, 0);
}
/// A gradient's memory in the order of its tensor's, so that what follows need not reorder it.
Output output_in_order_of(const Tensor& x) {
  if (x.strides()[1] < x.strides()[2]) return token_major_output(x.shape(), x.dtype(), x.device());
  return output_like(x);
}

/// The mask broadcast to `scores` = [B, H, Tq, Tk].
ConstHeads mask_view(const char* op, const Tensor& mask, const Tensor& q, const Dims& scores) {
  if (!mask.defined()) return {};
  if (mask.dtype() != DType::boolean && mask.dtype() != q.dtype())
    throw DTypeError(message(op, ": mask must be bool or ", q.dtype(), ", not ", mask.dtype()));
  if (mask.device() != q.device())
    throw DeviceError(message(op, ": mask is on ", mask.device(), ", q on ", q.device()));
  if (mask.requires_grad() && grad_mode())
    throw AutogradError(message(op, ": the mask's gradient is not computed; pass mask.detach()"));
  Dims strides{0, 0, 0, 0};
  bool fits = mask.rank() <= 4;
  for (int i = 0; fits && i < mask.rank(); ++i) {
    const int axis = 4 - mask.rank() + i;
    fits = mask.shape()[i] == 1 || mask.shape()[i] == scores[axis];
    if (mask.shape()[i] != 1) strides[axis] = mask.strides()[i];
  }
  if (!fits)
    throw ShapeError(message(op, ": mask of shape ", mask.shape(), " does not broadcast to the scores' ", scores));
  return {mask.data(), mask.dtype(), scores[0],  scores[1],  scores[2],
          scores[3],   strides[0],   strides[1], strides[2], strides[3]};
}

/// The layout's view; its shape must cut [Tq, Tk] into blocks.
BlockLayout layout_view(const char* op, const Tensor& layout, int64_t block, const ConstHeads& q, const ConstHeads& k,
                        Device device) {
  if (!layout.defined()) {
    if (block != 0) throw ValueError(message(op, ": block ", block, " without a layout"));
    return {};
  }
  if (block < 1) throw ValueError(message(op, ": block is ", block, "; with a layout it must be at least 1"));
  check_dtype(op, "layout", layout, DType::boolean);
  if (layout.device() != device) throw DeviceError(message(op, ": layout is on ", layout.device(), ", q on ", device));
  const auto blocks = [block](int64_t tokens) { return tokens / block + (tokens % block != 0); };
  const Dims fits{blocks(q.tokens), blocks(k.tokens)};
  if (layout.shape() != fits)
    throw ShapeError(message(op, ": layout of shape ", layout.shape(), " for ", q.tokens, " queries and ", k.tokens,
                             " keys in blocks of ", block, "; it must be ", fits));
  return {layout.data(), block, layout.strides()[0], layout.strides()[1]};
}

Settings check_options(const char* op, const AttentionOptions& o, int64_t width, Device device) {
  if (!(o.dropout >= 0 && o.dropout <= 1)) throw ValueError(message(op, ": dropout ", o.dropout, " is outside [0, 1]"));
  if (o.window < 0) throw ValueError(message(op, ": window ", o.window, " is negative"));
  if (!std::isfinite(o.scale)) throw ValueError(message(op, ": scale ", o.scale, " is not finite"));
  constexpr int64_t far = std::numeric_limits<int64_t>::max() / 4;
  const int64_t farthest = o.window > 0 && o.window < far ? o.window - 1 : far;
  const double scale = o.scale != 0 ? o.scale : width > 0 ? 1 / std::sqrt(static_cast<double>(width)) : 1;
  return {op,
          o.causal ? 0 : -farthest,
          farthest,
          o.block,
          scale,
          o.dropout,
          o.dropout > 0 ? default_generator().next_for(op, device) : DrawKey{}};
}

AttentionProblem problem(const Settings& s, const ConstHeads& q, const ConstHeads& k, const ConstHeads& v,
                         const ConstHeads& mask, const BlockLayout& layout) {
  const double below = std::min(std::nearbyint(s.dropout * 0x1p32), 0x1p32 - 1);  // p = 1 scales by 0 besides
  return {q, k, v, mask, layout, s.nearest, s.farthest, s.scale, s.dropout, static_cast<uint32_t>(below), s.key};
}

Output log_sums_for(const ConstHeads& q, Device device) {
  return output({2, q.batches, q.heads, q.tokens}, q.dtype == DType::float64 ? DType::float64 : DType::float32, device);
}

Dims scores_shape(const ConstHeads& q, const ConstHeads& k) { return {q.batches, q.heads, q.tokens, k.tokens}; }

void check_inputs(const char* op, const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto rank4 = [op](const char* name, const Tensor& x) {
    check_defined(op, name, x);
    if (x.rank() != 4)
      throw ShapeError(
          message(op, ": ", name, " must have 4 axes [batch, heads, tokens, width], not shape ", x.shape()));
  };
  rank4("q", q);
  rank4("k", k);
  rank4("v", v);
  check_floating(op, q, "q");
  check_same(op, q, k, "q", "k");
  check_same(op, q, v, "q", "v");
  if (k.size(0) != q.size(0) || v.size(0) != q.size(0))
    throw ShapeError(message(op, ": batch sizes of q ", q.shape(), ", k ", k.shape(), " and v ", v.shape(), " differ"));
  if (v.size(1) != k.size(1) || v.size(2) != k.size(2))
    throw ShapeError(message(op, ": k ", k.shape(), " and v ", v.shape(), " differ in heads or tokens"));
  if (k.size(3) != q.size(3))
    throw ShapeError(
        message(op, ": q ", q.shape(), " and k ", k.shape(), " differ in width (", q.size(3), " vs ", k.size(3), ")"));
  if (k.size(1) == 0 ? q.size(1) != 0 : q.size(1) % k.size(1) != 0)
    throw ShapeError(
        message(op, ": ", q.size(1), " query heads are not a multiple of ", k.size(1), " key/value heads"));
}

Grads attention_gradient(const Settings& settings, const Saved& s, const Tensor& dy) {
  const Tensor q = s[0], k = s[1], v = s[2], mask = s.constant(5), layout = s.constant(6);
  if (grad_mode() && settings.dropout == 0)
    return dense_attention_backward(q, k, v, dy, settings.scale,
                                    {settings.nearest, settings.farthest, mask, layout, settings.block});
  const Tensor out = s[3], log_sums = s.constant(4);
  const ConstHeads qh = heads(q), kh = heads(k);
  const Output d[3] = {output_in_order_of(q), output_in_order_of(k), output_in_order_of(v)};
  const auto wanted = [&](int i) { return s.wants(i) ? heads(d[i]) : Heads{}; };
  kernel::attention_backward::on(q.device())(
      problem(settings, qh, kh, heads(v), mask_view(settings.op, mask, q, scores_shape(qh, kh)),
              layout_view(settings.op, layout, settings.block, qh, kh, q.device())),
      heads(out), log_sums.data(), heads(dy), wanted(0), wanted(1), wanted(2));
  Grads result(3);
  for (int i = 0; i < 3; ++i)
    if (s.wants(i)) result[static_cast<size_t>(i)] = gradient_unavailable(settings.op, d[i], {q, k, v, dy});
  return result;
}

Grads packed_gradient(const Settings& settings, const Saved& s, const Tensor& dy) {
  const Tensor qkv = s[0], mask = s.constant(3), layout = s.constant(4);
  if (grad_mode() && settings.dropout == 0)
    return {dense_packed_attention_backward(qkv, dy, settings.scale,
                                            {settings.nearest, settings.farthest, mask, layout, settings.block})};
  const Tensor out = s[1], log_sums = s.constant(2);
  const ConstHeads q = part(qkv, 0), k = part(qkv, 1), v = part(qkv, 2);
  const Output d = output_like(qkv);
  kernel::attention_backward::on(qkv.device())(
      problem(settings, q, k, v, mask_view(settings.op, mask, qkv, scores_shape(q, k)),
              layout_view(settings.op, layout, settings.block, q, k, qkv.device())),
      token_major(out), log_sums.data(), token_major(dy), part(d, 0), part(d, 1), part(d, 2));
  return {gradient_unavailable(settings.op, d, {qkv, dy})};
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
  constexpr const char* op = "scaled_dot_product_attention";
  check_inputs(op, q, k, v);
  const ConstHeads qh = heads(q), kh = heads(k), vh = heads(v);
  const ConstHeads mask = mask_view(op, options.mask, q, scores_shape(qh, kh));
  const BlockLayout layout = layout_view(op, options.layout, options.block, qh, kh, q.device());
  const Settings settings = check_options(op, options, qh.width, q.device());
  const Output y = token_major_output({qh.batches, qh.heads, qh.tokens, vh.width}, q.dtype(), q.device());
  const Output log_sums = log_sums_for(qh, q.device());
  kernel::attention_forward::on(q.device())(problem(settings, qh, kh, vh, mask, layout), heads(y), log_sums.data());
  return with_grad(op, y, {q, k, v}, {q, k, v, y, log_sums, options.mask, options.layout},
                   [settings](Saved& s, const Tensor& dy) { return attention_gradient(settings, s, dy); });
}

Tensor packed_attention(const Tensor& qkv, const AttentionOptions& options) {
  constexpr const char* op = "packed_attention";
  check_floating(op, qkv, "qkv");
  if (qkv.rank() != 5 || qkv.size(2) != 3)
    throw ShapeError(message(op, ": qkv must have 5 axes [batch, tokens, 3, heads, width], not shape ", qkv.shape()));
  const ConstHeads q = part(qkv, 0), k = part(qkv, 1), v = part(qkv, 2);
  const ConstHeads mask = mask_view(op, options.mask, qkv, scores_shape(q, k));
  const BlockLayout layout = layout_view(op, options.layout, options.block, q, k, qkv.device());
  const Settings settings = check_options(op, options, q.width, qkv.device());
  const Output y = output({q.batches, q.tokens, q.heads, q.width}, qkv.dtype(), qkv.device());
  const Output log_sums = log_sums_for(q, qkv.device());
  kernel::attention_forward::on(qkv.device())(problem(settings, q, k, v, mask, layout), token_major(y),
                                              log_sums.data());
  return with_grad(op, y, {qkv}, {qkv, y, log_sums, options.mask, options.layout},
                   [settings](Saved& s, const Tensor& dy) { return packed_gradient(settings, s, dy); });
}

}  // namespace tutti
