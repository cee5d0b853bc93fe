// Attention of 16-bit numbers, which has a path of its own on GPUs (tensor cores up to width 256, multiply-adds
// beyond), against the same in float32, and wide against narrow.
#include <cmath>
#include <limits>

#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/generator.h"
#include "tutti/ops/attention.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/join.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// The result, and the gradients of q, k and v.
Tensors run(const Tensors& qkv, const Tensor& dy, const AttentionOptions& options) {
  manual_seed(3);
  Tensors x;
  for (const Tensor& t : qkv) x.push_back(t.detach().requires_grad_());
  const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], options);
  Tensors all = grad({y}, x, {dy});
  all.insert(all.begin(), y.detach());
  return all;
}

struct Case {
  Dims q, k;
  int64_t v_width;
  AttentionOptions options;
};

void compare(const Case& c) {
  for (const DType dtype : {DType::bfloat16, DType::float16})
    for (const Layout layout : {Layout::contiguous, Layout::sliced}) {
      INFO(tutti::name_of(dtype) << (layout == Layout::sliced ? " sliced q " : " q ") << to_string(c.q) << " k "
                                 << to_string(c.k) << " v " << c.v_width);
      const auto input = [&](const Dims& s, uint64_t seed) {
        return with_layout(random_tensor(s, dtype, seed), layout);
      };
      const Tensors x{input(c.q, 1), input(c.k, 2), input({c.k[0], c.k[1], c.k[2], c.v_width}, 3)};
      const Tensor dy = input({c.q[0], c.q[1], c.q[2], c.v_width}, 4);
      AttentionOptions half = c.options, single = c.options;
      if (half.mask.defined() && half.mask.dtype() != DType::boolean) {
        half.mask = to(half.mask, dtype);
        single.mask = to(half.mask, DType::float32);
      }
      Tensors wide;
      for (const Tensor& t : x) wide.push_back(to(t, DType::float32));
      const Tensors got = run(x, dy, half), want = run(wide, to(dy, DType::float32), single);
      // The weights and the gradients of the scores are rounded, and then the results.
      for (size_t i = 0; i < 4; ++i) check_close(got[i], Array(want[i]), dtype == DType::bfloat16 ? 1e-2 : 2e-3);
    }
}

/// Zeros behind the channels, up to `width`.
Tensor padded(const Tensor& x, int64_t width) {
  return cat({x, zeros({x.size(0), x.size(1), x.size(2), width - x.size(3)}, {.dtype = x.dtype()})}, 3);
}

}  // namespace

TEST_CASE("attention of 16-bit numbers: sizes across tiles, against float32") {
  compare({{1, 2, 1, 16}, {1, 2, 1, 16}, 16, {}});
  compare({{1, 1, 31, 31}, {1, 1, 33, 31}, 1, {.causal = true}});
  compare({{2, 1, 33, 64}, {2, 1, 131, 64}, 64, {.window = 40}});
  compare({{1, 4, 130, 40}, {1, 2, 67, 40}, 72, {.causal = true}});
  compare({{1, 1, 70, 128}, {1, 1, 101, 128}, 100, {}});
  compare({{1, 1, 65, 130}, {1, 1, 40, 130}, 256, {.causal = true}});
  compare({{1, 1, 3, 1}, {1, 1, 70, 1}, 17, {.scale = 0.3}});
}

TEST_CASE("attention of 16-bit numbers: masks, layouts and dropout, against float32") {
  const Tensor seen = gt(random_tensor({2, 1, 70, 90}, DType::float32, 7), -0.3);
  compare({{2, 2, 70, 24}, {2, 2, 90, 24}, 24, {.mask = seen}});
  compare({{1, 2, 70, 24}, {1, 1, 90, 24}, 24, {.mask = random_tensor({70, 90}, DType::float32, 8), .causal = true}});
  compare({{1, 2, 70, 24}, {1, 2, 90, 24}, 24, {.mask = random_tensor({2, 1, 90}, DType::float32, 8)}});
  const Tensor layout = Tensor::from(std::vector<bool>{true, false, true, false, false, true}, {2, 3});
  compare({{1, 2, 80, 16}, {1, 2, 140, 16}, 16, {.layout = layout, .block = 48}});
  compare({{1, 2, 70, 16}, {1, 2, 92, 16}, 16, {.dropout = 0.3}});
  compare({{1, 2, 70, 16}, {1, 2, 91, 16}, 130, {.causal = true, .dropout = 0.3}});
}

TEST_CASE("attention of 16-bit numbers: beyond width 256 it is the same as with fewer channels and zeros behind") {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    INFO(tutti::name_of(dtype));
    const Tensors x{random_tensor({1, 2, 70, 48}, dtype, 1), random_tensor({1, 1, 90, 48}, dtype, 2),
                    random_tensor({1, 1, 90, 40}, dtype, 3)};
    const Tensor dy = random_tensor({1, 2, 70, 40}, dtype, 4);
    const AttentionOptions options{.causal = true, .dropout = 0.2, .scale = 0.2};
    const Tensors narrow = run(x, dy, options);
    Tensors wide = x;
    for (Tensor& t : wide) t = padded(t, 264);
    const Tensors all = run(wide, padded(dy, 264), options);
    const double tolerance = dtype == DType::bfloat16 ? 1e-2 : 2e-3;
    for (size_t i = 0; i < 4; ++i) check_close(slice(all[i], 3, 0, narrow[i].size(3)), Array(narrow[i]), tolerance);
  }
}

TEST_CASE("attention of 16-bit numbers: more pieces of work than blocks, and queries that see nothing") {
  compare({{2, 300, 1, 8}, {2, 300, 2, 8}, 8, {}});
  compare({{1, 1, 100, 8}, {1, 1, 20, 8}, 8, {.causal = true}});
}

TEST_CASE("attention of 16-bit numbers: infinity and NaN behind a mask reach nothing, and elsewhere they do") {
  for (const DType dtype : {DType::bfloat16, DType::float16})
    for (const int64_t width : {24, 130}) {
      const int64_t T = 70;
      std::vector<bool> seen(static_cast<size_t>(T * T), true);
      for (int64_t i = 0; i < T; ++i) seen[static_cast<size_t>(i * T + 2)] = seen[static_cast<size_t>(T + i)] = false;
      const AttentionOptions options{.mask = Tensor::from(seen, {T, T})};
      const Dims s{1, 1, T, width};
      const auto with = [&](double bad) {
        Tensors x{random_tensor(s, dtype, 1), random_tensor(s, dtype, 2), random_tensor(s, dtype, 3)};
        fill_(select(x[0], 2, 1), bad);
        for (size_t i : {size_t{1}, size_t{2}}) fill_(select(x[i], 2, 2), bad);
        return run(x, random_tensor(s, dtype, 4), options);
      };
      const Tensors clean = with(0.25);
      for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        INFO(tutti::name_of(dtype) << " width " << width << ", " << bad);
        const Tensors dirty = with(bad);
        for (size_t i = 0; i < 4; ++i) check_close(dirty[i], Array(clean[i]), dtype == DType::bfloat16 ? 1e-2 : 2e-3);
      }
      Tensors x{random_tensor(s, dtype, 1), random_tensor(s, dtype, 2), random_tensor(s, dtype, 3)};
      fill_(slice(select(x[2], 2, 40), 2, 0, 1), -std::numeric_limits<double>::infinity());
      const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true});
      CHECK(std::isfinite(y.at({0, 0, 39, 0})));
      CHECK(y.at({0, 0, 40, 0}) == -std::numeric_limits<double>::infinity());
      CHECK(std::isfinite(y.at({0, 0, 69, 1})));
    }
}
