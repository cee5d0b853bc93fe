// Attention over blocks (AttentionOptions::layout) against the same attention with a mask.
#include <cmath>
#include <ctime>
#include <limits>

#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/core/backend.h"
#include "tutti/core/error.h"
#include "tutti/core/generator.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/attention.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

int64_t blocks(int64_t tokens, int64_t block) { return (tokens + block - 1) / block; }

/// About `share` of the blocks; none of row 1.
Tensor some_blocks(int64_t Tq, int64_t Tk, int64_t block, double share, uint64_t seed = 5) {
  const int64_t rows = blocks(Tq, block), columns = blocks(Tk, block);
  const Tensor layout = lt(random_tensor({rows, columns}, DType::float64, seed, 0, 1), share);
  if (rows > 1) fill_(select(layout, 0, 1), 0);
  return layout;
}

/// The same as a mask [Tq, Tk].
Tensor mask_of(const Tensor& layout, int64_t block, int64_t Tq, int64_t Tk) {
  const auto visited = layout.to_vector<double>();
  std::vector<bool> mask(static_cast<size_t>(Tq * Tk));
  for (int64_t i = 0; i < Tq; ++i)
    for (int64_t j = 0; j < Tk; ++j)
      mask[static_cast<size_t>(i * Tk + j)] = visited[static_cast<size_t>(i / block * layout.size(1) + j / block)] != 0;
  return Tensor::from(mask, {Tq, Tk});
}

Tensor leaf(const Dims& shape, DType dtype, uint64_t seed) {
  return random_tensor(shape, dtype, seed, -2, 2).requires_grad_();
}

/// The result and the gradients of q, k and v.
Tensors run(const Dims& q, const Dims& k, DType dtype, const AttentionOptions& options) {
  manual_seed(3);
  const Tensors x{leaf(q, dtype, 1), leaf(k, dtype, 2), leaf(k, dtype, 3)};
  const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], options);
  Tensors all = grad({y}, x, {random_tensor(y.shape(), dtype, 4)});
  all.push_back(y.detach());
  return all;
}

struct Case {
  int64_t heads, kv_heads, Tq, Tk, width, block;
  AttentionOptions options;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {2, 2, 256, 256, 16, 64, {}},
      {1, 1, 600, 600, 8, 64, {.causal = true}},
      {4, 2, 200, 330, 24, 16, {.window = 90}},
      {2, 1, 131, 70, 5, 49, {.causal = true, .window = 40}},
      {1, 1, 300, 513, 32, 128, {.dropout = 0.3}},
      {3, 3, 70, 70, 16, 1, {}},
      {1, 1, 50, 65, 8, 1000, {}},
  };
  return all;
}

}  // namespace

TEST_CASE("attention layout: the same as the mask, bit for bit, forward and backward") {
  for_each_isa([](const char* isa) {
    for (const Case& c : cases())
      for (DType dtype : {DType::float32, DType::float64}) {
        INFO(isa << " " << tutti::name_of(dtype) << " Tq " << c.Tq << " Tk " << c.Tk << " block " << c.block);
        AttentionOptions sparse = c.options, masked = c.options;
        sparse.layout = some_blocks(c.Tq, c.Tk, c.block, 0.4);
        sparse.block = c.block;
        masked.mask = mask_of(sparse.layout, c.block, c.Tq, c.Tk);
        const Dims q{2, c.heads, c.Tq, c.width}, k{2, c.kv_heads, c.Tk, c.width};
        const Tensors got = run(q, k, dtype, sparse), want = run(q, k, dtype, masked);
        for (size_t i = 0; i < 4; ++i) check_identical(got[i], want[i]);
      }
  });
}

TEST_CASE("attention layout: packed, a mask besides, other strides") {
  const int64_t T = 200, block = 32;
  const Tensor layout = some_blocks(T, T, block, 0.5);
  const Tensor mask = gt(random_tensor({2, 1, T, T}, DType::float32, 9), -0.5);
  const Tensor both = logical_and(mask, mask_of(layout, block, T, T));
  const Tensor turned = transpose(clone(transpose(layout, 0, 1)), 0, 1);
  REQUIRE(!turned.is_contiguous());
  const Tensor dy = random_tensor({2, T, 3, 16}, DType::float32, 8);
  const auto packed = [&](const AttentionOptions& options) {
    const Tensor x = leaf({2, T, 3, 3, 16}, DType::float32, 7);
    const Tensor y = packed_attention(x, options);
    return Tensors{y.detach(), grad({y}, {x}, {dy})[0]};
  };
  const Tensors want = packed({.mask = both});
  for (const Tensor& form : {layout, turned}) {
    const Tensors got = packed({.mask = mask, .layout = form, .block = block});
    for (size_t i = 0; i < 2; ++i) check_close(got[i], Array(want[i]), 1e-6);
  }
}

TEST_CASE(
    "attention layout: all blocks are dense attention, rows without a block give zeros and NaN in a block that "
    "nobody visits reaches nothing") {
  const int64_t T = 192;
  const Dims s{1, 2, T, 16};
  const AttentionOptions all{.layout = ones({3, 3}, {.dtype = DType::boolean}), .block = 64};
  const Tensors dense = run(s, s, DType::float32, {}), full_layout = run(s, s, DType::float32, all);
  for (size_t i = 0; i < 4; ++i) check_identical(dense[i], full_layout[i]);

  // Block 2 of the keys is visited by nobody, block 1 of the queries visits none.
  const Tensor layout =
      Tensor::from(std::vector<bool>{true, true, false, false, false, false, true, false, false}, {3, 3});
  Tensors x{random_tensor(s, DType::float32, 1), random_tensor(s, DType::float32, 2),
            random_tensor(s, DType::float32, 3)};
  const auto attend = [&] {
    Tensors leaves;
    for (const Tensor& t : x) leaves.push_back(clone(t).requires_grad_());
    const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], {.layout = layout, .block = 64});
    Tensors all_of = grad({y}, leaves, {ones(s)});
    all_of.push_back(y.detach());
    return all_of;
  };
  const Tensors clean = attend();
  for (int64_t c = 0; c < 16; ++c) {
    CHECK(clean[3].at({0, 1, 100, c}) == 0);
    CHECK(clean[0].at({0, 1, 100, c}) == 0);
    CHECK(clean[1].at({0, 0, 150, c}) == 0);
    CHECK(clean[2].at({0, 0, 150, c}) == 0);
  }
  for (size_t i : {size_t{1}, size_t{2}}) fill_(slice(x[i], 2, 128, 192), std::nan(""));
  fill_(slice(x[0], 2, 64, 128), std::numeric_limits<double>::infinity());
  const Tensors dirty = attend();
  for (size_t i = 0; i < 4; ++i) check_identical(clean[i], dirty[i]);
}

TEST_CASE("attention layout: every thread count gives the same bits") {
  const tutti_test::OnCpu here;
  const Dims s{1, 2, 1500, 16};
  const AttentionOptions options{.layout = some_blocks(1500, 1500, 50, 0.2), .block = 50, .dropout = 0.1};
  set_num_threads(1);
  const Tensors one = run(s, s, DType::float32, options);
  for (int threads : {2, 5}) {
    set_num_threads(threads);
    const Tensors more = run(s, s, DType::float32, options);
    for (size_t i = 0; i < 4; ++i) check_identical(one[i], more[i]);
  }
  set_num_threads(0);
}

TEST_CASE("attention layout: the time falls with the blocks and with the window") {
  const tutti_test::OnCpu here;
  const int64_t T = 2048, n = T / 64;
  const Dims s{1, 1, T, 32};
  const auto seconds = [&](const AttentionOptions& options) {  // of all threads; the best of three
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
      const std::clock_t start = std::clock();
      run(s, s, DType::float32, options);
      synchronize(default_device());
      best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const double dense = seconds({});
  // 1/32 and about 3/32 of the scores (on a device twice that); making the inputs takes time too.
  CHECK(seconds({.layout = to(eye(n), DType::boolean), .block = 64}) < dense / 4);
  CHECK(seconds({.window = 64}) < dense / 3);
}

TEST_CASE("attention layout: second derivatives") {
  const Tensor layout = Tensor::from(std::vector<bool>{true, false, true, false, true, true}, {2, 3});
  const auto options = [&](bool causal) { return AttentionOptions{.causal = causal, .layout = layout, .block = 2}; };
  const Tensors x{leaf({1, 2, 3, 2}, DType::float64, 1), leaf({1, 1, 5, 2}, DType::float64, 2),
                  leaf({1, 1, 5, 2}, DType::float64, 3)};
  for (bool causal : {false, true}) {
    const auto attend = [&](const Tensors& t) {
      return scaled_dot_product_attention(t[0], t[1], t[2], options(causal));
    };
    CHECK(gradcheck(attend, x));
    CHECK(gradgradcheck(attend, x));
    const auto first = grad({sum(attend(x) * attend(x))}, x);
    const auto composed = grad({sum(attend(x) * attend(x))}, x, {}, {.create_graph = true});
    for (size_t i = 0; i < 3; ++i) check_close(composed[i].detach(), Array(first[i]), 1e-12);
  }
  const Tensor square_layout = to(eye(2), DType::boolean);
  CHECK(gradgradcheck([&](const Tensors& t) { return packed_attention(t[0], {.layout = square_layout, .block = 3}); },
                      {leaf({1, 4, 3, 2, 2}, DType::float64, 4)}));
  const AttentionOptions huge{.layout = ones({1, 1}, {.dtype = DType::boolean}),
                              .block = std::numeric_limits<int64_t>::max()};
  CHECK(gradgradcheck([&](const Tensors& t) { return scaled_dot_product_attention(t[0], t[1], t[2], huge); }, x));
}

TEST_CASE("attention layout: errors") {
  const Tensor q = zeros({1, 1, 5, 4}), k = zeros({1, 1, 7, 4});
  const auto call = [&](const AttentionOptions& o) { scaled_dot_product_attention(q, k, k, o); };
  const auto layout = [](const Dims& s) { return ones(s, {.dtype = DType::boolean}); };
  REQUIRE_THROWS_AS(call({.block = 2}), ValueError);
  REQUIRE_THROWS_WITH(call({.block = 2}), "scaled_dot_product_attention: block 2 without a layout");
  REQUIRE_THROWS_AS(call({.layout = layout({3, 4})}), ValueError);
  REQUIRE_THROWS_WITH(call({.layout = layout({3, 4})}),
                      "scaled_dot_product_attention: block is 0; with a layout it must be at least 1");
  REQUIRE_THROWS_WITH(call({.layout = layout({3, 4}), .block = -3}),
                      "scaled_dot_product_attention: block is -3; with a layout it must be at least 1");
  REQUIRE_THROWS_AS(call({.layout = ones({3, 4}), .block = 2}), DTypeError);
  REQUIRE_THROWS_WITH(call({.layout = ones({3, 4}), .block = 2}),
                      "scaled_dot_product_attention: layout must be bool, not float32");
  REQUIRE_THROWS_AS(call({.layout = layout({3, 3}), .block = 2}), ShapeError);
  REQUIRE_THROWS_WITH(
      call({.layout = layout({3, 3}), .block = 2}),
      "scaled_dot_product_attention: layout of shape [3, 3] for 5 queries and 7 keys in blocks of 2; it "
      "must be [3, 4]");
  REQUIRE_THROWS_AS(call({.layout = layout({12}), .block = 2}), ShapeError);
  REQUIRE_THROWS_WITH(packed_attention(zeros({1, 4, 3, 1, 2}), {.layout = layout({2, 2}), .block = 4}),
                      "packed_attention: layout of shape [2, 2] for 4 queries and 4 keys in blocks of 4; it must be "
                      "[1, 1]");
  CHECK(scaled_dot_product_attention(zeros({1, 1, 0, 4}), k, k, {.layout = layout({0, 4}), .block = 2}).shape() ==
        Dims{1, 1, 0, 4});
}
