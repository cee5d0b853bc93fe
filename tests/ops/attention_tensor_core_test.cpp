// Attention of what has a path of its own on GPUs (tensor cores up to width 256, multiply-adds beyond), 16-bit numbers
// and float32 that may be rounded to TF32, against the same in wider numbers, and wide against narrow.
#include <cmath>
#include <limits>

#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/generator.h"
#include "tutti/core/precision.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/attention.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/join.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// What is multiplied, and to what results come close. 16-bit numbers: the weights and the gradients of the scores are
/// rounded, and then the results. TF32: both factors of every product are, each by 2^-11 of itself at most.
struct Kind {
  const char* name;
  DType dtype, wider;
  bool tf32;
  double tolerance;
};
constexpr Kind kinds[] = {{"bfloat16", DType::bfloat16, DType::float32, false, 1e-2},
                          {"float16", DType::float16, DType::float32, false, 2e-3},
                          {"TF32", DType::float32, DType::float64, true, 0x1p-10}};

/// The result, and the gradients of q, k and v.
Tensors run(const Tensors& qkv, const Tensor& dy, const AttentionOptions& options, bool tf32 = false) {
  manual_seed(3);
  set_allow_tf32(tf32);
  Tensors x;
  for (const Tensor& t : qkv) x.push_back(t.detach().requires_grad_());
  const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], options);
  Tensors all = grad({y}, x, {dy});
  all.insert(all.begin(), y.detach());
  set_allow_tf32(false);
  return all;
}

struct Case {
  Dims q, k;
  int64_t v_width;
  AttentionOptions options;
};

void compare(const Case& c) {
  for (const Kind& kind : kinds)
    for (const Layout layout : {Layout::contiguous, Layout::sliced}) {
      INFO(kind.name << (layout == Layout::sliced ? " sliced q " : " q ") << to_string(c.q) << " k " << to_string(c.k)
                     << " v " << c.v_width);
      const auto input = [&](const Dims& s, uint64_t seed) {
        return with_layout(random_tensor(s, kind.dtype, seed), layout);
      };
      const Tensors x{input(c.q, 1), input(c.k, 2), input({c.k[0], c.k[1], c.k[2], c.v_width}, 3)};
      const Tensor dy = input({c.q[0], c.q[1], c.q[2], c.v_width}, 4);
      AttentionOptions narrow = c.options, wider = c.options;
      if (narrow.mask.defined() && narrow.mask.dtype() != DType::boolean) {
        narrow.mask = to(narrow.mask, kind.dtype);
        wider.mask = to(narrow.mask, kind.wider);
      }
      Tensors wide;
      for (const Tensor& t : x) wide.push_back(to(t, kind.wider));
      const Tensors got = run(x, dy, narrow, kind.tf32), want = run(wide, to(dy, kind.wider), wider);
      for (size_t i = 0; i < 4; ++i) check_close(got[i], Array(want[i]), kind.tolerance);
    }
}

/// The variances of the result and of the gradients about those in float64 (x and dy are) if both factors of every
/// product are rounded to TF32: to first order, roundings being independent and each uniform within 2^-11 of its
/// number.
Tensors tf32_variances(const Tensors& x, const Tensor& dy, const AttentionOptions& options) {
  constexpr double product = 2 * 0x1p-22 / 3;  // of one, relative to its square
  const Tensor &q = x[0], &k = x[1], &v = x[2];
  const auto turned = [](const Tensor& t) { return transpose(t, -1, -2); };
  const auto row_sum = [](const Tensor& t) { return sum(t, -1, true); };
  const Tensor identity = expand(eye(k.size(2), {DType::float64}), {k.size(0), k.size(1), k.size(2), k.size(2)});
  const Tensor p = scaled_dot_product_attention(q, k, identity, options), p2 = square(p);
  const Tensor dp = matmul(dy, turned(v)), dp_less_delta = dp - row_sum(dp * p), ds2 = square(p * dp_less_delta);
  const double scale2 = options.scale != 0 ? options.scale * options.scale : 1 / static_cast<double>(q.size(3));
  const Tensor of_score = matmul(square(q), turned(square(k))) * (product * scale2);
  const Tensor of_p = p2 * (of_score + row_sum(p2 * of_score));  // its own, and that of what it is divided by
  const Tensor of_p_product = of_p + p2 * product, of_y = matmul(of_p_product, square(v));
  const Tensor of_dp = matmul(square(dy), turned(square(v))) * product, of_delta = row_sum(square(dy) * of_y);
  const Tensor of_ds_product = of_p * square(dp_less_delta) + p2 * (of_dp + of_delta) + ds2 * product;
  return {of_y, matmul(of_ds_product, square(k)) * scale2, matmul(turned(of_ds_product), square(q)) * scale2,
          matmul(turned(of_p_product), square(dy))};
}

/// Zeros behind the channels, up to `width`.
Tensor padded(const Tensor& x, int64_t width) {
  return cat({x, zeros({x.size(0), x.size(1), x.size(2), width - x.size(3)}, {.dtype = x.dtype()})}, 3);
}

}  // namespace

TEST_CASE("attention on tensor cores: sizes across tiles, against wider numbers") {
  compare({{1, 2, 1, 16}, {1, 2, 1, 16}, 16, {}});
  compare({{1, 1, 31, 31}, {1, 1, 33, 31}, 1, {.causal = true}});
  compare({{2, 1, 33, 64}, {2, 1, 131, 64}, 64, {.window = 40}});
  compare({{1, 4, 130, 40}, {1, 2, 67, 40}, 72, {.causal = true}});
  compare({{1, 1, 70, 128}, {1, 1, 101, 128}, 100, {}});
  compare({{1, 1, 65, 130}, {1, 1, 40, 130}, 256, {.causal = true}});
  compare({{1, 1, 3, 1}, {1, 1, 70, 1}, 17, {.scale = 0.3}});
}

TEST_CASE("attention on tensor cores: masks, layouts and dropout, against wider numbers") {
  const Tensor seen = gt(random_tensor({2, 1, 70, 90}, DType::float32, 7), -0.3);
  compare({{2, 2, 70, 24}, {2, 2, 90, 24}, 24, {.mask = seen}});
  compare({{1, 2, 70, 24}, {1, 1, 90, 24}, 24, {.mask = random_tensor({70, 90}, DType::float32, 8), .causal = true}});
  compare({{1, 2, 70, 24}, {1, 2, 90, 24}, 24, {.mask = random_tensor({2, 1, 90}, DType::float32, 8)}});
  const Tensor layout = Tensor::from(std::vector<bool>{true, false, true, false, false, true}, {2, 3});
  compare({{1, 2, 80, 16}, {1, 2, 140, 16}, 16, {.layout = layout, .block = 48}});
  compare({{1, 2, 70, 16}, {1, 2, 92, 16}, 16, {.dropout = 0.3}});
  compare({{1, 2, 70, 16}, {1, 2, 91, 16}, 130, {.causal = true, .dropout = 0.3}});
}

TEST_CASE("attention on tensor cores: beyond width 256 it is the same as with fewer channels and zeros behind") {
  for (const Kind& kind : kinds) {
    INFO(kind.name);
    const DType dtype = kind.dtype;
    const Tensors x{random_tensor({1, 2, 70, 48}, dtype, 1), random_tensor({1, 1, 90, 48}, dtype, 2),
                    random_tensor({1, 1, 90, 40}, dtype, 3)};
    const Tensor dy = random_tensor({1, 2, 70, 40}, dtype, 4);
    const AttentionOptions options{.causal = true, .dropout = 0.2, .scale = 0.2};
    const Tensors narrow = run(x, dy, options, kind.tf32);
    Tensors wide = x;
    for (Tensor& t : wide) t = padded(t, 264);
    const Tensors all = run(wide, padded(dy, 264), options, kind.tf32);
    for (size_t i = 0; i < 4; ++i)
      check_close(slice(all[i], 3, 0, narrow[i].size(3)), Array(narrow[i]), kind.tolerance);
  }
}

TEST_CASE("attention on tensor cores: more pieces of work than blocks, and queries that see nothing") {
  compare({{2, 300, 1, 8}, {2, 300, 2, 8}, 8, {}});
  compare({{1, 1, 100, 8}, {1, 1, 20, 8}, 8, {.causal = true}});
}

TEST_CASE("attention on tensor cores: infinity and NaN behind a mask reach nothing, and elsewhere they do") {
  for (const Kind& kind : kinds)
    for (const int64_t width : {24, 130}) {
      const DType dtype = kind.dtype;
      const int64_t T = 70;
      std::vector<bool> seen(static_cast<size_t>(T * T), true);
      for (int64_t i = 0; i < T; ++i) seen[static_cast<size_t>(i * T + 2)] = seen[static_cast<size_t>(T + i)] = false;
      const AttentionOptions options{.mask = Tensor::from(seen, {T, T})};
      const Dims s{1, 1, T, width};
      const auto with = [&](double bad) {
        Tensors x{random_tensor(s, dtype, 1), random_tensor(s, dtype, 2), random_tensor(s, dtype, 3)};
        fill_(select(x[0], 2, 1), bad);
        for (size_t i : {size_t{1}, size_t{2}}) fill_(select(x[i], 2, 2), bad);
        return run(x, random_tensor(s, dtype, 4), options, kind.tf32);
      };
      const Tensors clean = with(0.25);
      for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        INFO(kind.name << " width " << width << ", " << bad);
        const Tensors dirty = with(bad);
        for (size_t i = 0; i < 4; ++i) check_close(dirty[i], Array(clean[i]), kind.tolerance);
      }
      Tensors x{random_tensor(s, dtype, 1), random_tensor(s, dtype, 2), random_tensor(s, dtype, 3)};
      fill_(slice(select(x[2], 2, 40), 2, 0, 1), -std::numeric_limits<double>::infinity());
      const Tensor y = run(x, random_tensor(s, dtype, 4), {.causal = true}, kind.tf32)[0];
      CHECK(std::isfinite(y.at({0, 0, 39, 0})));
      CHECK(y.at({0, 0, 40, 0}) == -std::numeric_limits<double>::infinity());
      CHECK(std::isfinite(y.at({0, 0, 69, 1})));
    }
}

TEST_CASE("attention in TF32: no number is further off than rounding what is multiplied explains") {
  struct Sizes {
    int64_t queries, keys, width, v_width;
  };
  for (const Sizes& s : {Sizes{1, 1, 1, 1},
                         {31, 33, 7, 64},
                         {33, 31, 64, 7},
                         {37, 67, 65, 65},
                         {67, 37, 256, 256},
                         {31, 37, 128, 1},
                         {33, 1, 1, 128},
                         {1, 131, 65, 7}})
    for (const bool causal : {false, true}) {
      INFO(s.queries << " queries, " << s.keys << " keys, width " << s.width << ", v " << s.v_width
                     << (causal ? ", causal" : ""));
      const AttentionOptions options{.causal = causal};
      const Tensors x{random_tensor({1, 1, s.queries, s.width}, DType::float32, 1, -2, 2),
                      random_tensor({1, 1, s.keys, s.width}, DType::float32, 2, -2, 2),
                      random_tensor({1, 1, s.keys, s.v_width}, DType::float32, 3, -2, 2)};
      const Tensor dy = random_tensor({1, 1, s.queries, s.v_width}, DType::float32, 4, -2, 2);
      Tensors wide;
      for (const Tensor& t : x) wide.push_back(to(t, DType::float64));
      const Tensor wide_dy = to(dy, DType::float64);
      const Tensors got = run(x, dy, options, true), want = run(wide, wide_dy, options);
      const Tensors variances = tf32_variances(wide, wide_dy, options);
      for (size_t i = 0; i < 4; ++i) {
        const Array a(got[i]), b(want[i]), variance(variances[i]);
        int64_t off = 0;  // by 5 standard deviations and what sums in float32 may have
        for (int64_t n = 0; n < a.numel(); ++n) off += !(std::abs(a[n] - b[n]) <= 5 * std::sqrt(variance[n]) + 1e-5);
        INFO("result " << i);
        CHECK(off == 0);
      }
    }
}

TEST_CASE("attention in TF32 rounds to nearest") {
  // Queries and keys have no channel in common: two weights of 1/2. The gradients of the scores are 1/2 and -1/2.
  constexpr float up = 1 + 0x1p-11f, down = 1 + 0x1.ffcp-12f;
  const Tensors x{Tensor::from<float>({up, down, 0, 0}, {1, 1, 1, 4}),
                  Tensor::from<float>({0, 0, up, -down, 0, 0, -up, up}, {1, 1, 2, 4}),
                  Tensor::from<float>({2, up, -up, 0, 0, down, -down, 0}, {1, 1, 2, 4})};
  const Tensors got = run(x, Tensor::from<float>({1, 0, 0, up}, {1, 1, 1, 4}), {.scale = 1}, true);
  const bool as_they_are = default_device() == cpu;
  const double u = as_they_are ? up : 1 + 0x1p-10, d = as_they_are ? down : 1;
  const auto check = [](const Tensor& t, const std::vector<double>& want) { CHECK(t.to_vector<double>() == want); };
  check(got[0], {1, (u + d) / 2, -(u + d) / 2, 0});
  check(got[1], {0, 0, u, -(u + d) / 2});
  check(got[2], {u / 2, d / 2, 0, 0, -u / 2, -d / 2, 0, 0});
  check(got[3], {0.5, 0, 0, u / 2, 0.5, 0, 0, u / 2});
  // Scores, and what the gradients of the weights are: sums of which only what the rounding added is left.
  const double left = 512 * (u - 1);
  for (const bool turned : {false, true}) {
    std::vector<float> a{up, 1}, b{512, -512};
    if (turned) std::swap(a, b);
    const double p = 1 / (1 + std::exp(-left)), ds = p * (1 - p);
    const Tensors scores = run({Tensor::from(a, {1, 1, 1, 2}), Tensor::from<float>({b[0], b[1], 0, 0}, {1, 1, 2, 2}),
                                Tensor::from<float>({1, 0}, {1, 1, 2, 1})},
                               ones({1, 1, 1, 1}), {.scale = 1}, true);
    const auto near = [](const Tensor& t, const std::vector<double>& want, double scale) {
      check_close(t * (1 / scale), Array(Tensor::from(want, t.shape()) * (1 / scale)), 0x1p-10);
    };
    near(scores[0], {p}, 1);
    near(scores[1], {ds * b[0], ds * b[1]}, std::abs(b[1]));
    near(scores[2], {ds * a[0], ds * a[1], -ds * a[0], -ds * a[1]}, std::abs(a[1]));
    const Tensors weights =
        run({Tensor::from<float>({1, 0}, {1, 1, 1, 2}), Tensor::from<float>({0, 1, 0, -1}, {1, 1, 2, 2}),
             Tensor::from<float>({b[0], b[1], -b[0], -b[1]}, {1, 1, 2, 2})},
            Tensor::from(a, {1, 1, 1, 2}), {.scale = 1}, true);
    check(weights[1], {0, left});
    check(weights[2], {left / 2, 0, -left / 2, 0});
  }
}

TEST_CASE("attention in TF32 is for GPUs that are told to use it, float32 and widths that tensor cores take") {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const int64_t width : {48, 264}) {
      INFO(tutti::name_of(dtype) << " width " << width);
      const Dims s{1, 2, 37, width};
      const Tensors x{random_tensor(s, dtype, 1), random_tensor(s, dtype, 2), random_tensor(s, dtype, 3)};
      const Tensor dy = random_tensor(s, dtype, 4);
      const AttentionOptions options{.causal = true, .dropout = 0.2};
      const Tensors before = run(x, dy, options), allowed = run(x, dy, options, true),
                    again = run(x, dy, options, true), after = run(x, dy, options);
      for (size_t i = 0; i < 4; ++i) {
        check_identical(before[i], after[i]);
        check_identical(allowed[i], again[i]);
        if (default_device() == cpu || dtype == DType::float64 || width > 256)
          check_identical(before[i], allowed[i]);
        else
          CHECK(before[i].to_vector<double>() != allowed[i].to_vector<double>());
      }
    }
}
