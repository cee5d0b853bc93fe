// The simple layers: initial values, parameter counts, what they compute, and their errors.
#include <cmath>

#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/nn/activation.h"
#include "tutti/nn/dropout.h"
#include "tutti/nn/embedding.h"
#include "tutti/nn/init.h"
#include "tutti/nn/linear.h"
#include "tutti/nn/normalization.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

double largest(const Tensor& x) {
  double m = 0;
  for (double v : x.to_vector<double>()) m = std::max(m, std::abs(v));
  return m;
}
double mean_of(const Tensor& x) {
  double s = 0;
  for (double v : x.to_vector<double>()) s += v;
  return s / static_cast<double>(x.numel());
}
double deviation(const Tensor& x) {
  const double m = mean_of(x);
  double s = 0;
  for (double v : x.to_vector<double>()) s += (v - m) * (v - m);
  return std::sqrt(s / static_cast<double>(x.numel()));
}

/// The dense matrix [out, in] of blocks [G, out/G, in/G].
Tensor block_diagonal(const Tensor& blocks) {
  const int64_t groups = blocks.size(0), out = blocks.size(1), in = blocks.size(2);
  std::vector<double> dense(static_cast<size_t>(groups * out * groups * in));
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i)
        dense[static_cast<size_t>((g * out + o) * groups * in + g * in + i)] = blocks.at({g, o, i});
  return Tensor::from(dense, {groups * out, groups * in});
}

}  // namespace

TEST_CASE("init: bounds, spreads and repeatability") {
  manual_seed(1);
  const Tensor x = zeros({4, 100, 50});  // blocks: in 50, out 100
  nn::init::xavier_uniform_(x);
  CHECK(largest(x) <= std::sqrt(6.0 / 150));
  CHECK(largest(x) > 0.99 * std::sqrt(6.0 / 150));
  CHECK(mean_of(x) == Approx(0).margin(0.01));
  nn::init::xavier_uniform_(x, 0.5);
  CHECK(largest(x) <= 0.5 * std::sqrt(6.0 / 150));
  nn::init::kaiming_uniform_(x);
  CHECK(largest(x) <= std::sqrt(6.0 / 50));
  CHECK(largest(x) > 0.99 * std::sqrt(6.0 / 50));
  nn::init::xavier_normal_(x);
  CHECK(deviation(x) == Approx(std::sqrt(2.0 / 150)).epsilon(0.03));
  nn::init::kaiming_normal_(x, 1);
  CHECK(deviation(x) == Approx(std::sqrt(1.0 / 50)).epsilon(0.03));
  nn::init::normal_(x, 3, 2);
  CHECK(mean_of(x) == Approx(3).epsilon(0.03));
  CHECK(deviation(x) == Approx(2).epsilon(0.03));
  nn::init::trunc_normal_(x, 1, 0.5);
  CHECK(largest(add(x, -1)) <= 1);
  CHECK(deviation(x) == Approx(0.5 * 0.8796).epsilon(0.03));
  nn::init::uniform_(x, 2, 3);
  CHECK(largest(x) < 3);
  CHECK(mean_of(x) == Approx(2.5).epsilon(0.01));
  nn::init::constant_(x, 7);
  CHECK(mean_of(x) == 7);
  nn::init::ones_(x);
  CHECK(largest(x) == 1);
  nn::init::zeros_(x);
  CHECK(largest(x) == 0);

  Generator a(5), b(5);
  const Tensor y = zeros({10, 10}), z = zeros({10, 10});
  nn::init::normal_(y, 0, 1, a);
  nn::init::normal_(z, 0, 1, b);
  check_identical(y, z);
  nn::init::uniform_(transpose(y, 0, 1), 0, 1, a);  // through strides
  CHECK(largest(y) < 1);
  REQUIRE_THROWS_WITH(nn::init::xavier_uniform_(zeros({3})),
                      "xavier_uniform_: shape [3] has no [out, in] axes (at least 2 axes are needed)");
  REQUIRE_THROWS_WITH(nn::init::uniform_(y, 1, 0), "uniform_: low 1 and high 0 are no range");
  REQUIRE_THROWS_WITH(nn::init::normal_(y, 0, -1), "normal_: stddev -1 is negative");
}

TEST_CASE("Linear: shapes, start, result") {
  manual_seed(2);
  const nn::Linear layer({.in = 64, .out = 32});
  CHECK(layer.parameter_count() == 64 * 32 + 32);
  CHECK(largest(layer.weight) <= 0.125);
  CHECK(largest(layer.weight) > 0.12);
  CHECK(largest(layer.bias) <= 0.125);
  CHECK(largest(layer.bias) > 0);
  const nn::Linear plain({.in = 2, .out = 2, .bias = false});
  CHECK(plain.parameter_count() == 4);
  const nn::Linear xavier({.in = 20, .out = 10, .init = nn::LinearInit::xavier});
  CHECK(largest(xavier.weight) <= std::sqrt(6.0 / 30));
  CHECK(largest(xavier.bias) == 0);
  CHECK(largest(nn::Linear({.in = 3, .out = 3, .init = nn::LinearInit::zero}).weight) == 0);

  nn::Linear small({.in = 2, .out = 1});
  small.weight = nn::Parameter(Tensor::from({2, 3}, {1, 2}));
  small.bias = nn::Parameter(Tensor::from({10}, {1}));
  CHECK(small(Tensor::from({1, 1}, {1, 1, 2})).item() == 15);
  REQUIRE_THROWS_WITH(nn::Linear({.out = 3}), "Linear: in is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(nn::Linear({.in = 3, .out = -2}), "Linear: out is -2; it must be at least 1");
}

TEST_CASE("GroupedLinear: equals a block-diagonal Linear, forward and gradients (C6)") {
  for (DType dtype : {DType::float32, DType::float64}) {
    nn::GroupedLinear grouped({.in = 12, .out = 20, .groups = 4});
    grouped.to(dtype);
    CHECK(grouped.parameter_count() == 12 * 20 / 4 + 20);
    nn::Linear dense({.in = 12, .out = 20});
    dense.to(DType::float64);
    dense.weight = nn::Parameter(block_diagonal(grouped.weight));
    dense.bias = grouped.bias;
    dense.to(dtype);
    Tensor x1 = random_tensor({5, 3, 12}, dtype, 1), x2 = random_tensor({5, 3, 12}, dtype, 1);
    x1.requires_grad_();
    x2.requires_grad_();
    const Tensor dy = random_tensor({5, 3, 20}, dtype, 2), a = grouped(x1), b = dense(x2);
    const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
    check_close(a.detach(), Array(b.detach()), tolerance);
    a.backward(dy);
    b.backward(dy);
    check_close(x1.grad(), Array(x2.grad()), tolerance);
    check_close(grouped.bias.tensor().grad(), Array(dense.bias.tensor().grad()), tolerance);
    const Tensor diagonal = block_diagonal(grouped.weight.tensor().grad()), full = dense.weight.tensor().grad();
    for (int64_t o = 0; o < 20; ++o)
      for (int64_t i = 0; i < 12; ++i)
        if (o / 5 == i / 3) CHECK(diagonal.at({o, i}) == Approx(full.at({o, i})).margin(tolerance));
  }
  REQUIRE_THROWS_WITH(nn::GroupedLinear({.in = 64, .out = 60, .groups = 5}),
                      "GroupedLinear: groups = 5 does not divide in = 64; of the numbers nearby, 4 and 8 do");
  REQUIRE_THROWS_WITH(nn::GroupedLinear({.in = 8, .out = 6, .groups = 4}),
                      "GroupedLinear: groups = 4 does not divide out = 6; of the numbers nearby, 3 and 6 do");
  REQUIRE_THROWS_WITH(nn::GroupedLinear({.in = 8, .out = 8, .groups = 9}),
                      "GroupedLinear: groups = 9 does not divide in = 8; of the numbers nearby, 8 does");
  REQUIRE_THROWS_WITH(nn::GroupedLinear({.in = 8, .out = 8, .groups = 0}),
                      "GroupedLinear: groups is 0; it must be at least 1");
}

TEST_CASE("LayerNorm and RMSNorm: parameters and errors") {
  const nn::LayerNorm norm({.width = 4});
  CHECK(norm.parameter_count() == 8);
  check_close(norm(Tensor::from({40000, 40001, 40002, 40003}, {1, 4})).detach(),
              Array(Tensor::from({-1.341635, -.447212, .447212, 1.341635}, {1, 4})), 1e-5);
  CHECK(nn::LayerNorm({.width = 4, .affine = false}).parameter_count() == 0);
  const nn::RMSNorm rms({.width = 2, .eps = 0});
  CHECK(rms.parameter_count() == 2);
  check_close(rms(Tensor::from({3, 4}, {1, 2})).detach(),
              Array(Tensor::from({3 / std::sqrt(12.5), 4 / std::sqrt(12.5)}, {1, 2})), 1e-6);
  REQUIRE_THROWS_WITH(norm(ones({2, 3})), "LayerNorm: input [2, 3] does not end in width 4");
  REQUIRE_THROWS_WITH(rms(ones({})), "RMSNorm: input [] does not end in width 2");
  REQUIRE_THROWS_WITH(norm(Tensor()), "LayerNorm: x is undefined");
  REQUIRE_THROWS_WITH(nn::LayerNorm({}), "LayerNorm: width is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(nn::RMSNorm({.width = 3, .eps = -1}), "RMSNorm: eps is -1; it must be finite and not negative");
}

TEST_CASE("Embedding: rows by index") {
  manual_seed(3);
  const nn::Embedding table({.count = 100, .width = 50});
  CHECK(deviation(table.weight) == Approx(1).epsilon(0.05));
  const Tensor y = table(Tensor::from({1, 1, 3, 0}, {2, 2}, DType::int64));
  CHECK(y.shape() == Dims{2, 2, 50});
  sum(y).backward();
  const Tensor g = table.weight.tensor().grad();
  CHECK(g.at({1, 7}) == 2);
  CHECK(g.at({3, 7}) == 1);
  CHECK(g.at({2, 7}) == 0);
  REQUIRE_THROWS_AS((table(Tensor::from({100}, {1}, DType::int64)), synchronize(default_device())), IndexError);
  REQUIRE_THROWS_WITH(nn::Embedding({.count = 4}), "Embedding: width is 0; it must be at least 1");
}

TEST_CASE("Dropout: only in training, keeps the expected value") {
  manual_seed(4);
  nn::Dropout layer(0.25);
  const Tensor x = ones({10000}), y = layer(x);
  CHECK(mean_of(y) == Approx(1).epsilon(0.03));
  CHECK(largest(y) == Approx(4.0 / 3));
  layer.eval();
  CHECK(layer(x).impl() == x.impl());
  CHECK(largest(nn::Dropout(1)(x)) == 0);
  CHECK(nn::Dropout(0)(x).impl() == x.impl());
  REQUIRE_THROWS_WITH(nn::Dropout(-0.1), "Dropout: p is -0.1; it must be between 0 and 1");
  REQUIRE_THROWS_AS(nn::Dropout(std::nan("")), ValueError);
}

TEST_CASE("activations as modules") {
  const Tensor x = Tensor::from({-1, 0, 1}, {3});
  check_identical(nn::ReLU()(x), relu(x));
  check_identical(nn::SiLU()(x), silu(x));
  check_identical(nn::GELU()(x), gelu(x));
  check_identical(nn::GELU(Gelu::tanh)(x), gelu(x, Gelu::tanh));
}
