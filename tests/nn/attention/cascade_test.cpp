// Cascaded group attention: the formula, G = 1, gradients, what a group sees, errors.
#include "tutti/nn/attention/cascade.h"

#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/attention.h"
#include "tutti/ops/create.h"
#include "tutti/ops/join.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::cascade;

namespace {

Tensor values(const Dims& shape, uint64_t seed) { return random_tensor(shape, DType::float64, seed); }

/// Attention with two heads.
Tensor attend(const Tensor& qkv, int64_t) {
  const int64_t width = qkv.size(-1) / 3, batch = qkv.size(0), tokens = qkv.size(1);
  return reshape(packed_attention(reshape(qkv, {batch, tokens, 3, 2, width / 2})), {batch, tokens, width});
}

}  // namespace

TEST_CASE("cascade: each group's input is its channels plus the group before's result") {
  const Tensor x = values({2, 3, 12}, 1), weight = values({3, 3, 4, 4}, 2), bias = values({36}, 3);
  std::vector<int64_t> order;
  const Tensor y = cascade(x, weight, bias, [&](const Tensor& qkv, int64_t group) {
    order.push_back(group);
    return attend(qkv, group);
  });
  CHECK(order == std::vector<int64_t>{0, 1, 2});
  Tensor before;
  for (int64_t j = 0; j < 3; ++j) {
    Tensor input = slice(x, 2, 4 * j, 4 * j + 4);
    if (j > 0) input = input + before;
    std::vector<Tensor> parts;
    for (int64_t p = 0; p < 3; ++p)
      parts.push_back(
          linear(input, select(select(weight, 0, p), 0, j), slice(bias, 0, 12 * p + 4 * j, 12 * p + 4 * j + 4)));
    before = attend(cat(parts, -1), j);
    check_close(slice(y, 2, 4 * j, 4 * j + 4), Array(before), 1e-12);
  }
  check_close(cascade(x, weight, {}, attend), Array(cascade(x, weight, zeros({36}, {DType::float64}), attend)), 1e-12);
}

TEST_CASE("cascade: one group is plain attention, bit for bit") {
  const Tensor x = values({2, 3, 4}, 1), weight = values({3, 1, 4, 4}, 2), bias = values({12}, 3);
  check_identical(cascade(x, weight, bias, attend), attend(grouped_linear(x, weight, bias), 0));
}

TEST_CASE("cascade: gradients of x, weight and bias") {
  const std::vector<Tensor> inputs{values({1, 3, 4}, 1).requires_grad_(), values({3, 2, 2, 2}, 2).requires_grad_(),
                                   values({12}, 3).requires_grad_()};
  const auto f = [](const std::vector<Tensor>& x) { return square(cascade(x[0], x[1], x[2], attend)); };
  CHECK(gradcheck(f, inputs));
  CHECK(gradgradcheck(f, inputs));
}

TEST_CASE("cascade: a group sees itself and those before it") {
  const Tensor weight = values({3, 4, 2, 2}, 2);
  for (int64_t to = 0; to < 4; ++to) {
    const Tensor x = values({1, 3, 8}, 1).requires_grad_();
    sum(square(slice(cascade(x, weight, {}, attend), 2, 2 * to, 2 * to + 2))).backward();
    for (int64_t c = 0; c < 8; ++c) CHECK((sum(abs(select(x.grad(), 2, c))).item() > 0) == (c / 2 <= to));
  }
}

TEST_CASE("cascade: errors") {
  const Tensor x = ones({1, 3, 8});
  REQUIRE_THROWS_WITH(cascade(x, ones({3, 3, 2, 2}), {}, attend),
                      "cascade: x [1, 3, 8] and weight [3, 3, 2, 2] are not [.., C] and [3, G, C/G, C/G]");
  REQUIRE_THROWS_WITH(
      cascade(x, ones({3, 4, 2, 2}), ones({8}), attend),
      "cascade: x [1, 3, 8] and weight [3, 4, 2, 2] and bias [8] are not [.., C] and [3, G, C/G, C/G] and [3 C]");
  REQUIRE_THROWS_AS(cascade(x, ones({3, 4, 4, 2}), {}, attend), ShapeError);
  REQUIRE_THROWS_WITH(cascade(Tensor(), ones({3, 4, 2, 2}), {}, attend), "cascade: x is undefined");
  REQUIRE_THROWS_WITH(cascade(x, Tensor(), {}, attend), "cascade: weight is undefined");
}
