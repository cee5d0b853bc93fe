// Table: convolution and pooling (ops/conv.h, ops/pool.h), einsum (ops/einsum.h).
#include "differential/family.h"

using namespace tutti;

namespace differential {
namespace {

using T = Tensors;
using L = const Library&;
using S = const Step&;
using X = const Tensors&;
using P = const Plains&;

/// n: groups, then stride, padding and dilation in both directions.
struct Geometry {
  int64_t groups;
  Size2d stride, padding, dilation;
  explicit Geometry(S s) : groups(s.n[0]), stride(s.n[1], s.n[2]), padding(s.n[3], s.n[4]), dilation(s.n[5], s.n[6]) {}
};
int64_t fitting(int64_t n, int64_t size, int64_t stride, int64_t padding, int64_t dilation) {
  const int64_t room = n + 2 * padding - dilation * (size - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

/// An image and a filter for it.
bool convolving(Draw& draw, Step& step) {
  const int x =
      draw.shaped(Kind::real, {1 + draw.below(2), 2 * (1 + draw.below(2)), 2 + draw.below(4), 2 + draw.below(4)});
  const int64_t groups = 1 + draw.below(2);
  const Shape w{groups * (1 + draw.below(2)), draw[x].shape[1] / groups, 1 + draw.below(2), 1 + draw.below(2)};
  step.in = {x, draw.shaped(Kind::real, w), draw.chance(0.5) ? draw.shaped(Kind::real, {w[0]}) : -1};
  step.n = {groups, 1 + draw.below(2), 1 + draw.below(2), draw.below(2), draw.below(2), 1, 1 + draw.below(2)};
  const Geometry g(step);
  return fitting(draw[x].shape[2], w[2], g.stride.h, g.padding.h, g.dilation.h) > 0 &&
         fitting(draw[x].shape[3], w[3], g.stride.w, g.padding.w, g.dilation.w) > 0;
}
Plains convolved(S s, P in) {
  const Geometry g(s);
  const Plain &x = in[0], &w = in[1];
  const Shape shape{x.shape[0], w.shape[0], fitting(x.shape[2], w.shape[2], g.stride.h, g.padding.h, g.dilation.h),
                    fitting(x.shape[3], w.shape[3], g.stride.w, g.padding.w, g.dilation.w)};
  return {made(shape, [&](const Index& i) {
    std::vector<Number> terms;
    each({w.shape[1], w.shape[2], w.shape[3]}, [&](const Index& k) {
      const int64_t channel = i[1] / (w.shape[0] / g.groups) * w.shape[1] + k[0];
      const int64_t row = i[2] * g.stride.h + k[1] * g.dilation.h - g.padding.h;
      const int64_t col = i[3] * g.stride.w + k[2] * g.dilation.w - g.padding.w;
      if (row >= 0 && row < x.shape[2] && col >= 0 && col < x.shape[3])
        terms.push_back(x({i[0], channel, row, col}) * w({i[1], k[0], k[1], k[2]}));
    });
    const Number sum = total(terms);
    return in[2].defined() ? sum + in[2]({i[1]}) : sum;
  })};
}

/// n as above (groups are not looked at), then the kernel.
bool pooling(Draw& draw, Step& step) {
  const int x = draw.shaped(Kind::real, {1 + draw.below(2), 1 + draw.below(2), 2 + draw.below(4), 2 + draw.below(4)});
  const int64_t h = 1 + draw.below(2), w = 1 + draw.below(2);
  step.in = {x};
  step.n = {0, 1 + draw.below(3), 1 + draw.below(3), draw.below(h), draw.below(w), 1, 1, h, w};
  return true;
}
PoolOptions options(S s) {
  const Geometry g(s);
  return {.stride = g.stride, .padding = g.padding, .dilation = g.dilation};
}
template <bool largest>
Plains pooled(S s, P in) {
  const Geometry g(s);
  const Plain& x = in[0];
  const Size2d k{s.n[7], s.n[8]};
  const Shape shape{x.shape[0], x.shape[1], fitting(x.shape[2], k.h, g.stride.h, g.padding.h, 1),
                    fitting(x.shape[3], k.w, g.stride.w, g.padding.w, 1)};
  return {made(shape, [&](const Index& i) {
    std::vector<Number> window;
    each({k.h, k.w}, [&](const Index& a) {
      const int64_t row = i[2] * g.stride.h + a[0] - g.padding.h, col = i[3] * g.stride.w + a[1] - g.padding.w;
      if (row >= 0 && row < x.shape[2] && col >= 0 && col < x.shape[3]) window.push_back(x({i[0], i[1], row, col}));
    });
    if (!largest) return total(window) / integer(k.h * k.w);
    Number top = window[0];
    for (size_t n = 1; n < window.size(); ++n)
      if (order(window[n], top) > 0) top = window[n];
    return top;
  })};
}

// Equations of two operands of two or three axes, and of one.
const char* const equations[] = {"ij,jk->ik", "ij,kj->ki",  "ij,ij->j", "ij,ij->",
                                 "ij,jk->k",  "ij,jk->ijk", "ij,kl->jl"};
const char* const of_one[] = {"ij->j", "ij->i", "ij->"};  // (where nothing is summed over: permute)
bool products(Draw& draw, Step& step) {
  const int a = draw.real([](const Plain& p) { return p.rank() == 2 && p.size() <= 64; });
  if (draw[a].rank() != 2 || draw[a].size() > 64) return false;
  step.n = {draw.below(7)};
  const std::string e = equations[step.n[0]];
  Shape shape;
  for (char c : e.substr(3, 2)) shape.push_back(c == 'i' || c == 'j' ? draw[a].shape[c - 'i'] : 1 + draw.below(4));
  step.in = {a, draw.shaped(Kind::real, shape)};
  return true;
}
bool one_operand(Draw& draw, Step& step) {
  const int a = draw.real([](const Plain& p) { return p.rank() == 2; });
  step.in = {a};
  step.n = {draw.below(3)};
  return draw[a].rank() == 2;
}
/// Every combination of the letters.
Plains summed(const std::string& equation, P x) {
  std::map<char, int64_t> size;
  std::string labels[2];
  for (size_t k = 0; k < x.size(); ++k) {
    labels[k] = equation.substr(3 * k, 2);
    for (size_t i = 0; i < 2; ++i) size[labels[k][i]] = x[k].shape[i];
  }
  const std::string out = equation.substr(equation.find('>') + 1);
  Shape shape, rest;
  std::string inner;
  for (char c : out) shape.push_back(size[c]);
  for (const auto& [c, n] : size)
    if (out.find(c) == std::string::npos) {
      inner += c;
      rest.push_back(n);
    }
  return {made(shape, [&](const Index& i) {
    std::vector<Number> terms;
    std::map<char, int64_t> at;
    for (size_t k = 0; k < i.size(); ++k) at[out[k]] = i[k];
    each(rest, [&](const Index& j) {
      for (size_t k = 0; k < j.size(); ++k) at[inner[k]] = j[k];
      Number term = x[0]({at[labels[0][0]], at[labels[0][1]]});
      if (x.size() > 1) term = term * x[1]({at[labels[1][0]], at[labels[1][1]]});
      terms.push_back(term);
    });
    return total(terms);
  })};
}

}  // namespace

std::vector<Operation> image_operations() {
  const Operation::Breaks floating{.floating = true};
  return {
      {"conv2d",
       convolving,
       [](L, S s, X x) {
         const Geometry g(s);
         return T{conv2d(x[0], x[1], x[2],
                         {.stride = g.stride, .padding = g.padding, .dilation = g.dilation, .groups = g.groups})};
       },
       convolved,
       {},
       floating},
      {"max_pool2d",
       pooling,
       [](L, S s, X x) {
         return T{max_pool2d(x[0], {s.n[7], s.n[8]}, options(s))};
       },
       pooled<true>,
       {},
       floating},
      {"avg_pool2d",
       pooling,
       [](L, S s, X x) {
         return T{avg_pool2d(x[0], {s.n[7], s.n[8]}, options(s))};
       },
       pooled<false>,
       {},
       floating},
      {"einsum",
       products,
       [](L, S s, X x) { return T{einsum(equations[s.n[0]], x[0], x[1])}; },
       [](S s, P x) { return summed(equations[s.n[0]], x); },
       {},
       floating},
      {"einsum",
       one_operand,
       [](L, S s, X x) { return T{einsum(of_one[s.n[0]], x[0])}; },
       [](S s, P x) { return summed(of_one[s.n[0]], x); },
       {},
       floating,
       2},
  };
}

}  // namespace differential
