// Table: attention (ops/attention.h).
#include <cmath>

#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

using T = Tensors;
using L = const Library&;
using S = const Step&;
using X = const Tensors&;
using P = const Plains&;

// n: causal, window, block, mask's kind (0 none, 1 bool, 2 real), layout; r: scale. in: q, k, v, mask, layout.
void options(Draw& draw, Step& step, int64_t b, int64_t h, int64_t tq, int64_t tk) {
  step.r = {draw.chance(0.6) ? 0 : draw.number(0.125, 1)};
  step.n = {draw.below(2), draw.chance(0.3) ? 1 + draw.below(4) : 0, 0};
  int mask = -1, layout = -1;
  if (draw.chance(0.6)) {
    Shape shape{b, h, tq, tk};
    for (int64_t& s : shape)
      if (draw.chance(0.3)) s = 1;
    while (shape.size() > 1 && draw.chance(0.3)) shape.erase(shape.begin());
    mask = draw.leaf(draw.chance(0.6) ? Kind::boolean : Kind::real, shape);
    draw.program.leaves[mask].grad = draw.values[mask].grad = false;
  }
  if (draw.chance(0.2)) {
    const int64_t block = 1 + draw.below(3);
    step.n[2] = block;
    layout = draw.leaf(Kind::boolean, {(tq + block - 1) / block, (tk + block - 1) / block});
  }
  step.in.push_back(mask);
  step.in.push_back(layout);
}
AttentionOptions given(S s, const Tensor& mask, const Tensor& layout) {
  AttentionOptions o;
  o.mask = mask;
  o.causal = s.n[0];
  o.window = s.n[1];
  o.layout = layout;
  o.block = s.n[2];
  o.scale = s.r[0];
  return o;
}
bool attending(Draw& draw, Step& step) {
  int q = draw.pick(
      Kind::real, [](const Plain& p) { return p.rank() == 4; }, false);
  if (q < 0 || draw.chance(0.5) || !draw.cheap(draw[q].size() * 20))
    q = draw.leaf(Kind::real,
                  {1 + draw.below(2), 1 + draw.below(4), 1 + draw.below(draw.big ? 70 : 5), 1 + draw.below(5)});
  const Shape s = draw[q].shape;
  int64_t heads = 1 + draw.below(std::max<int64_t>(s[1], 1));
  while (s[1] % heads) --heads;
  const int64_t tk = draw.chance(0.05) ? 0 : draw.chance(0.4) ? s[2] : 1 + draw.below(draw.big ? 80 : 6);
  const int64_t width = 1 + draw.below(4);
  if (s[1] == 0 || !draw.cheap(count({s[0], s[1], s[2], tk}) * (s[3] + width) * 2)) return false;
  const int k = draw.shaped(Kind::real, {s[0], heads, tk, s[3]});
  step.in = {q, k, draw.shaped(Kind::real, {s[0], heads, tk, width})};
  options(draw, step, s[0], s[1], s[2], tk);
  return true;
}
bool packing(Draw& draw, Step& step) {
  const Shape s{1 + draw.below(2), 1 + draw.below(draw.big ? 70 : 5), 3, 1 + draw.below(3), 1 + draw.below(4)};
  if (!draw.cheap(s[0] * s[1] * s[1] * s[3] * s[4] * 4)) return false;
  step.in = {draw.shaped(Kind::real, s)};
  options(draw, step, s[0], s[3], s[1], s[1]);
  return true;
}
/// Of q, k, v [B, H, T, D]: [B, T, H, D].
Plain attended(S s, const Plain& q, const Plain& k, const Plain& v, const Plain& mask, const Plain& layout) {
  const int64_t tq = q.shape[2], tk = k.shape[2], width = q.shape[3],
                per_head = q.shape[1] / std::max<int64_t>(k.shape[1], 1);
  const double scale = s.r[0] != 0 ? s.r[0] : width ? 1 / std::sqrt(static_cast<double>(width)) : 1;
  const auto seen = [&](int64_t i, int64_t j, const Index& score) {
    const int64_t at = i + tk - tq;
    if (s.n[0] && j > at) return false;
    if (s.n[1] && std::abs(at - j) >= s.n[1]) return false;
    if (layout.defined() && value(layout({i / s.n[2], j / s.n[2]})) == 0) return false;
    return !mask.defined() || mask.kind != Kind::boolean || value(pulled(mask, score)) != 0;
  };
  // sum(e v) / sum(e), not sum((e / sum(e)) v): the same number, but the gradient of a score is then dp - dout . out as
  // in fused kernels, whose rounding differs (Dao et al. 2022).
  const Shape rows{q.shape[0], q.shape[1], tq};
  std::map<int64_t, std::vector<std::pair<int64_t, Number>>> powers;  // by row: keys that are seen
  std::map<int64_t, Number> sums;
  each(rows, [&](const Index& r) {
    std::vector<Number> scores;
    std::vector<int64_t> keys;
    double top = -INFINITY;
    for (int64_t j = 0; j < tk; ++j) {
      const Index at{r[0], r[1], r[2], j};
      if (!seen(r[2], j, at)) continue;
      std::vector<Number> terms;
      for (int64_t d = 0; d < width; ++d) terms.push_back(q({r[0], r[1], r[2], d}) * k({r[0], r[1] / per_head, j, d}));
      Number score = total(terms) * constant(scale);
      if (mask.defined() && mask.kind == Kind::real) score = score + pulled(mask, at);
      scores.push_back(score);
      keys.push_back(j);
      top = std::max(top, value(score));
    }
    // Backward has the weights from the logarithm of their sum, which is rounded as a number of its own size.
    const Number rounded = scores.empty() ? constant(0) : constant(top) * constant(1);
    const Number off = scores.empty() ? constant(1) : exp(rounded - constant(top));
    for (Number& x : scores) x = exp(x - constant(top));
    for (size_t i = 0; i < scores.size(); ++i) powers[flat(rows, r)].emplace_back(keys[i], scores[i]);
    sums[flat(rows, r)] = total(scores) * off;
  });
  return made({q.shape[0], tq, q.shape[1], v.shape[3]}, [&](const Index& i) {
    const int64_t r = flat(rows, {i[0], i[2], i[1]});
    std::vector<Number> terms;
    for (const auto& [j, e] : powers[r]) terms.push_back(e * v({i[0], i[2] / per_head, j, i[3]}));
    return terms.empty() ? constant(0) : total(terms) / sums[r];
  });
}
/// [B, H, T, D], laid out [B, T, H, D].
Plain heads_first(const Plain& x) {
  return looked_at(x, {x.shape[0], x.shape[2], x.shape[1], x.shape[3]}, [&](const Index& i) {
    return flat(x.shape, {i[0], i[2], i[1], i[3]});
  });
}
/// Part 0, 1 or 2 of [B, T, 3, H, D] as [B, H, T, D].
Plain part(const Plain& x, int64_t which) {
  return looked_at(x, {x.shape[0], x.shape[3], x.shape[1], x.shape[4]}, [&](const Index& i) {
    return flat(x.shape, {i[0], i[2], which, i[1], i[3]});
  });
}

}  // namespace

std::vector<Operation> attention_operations() {
  const Operation::Breaks floating{.floating = true};
  return {
      {"scaled_dot_product_attention",
       attending,
       [](L, S s, X x) { return T{scaled_dot_product_attention(x[0], x[1], x[2], given(s, x[3], x[4]))}; },
       [](S s, P x) { return Plains{heads_first(attended(s, x[0], x[1], x[2], x[3], x[4]))}; },
       {},
       floating,
       6},
      {"packed_attention",
       packing,
       [](L, S s, X x) { return T{packed_attention(x[0], given(s, x[1], x[2]))}; },
       [](S s, P x) { return Plains{attended(s, part(x[0], 0), part(x[0], 1), part(x[0], 2), x[1], x[2])}; },
       {},
       floating,
       3},
  };
}

}  // namespace differential
