// Fused attention against plain float64 loops.
#include "tutti/ops/attention.h"

#include <cmath>
#include <limits>

#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/core/generator.h"
#include "tutti/core/parallel.h"
#include "tutti/core/philox.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

const double nan_value = std::nan(""), infinite = std::numeric_limits<double>::infinity();

/// Element (b, h, i, j) of a mask that broadcasts; 0 if there is none. Bool becomes 0 and -inf.
double bias_at(const Tensor& mask, const Array& values, const Dims& index) {
  if (!mask.defined()) return 0;
  int64_t at = 0;
  for (int i = 0; i < mask.rank(); ++i) {
    const int64_t k = index[4 - mask.rank() + i];
    at = at * mask.shape()[i] + (mask.shape()[i] == 1 ? 0 : k);
  }
  return mask.dtype() == DType::boolean ? (values[at] != 0 ? 0 : -infinite) : values[at];
}

struct Result {
  Array y, dq, dk, dv;
};

/// The definition, and its gradient if dy has elements. `key` is that of the dropout.
Result reference(const Array& q, const Array& k, const Array& v, const AttentionOptions& o, const Array& dy = {},
                 RandomKey key = {}) {
  const int64_t B = q.shape[0], H = q.shape[1], Tq = q.shape[2], D = q.shape[3];
  const int64_t Hk = k.shape[1], Tk = k.shape[2], Dv = v.shape[3], group = Hk > 0 ? H / Hk : 1;
  const double scale = o.scale != 0 ? o.scale : 1 / std::sqrt(static_cast<double>(D));
  const Array mask = o.mask.defined() ? Array(o.mask) : Array();
  Result r{Array({B, H, Tq, Dv}), Array(q.shape), Array(k.shape), Array(v.shape)};
  std::vector<double> p(static_cast<size_t>(Tk)), kept(p), dp(p);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < Tq; ++i) {
        const int64_t row = (b * H + h) * Tq + i, keys = (b * Hk + h / group) * Tk;
        double top = -infinite, sum = 0;
        for (int64_t j = 0; j < Tk; ++j) {
          const int64_t distance = i + Tk - Tq - j;
          double s = 0;
          for (int64_t c = 0; c < D; ++c) s += q[row * D + c] * k[(keys + j) * D + c];
          const double bias = bias_at(o.mask, mask, {b, h, i, j});
          const bool hidden =
              (o.causal && distance < 0) || (o.window > 0 && std::abs(distance) >= o.window) || bias == -infinite;
          p[static_cast<size_t>(j)] = hidden ? -infinite : s * scale + bias;
          top = std::max(top, p[static_cast<size_t>(j)]);
        }
        if (top == -infinite) continue;
        for (double& x : p) sum += x = std::exp(x - top);
        double delta = 0;
        for (int64_t j = 0; j < Tk; ++j) {
          const auto e = static_cast<uint64_t>(row * Tk + j);
          const bool dropped = o.dropout > 0 && philox(key, e / 4).v[e % 4] < o.dropout * 0x1p32;
          double& weight = p[static_cast<size_t>(j)];
          weight /= sum;
          kept[static_cast<size_t>(j)] = dropped ? 0 : 1 / (1 - o.dropout);
          if (weight == 0) continue;
          double d = 0;
          for (int64_t c = 0; c < Dv; ++c) {
            r.y[row * Dv + c] += weight * kept[static_cast<size_t>(j)] * v[(keys + j) * Dv + c];
            if (!dy.v.empty()) d += dy[row * Dv + c] * v[(keys + j) * Dv + c];
          }
          dp[static_cast<size_t>(j)] = d * kept[static_cast<size_t>(j)];
          delta += weight * dp[static_cast<size_t>(j)];
        }
        if (dy.v.empty()) continue;
        for (int64_t j = 0; j < Tk; ++j) {
          const double weight = p[static_cast<size_t>(j)];
          if (weight == 0) continue;
          const double ds = weight * (dp[static_cast<size_t>(j)] - delta) * scale;
          for (int64_t c = 0; c < D; ++c) {
            r.dq[row * D + c] += ds * k[(keys + j) * D + c];
            r.dk[(keys + j) * D + c] += ds * q[row * D + c];
          }
          for (int64_t c = 0; c < Dv; ++c)
            r.dv[(keys + j) * Dv + c] += weight * kept[static_cast<size_t>(j)] * dy[row * Dv + c];
        }
      }
  return r;
}

/// A mask that hides about a third, and every key of query 1.
Tensor bool_mask(const Dims& shape) {
  const Tensor r = random_tensor(shape, DType::float64, 5, 0, 1);
  std::vector<double> v = r.to_vector<double>();
  std::vector<bool> seen;
  for (size_t i = 0; i < v.size(); ++i) {
    const int64_t query =
        shape.n < 2 || shape[shape.n - 2] == 1 ? 0 : static_cast<int64_t>(i) / shape[shape.n - 1] % shape[shape.n - 2];
    seen.push_back(v[i] > 0.33 && query != 1);
  }
  return Tensor::from(seen, shape);
}
/// The same as numbers to add: some -inf.
Tensor additive_mask(const Dims& shape, DType dtype) {
  const Array hidden(bool_mask(shape));
  Array r(random_tensor(shape, DType::float64, 6));
  for (int64_t i = 0; i < r.numel(); ++i) r[i] = hidden[i] != 0 ? static_cast<float>(r[i]) : -infinite;
  return to(Tensor::from(r.v, shape), dtype);
}

OpTest description(std::vector<std::vector<Dims>> shapes, const AttentionOptions& o) {
  return {.kernels = "attention_forward attention_backward",
          .shapes = std::move(shapes),
          .op =
              [o](const Tensors& x) {
                AttentionOptions options = o;
                if (o.mask.defined() && o.mask.dtype() != DType::boolean)
                  options.mask = additive_mask(o.mask.shape(), x[0].dtype());
                manual_seed(3);
                return scaled_dot_product_attention(x[0], x[1], x[2], options);
              },
          .reference =
              [o](const Arrays& x) {
                return reference(x[0], x[1], x[2], o, {}, {3, 0}).y;
              },
          .half = !o.mask.defined() || o.mask.dtype() == DType::boolean};
}

/// Large: gradients against the loops, in both dtypes, over instruction sets.
void compare(const Dims& q, const Dims& k, int64_t v_width, const AttentionOptions& o) {
  const Dims vs{k[0], k[1], k[2], v_width};
  const auto input = [](const Dims& s, uint64_t seed) { return random_tensor(s, DType::float32, seed, -2, 2); };
  const Array aq(input(q, 1)), ak(input(k, 2)), av(input(vs, 3)), ady(input({q[0], q[1], q[2], v_width}, 4));
  const Result want = reference(aq, ak, av, o, ady, {3, 0});
  for_each_isa([&](const char* isa) {
    for (DType dtype : {DType::float32, DType::float64}) {
      INFO(isa << " " << tutti::name_of(dtype) << " q " << to_string(q) << " k " << to_string(k));
      const auto tensor = [&](const Array& a) { return to(Tensor::from(a.v, a.shape), dtype); };
      Tensor tq = tensor(aq), tk = tensor(ak), tv = tensor(av);
      for (Tensor* t : {&tq, &tk, &tv}) t->requires_grad_();
      AttentionOptions options = o;
      if (o.mask.defined() && o.mask.dtype() != DType::boolean) options.mask = additive_mask(o.mask.shape(), dtype);
      manual_seed(3);
      const Tensor y = scaled_dot_product_attention(tq, tk, tv, options);
      const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
      check_close(y, want.y, tolerance);
      const auto g = grad({y}, {tq, tk, tv}, {tensor(ady)});
      check_close(g[0], want.dq, tolerance);
      check_close(g[1], want.dk, tolerance);
      check_close(g[2], want.dv, tolerance);
    }
  });
}

}  // namespace

TEST_CASE("attention: the definition, its gradient, layouts, dtypes, instruction sets") {
  const Dims q{2, 2, 3, 5}, k{2, 2, 6, 5}, v{2, 2, 6, 3};
  op_test("plain", description({{q, k, v}, {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}}, {}));
  op_test("empty", description({{{0, 2, 3, 4}, {0, 2, 3, 4}, {0, 2, 3, 4}},
                                {{1, 2, 0, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}},
                                {{1, 2, 3, 4}, {1, 2, 0, 4}, {1, 2, 0, 4}},
                                {{1, 0, 3, 4}, {1, 0, 3, 4}, {1, 0, 3, 4}},
                                {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 0}}},
                               {}));
}
TEST_CASE("attention: options, the same way") {
  const Dims q{1, 2, 4, 3}, k{1, 2, 6, 3}, v{1, 2, 6, 2};
  op_test("causal, scale",
          description({{q, k, v}, {{1, 1, 5, 3}, {1, 1, 3, 3}, {1, 1, 3, 2}}}, {.causal = true, .scale = -0.7}));
  op_test("window", description({{q, k, v}}, {.window = 2}));
  op_test("causal window", description({{q, k, v}}, {.causal = true, .window = 3}));
  op_test("bool mask", description({{q, k, v}}, {.mask = bool_mask({4, 6})}));
  op_test("additive mask", description({{q, k, v}}, {.mask = additive_mask({1, 2, 4, 6}, DType::float64)}));
  op_test("key mask", description({{q, k, v}}, {.mask = bool_mask({1, 1, 1, 6})}));
  op_test("fewer key heads", description({{{1, 4, 3, 3}, {1, 2, 4, 3}, {1, 2, 4, 2}}}, {.causal = true}));
  op_test("dropout", description({{q, k, v}}, {.dropout = 0.3}));
}

TEST_CASE("attention: sizes across tiles") {
  compare({1, 2, 49, 32}, {1, 2, 49, 32}, 32, {});
  compare({2, 1, 65, 16}, {2, 1, 131, 16}, 8, {.causal = true});
  compare({1, 2, 131, 5}, {1, 1, 70, 5}, 33, {.causal = true, .window = 20});
  compare({1, 1, 300, 64}, {1, 1, 261, 64}, 64, {.window = 70});
  compare({1, 4, 66, 24}, {1, 2, 200, 24}, 24, {.mask = additive_mask({1, 4, 66, 200}, DType::float64), .scale = 0.3});
  compare({2, 2, 70, 8}, {2, 2, 129, 8}, 8, {.mask = bool_mask({2, 1, 1, 129}), .dropout = 0.25});
  compare({1, 1, 5, 8}, {1, 1, 1300, 8}, 8, {});  // few heads, many keys: in parts
  compare({1, 2, 80, 130}, {1, 2, 80, 130}, 3, {.mask = bool_mask({80, 80}), .causal = true});
}

TEST_CASE("attention: causal aligns to the end") {
  const Tensor v = reshape(arange(0, 4), {1, 1, 4, 1});
  const Tensor y = scaled_dot_product_attention(zeros({1, 1, 2, 1}), zeros({1, 1, 4, 1}), v, {.causal = true});
  CHECK(y.at({0, 0, 0, 0}) == Approx(1));
  CHECK(y.at({0, 0, 1, 0}) == Approx(1.5));
}

TEST_CASE("attention: large scores, and rows of the most negative numbers") {
  const Tensor q = full({1, 1, 2, 1}, 200), k = Tensor::from({100, -100, 99}, {1, 1, 3, 1});
  const Tensor v = Tensor::from({1, 2, 3}, {1, 1, 3, 1});
  CHECK(scaled_dot_product_attention(q, k, v, {.scale = 1}).at({0, 0, 0, 0}) == 1);
  CHECK(scaled_dot_product_attention(q, k, v, {.scale = -1}).at({0, 0, 1, 0}) == 2);
  const Tensor lowest = full({2, 3}, -3.4028234e38);
  CHECK(scaled_dot_product_attention(q, k * 0.0, v, {.mask = lowest}).at({0, 0, 1, 0}) == Approx(2));
}

TEST_CASE("attention: a fully masked row gives zeros, and NaN behind a mask reaches nothing") {
  for_each_isa([](const char* isa) {
    for (DType dtype : {DType::float32, DType::float64}) {
      INFO(isa << " " << tutti::name_of(dtype));
      // Key 2 is NaN in k and v and hidden from everyone; query 1 is NaN and sees nothing.
      const int64_t T = 70, D = 6;
      Array aq(random_tensor({1, 1, T, D}, dtype, 1)), ak(random_tensor({1, 1, T, D}, dtype, 2)),
          av(random_tensor({1, 1, T, D}, dtype, 3));
      std::vector<double> seen(static_cast<size_t>(T * T), 1);
      for (int64_t i = 0; i < T; ++i) seen[static_cast<size_t>(i * T + 2)] = seen[static_cast<size_t>(T + i)] = 0;
      const Tensor mask = to(Tensor::from(seen, {T, T}), DType::boolean);
      const auto tensor = [&](const Array& a) { return to(Tensor::from(a.v, a.shape), dtype).requires_grad_(); };
      const auto run = [&](double bad) {
        for (int64_t c = 0; c < D; ++c) aq[D + c] = ak[2 * D + c] = av[2 * D + c] = bad;
        const Tensor q = tensor(aq), k = tensor(ak), v = tensor(av);
        const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = mask});
        auto g = grad({y}, {q, k, v}, {full(y.shape(), 0.5, {.dtype = dtype})});
        g.push_back(y);
        return g;
      };
      const auto clean = run(0.25);
      for (int64_t c = 0; c < D; ++c) {
        for (size_t i : {size_t{0}, size_t{3}}) CHECK(clean[i].at({0, 0, 1, c}) == 0);
        for (size_t i : {size_t{1}, size_t{2}}) CHECK(clean[i].at({0, 0, 2, c}) == 0);
      }
      for (double bad : {nan_value, infinite}) {
        const auto dirty = run(bad);
        for (size_t i = 0; i < 4; ++i) check_close(dirty[i], Array(clean[i]), dtype == DType::float64 ? 1e-14 : 1e-6);
      }
      // A visible NaN is not swallowed, and causal hides it from earlier queries.
      aq = Array(random_tensor({1, 1, T, D}, dtype, 1));
      ak = Array(random_tensor({1, 1, T, D}, dtype, 2));
      ak[40 * D] = nan_value;
      av[40 * D] = nan_value;
      const Tensor y =
          scaled_dot_product_attention(tensor(aq), tensor(ak), tensor(Array({1, 1, T, D}, 1)), {.causal = true});
      CHECK(y.at({0, 0, 39, 0}) == Approx(1));
      CHECK(std::isnan(y.at({0, 0, 40, 0})));
      CHECK(std::isnan(y.at({0, 0, 69, 1})));
    }
  });
}

TEST_CASE("attention: the output is laid out (B, T, H, D), and packed is the same, bit for bit") {
  const Tensor qkv = random_tensor({2, 70, 3, 3, 20}, DType::float32, 8).requires_grad_();
  const auto part = [&](int64_t i) { return transpose(select(qkv, 2, i), 1, 2); };
  for (bool causal : {false, true}) {
    const Tensor y = scaled_dot_product_attention(part(0), part(1), part(2), {.causal = causal});
    CHECK(y.strides() == Dims{70 * 60, 20, 60, 1});
    const Tensor packed = packed_attention(qkv, {.causal = causal});
    CHECK(packed.shape() == Dims{2, 70, 3, 20});
    CHECK(packed.is_contiguous());
    check_identical(transpose(y, 1, 2), packed);
    const Tensor dy = random_tensor(packed.shape(), DType::float32, 9);
    check_identical(grad({y}, {qkv}, {transpose(dy, 1, 2)})[0], grad({packed}, {qkv}, {dy})[0]);
  }
}

TEST_CASE("attention: every thread count gives the same bits") {
  const tutti_test::OnCpu here;
  const auto run = [](int threads, const Dims& s, const AttentionOptions& options) {
    set_num_threads(threads);
    manual_seed(1);
    const Tensor q = random_tensor(s, DType::float32, 1).requires_grad_(),
                 k = random_tensor(s, DType::float32, 2).requires_grad_(),
                 v = random_tensor(s, DType::float32, 3).requires_grad_();
    const Tensor y = scaled_dot_product_attention(q, k, v, options);
    auto g = grad({y}, {q, k, v}, {random_tensor(s, DType::float32, 4)});
    g.push_back(y);
    set_num_threads(0);
    return g;
  };
  for (const Dims& s : {Dims{1, 1, 1500, 16}, Dims{3, 5, 70, 16}, Dims{40, 4, 16, 16}})
    for (const AttentionOptions& o : {AttentionOptions{}, AttentionOptions{.causal = true, .dropout = 0.1}}) {
      const auto one = run(1, s, o);
      for (int threads : {2, 6}) {
        const auto more = run(threads, s, o);
        for (size_t i = 0; i < one.size(); ++i) check_identical(one[i], more[i]);
      }
    }
}

TEST_CASE("attention: memory grows linearly with the number of tokens") {
  size_t before = 0;
  for (int64_t T : {1024, 2048, 4096, 8192, 16384}) {
    const AttentionOptions near{.causal = true, .window = 64};  // the same memory, less time
    const Tensor q = zeros({1, 1, T, 32}).requires_grad_(), dy = ones({1, 1, T, 32});
    memory::reset_peak();
    const size_t start = memory::stats().current;
    grad({scaled_dot_product_attention(q, q, q, T > 2048 ? near : AttentionOptions{})}, {q}, {dy});
    const size_t used = memory::stats().peak - start;
    INFO("T " << T << ": " << used << " bytes");
    if (before > 0) CHECK(used <= 2.6 * static_cast<double>(before));
    CHECK(used <= static_cast<size_t>(T) * 32 * 4 * 32 + (size_t{1} << 20));
    before = used;
  }
}

TEST_CASE("attention: dropout") {
  const Tensor q = zeros({1, 1, 2, 8}), k = zeros({1, 1, 20000, 8}), v = ones({1, 1, 20000, 8});
  manual_seed(0);
  CHECK(scaled_dot_product_attention(q, k, v, {.dropout = 0.3}).at({0, 0, 1, 3}) == Approx(1).margin(0.02));
  CHECK(scaled_dot_product_attention(q, k, v, {.dropout = 1}).at({0, 0, 1, 3}) == 0);
}

TEST_CASE("attention: second derivatives by composition, not with dropout") {
  const auto leaf = [](const Dims& s, uint64_t seed) {
    return random_tensor(s, DType::float64, seed).requires_grad_();
  };
  const Tensors x{leaf({1, 2, 3, 2}, 1), leaf({1, 1, 4, 2}, 2), leaf({1, 1, 4, 2}, 3)};
  for (const AttentionOptions& o :
       {AttentionOptions{}, AttentionOptions{.causal = true, .window = 2}, AttentionOptions{.mask = bool_mask({3, 4})},
        AttentionOptions{.mask = additive_mask({3, 4}, DType::float64)},
        AttentionOptions{.mask = additive_mask({3, 1}, DType::float64), .window = 2},
        AttentionOptions{.mask = additive_mask({1}, DType::float64), .causal = true}})
    CHECK(gradgradcheck([&](const Tensors& t) { return scaled_dot_product_attention(t[0], t[1], t[2], o); }, x));
  CHECK(gradgradcheck([&](const Tensors& t) { return packed_attention(t[0], {.causal = true}); },
                      {leaf({1, 3, 3, 2, 2}, 4)}));
  const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], {.dropout = 0.5});
  const Tensor g = grad({sum(y)}, {x[0]}, {}, {.create_graph = true})[0];
  REQUIRE_THROWS_AS(sum(g).backward(), AutogradError);
}

TEST_CASE("attention: errors") {
  const Tensor q = zeros({2, 6, 5, 8}), k = zeros({2, 6, 7, 8});
  const auto call = [&](const Tensor& a, const Tensor& b, const Tensor& c, const AttentionOptions& o = {}) {
    scaled_dot_product_attention(a, b, c, o);
  };
  REQUIRE_THROWS_WITH(
      call(zeros({5, 8}), k, k),
      "scaled_dot_product_attention: q must have 4 axes [batch, heads, tokens, width], not shape [5, 8]");
  REQUIRE_THROWS_WITH(call(q, zeros({2, 4, 7, 8}), zeros({2, 4, 7, 8})),
                      "scaled_dot_product_attention: 6 query heads are not a multiple of 4 key/value heads");
  REQUIRE_THROWS_WITH(call(q, zeros({2, 0, 7, 8}), zeros({2, 0, 7, 8})),
                      "scaled_dot_product_attention: 6 query heads are not a multiple of 0 key/value heads");
  REQUIRE_THROWS_WITH(call(q, zeros({2, 6, 7, 4}), k),
                      "scaled_dot_product_attention: q [2, 6, 5, 8] and k [2, 6, 7, 4] differ in width (8 vs 4)");
  REQUIRE_THROWS_WITH(call(q, k, zeros({2, 6, 5, 8})),
                      "scaled_dot_product_attention: k [2, 6, 7, 8] and v [2, 6, 5, 8] differ in heads or tokens");
  REQUIRE_THROWS_WITH(call(q, zeros({1, 6, 7, 8}), k),
                      "scaled_dot_product_attention: batch sizes of q [2, 6, 5, 8], k [1, 6, 7, 8] and v [2, 6, 7, 8] "
                      "differ");
  REQUIRE_THROWS_AS(call(q, zeros({2, 6, 7, 8}, {.dtype = DType::float64}), k), DTypeError);
  REQUIRE_THROWS_WITH(call(zeros({1, 1, 1, 1}, {.dtype = DType::int64}), k, k),
                      "scaled_dot_product_attention: int64 is not a floating dtype");
  REQUIRE_THROWS_WITH(call(q, Tensor(), k), "scaled_dot_product_attention: k is undefined");
  REQUIRE_THROWS_WITH(
      call(q, k, k, {.mask = ones({3, 7})}),
      "scaled_dot_product_attention: mask of shape [3, 7] does not broadcast to the scores' [2, 6, 5, 7]");
  REQUIRE_THROWS_WITH(call(q, k, k, {.mask = zeros({5, 7}, {.dtype = DType::int64})}),
                      "scaled_dot_product_attention: mask must be bool or float32, not int64");
  REQUIRE_THROWS_WITH(call(q, k, k, {.mask = zeros({5, 7}).requires_grad_()}),
                      "scaled_dot_product_attention: the mask's gradient is not computed; pass mask.detach()");
  REQUIRE_THROWS_WITH(call(q, k, k, {.dropout = 1.5}), "scaled_dot_product_attention: dropout 1.5 is outside [0, 1]");
  REQUIRE_THROWS_WITH(call(q, k, k, {.window = -2}), "scaled_dot_product_attention: window -2 is negative");
  REQUIRE_THROWS_WITH(call(q, k, k, {.scale = infinite}), "scaled_dot_product_attention: scale inf is not finite");
  REQUIRE_THROWS_WITH(packed_attention(zeros({2, 4, 2, 1, 8})),
                      "packed_attention: qkv must have 5 axes [batch, tokens, 3, heads, width], not shape [2, 4, 2, 1, "
                      "8]");
}
