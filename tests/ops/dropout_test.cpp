// Dropout: what it keeps, scales and repeats in the gradient; and its edges.
#include <cmath>

#include "support/catch.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/core/philox.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/random.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {
using Values = std::vector<double>;

/// The definition: element i is dropped if word i % 4 of block i / 4 lies below p * 2^32.
Array by_definition(const Array& x, double p, RandomKey key) {
  Array y(x.shape);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const uint32_t word = philox(key, static_cast<uint64_t>(i) / 4).v[i % 4];
    y[i] = word < p * 0x1p32 ? 0 : x[i] / (1 - p);
  }
  return y;
}
}  // namespace

TEST_CASE("dropout against its definition, for every layout, and its gradient uses the same mask") {
  op_test("dropout", {.kernels = "dropout",
                      .shapes = {{{3, 5}}, {{2, 3, 67}}, {{130}}, {{}}, {{0, 3}}},
                      .op =
                          [](const Tensors& x) {
                            Generator g(21);
                            g.set_position(4);
                            return dropout(x[0], 0.3, true, g);
                          },
                      .reference =
                          [](const Arrays& x) {
                            return by_definition(x[0], 0.3, {21, 4});
                          }});
}

TEST_CASE("dropout keeps the expected value and drops the right share") {
  Generator g(1);
  const Tensor y = dropout(ones({1000, 500}), 0.2, true, g);
  double total = 0, zeros_seen = 0;
  for (double v : y.to_vector<double>()) {
    total += v;
    zeros_seen += v == 0;
    REQUIRE((v == 0 || v == 1.25));
  }
  CHECK(std::abs(total / 5e5 - 1) < 4 * std::sqrt(0.25 / 5e5));
  CHECK(std::abs(zeros_seen / 5e5 - 0.2) < 4 * std::sqrt(0.16 / 5e5));
}

TEST_CASE("in evaluation, and for p = 0, dropout is the identity and draws nothing") {
  Generator g(1);
  const Tensor x = ones({3});
  CHECK(dropout(x, 0.5, false, g).impl() == x.impl());
  CHECK(dropout(x, 0, true, g).impl() == x.impl());
  CHECK(g.position() == 0);
}

TEST_CASE("p = 1 gives zeros, whatever the input, and zero gradients") {
  Tensor x = Tensor::from({1, NAN, INFINITY, -2}, {4}).requires_grad_();
  const Tensor y = dropout(x, 1);
  CHECK(y.to_vector<double>() == Values{0, 0, 0, 0});
  y.backward(ones({4}));
  CHECK(x.grad().to_vector<double>() == Values{0, 0, 0, 0});
}

TEST_CASE("a dropped NaN is gone, and the mask is by position, not by memory") {
  Generator g(3), h(3);
  const Tensor x = random_tensor({64, 65}, DType::float32, 1);
  check_identical(dropout(transpose(x, 0, 1), 0.4, true, g), dropout(contiguous(transpose(x, 0, 1)), 0.4, true, h));
  Generator a(8), b(8);
  const auto dropped = dropout(full({1000}, NAN), 0.5, true, a).to_vector<double>();
  const auto mask = dropout(ones({1000}), 0.5, true, b).to_vector<double>();
  for (size_t i = 0; i < mask.size(); ++i) CHECK(std::isnan(dropped[i]) == (mask[i] != 0));
}

TEST_CASE("dropout is the same on every number of threads, and can be differentiated twice") {
  const Tensor x = random_tensor({300, 401}, DType::float32, 2);
  Generator first(5);
  const Tensor want = dropout(x, 0.1, true, first);
  for (int threads : {1, 2, 6}) {
    set_num_threads(threads);
    Generator g(5);
    check_identical(dropout(x, 0.1, true, g), want);
  }
  set_num_threads(0);
  Generator g(5);
  Tensor z = ones({50}, {.dtype = DType::float64}).requires_grad_();
  const Tensor y = dropout(z, 0.5, true, g);
  const Tensor dz = grad({sum(mul(y, y))}, {z}, {}, {.create_graph = true})[0];  // 2 m^2 z
  const auto twice = grad({sum(dz)}, {z})[0].to_vector<double>();
  const auto mask = y.to_vector<double>();
  for (size_t i = 0; i < mask.size(); ++i) CHECK(twice[i] == 2 * mask[i] * mask[i]);
}

TEST_CASE("mistakes with dropout are typed errors") {
  const Tensor x = ones({2});
  CHECK_THROWS_AS(dropout(x, 1.5), ValueError);
  CHECK_THROWS_WITH(dropout(x, 1.5), "dropout: probability 1.5 is not in [0, 1]");
  CHECK_THROWS_WITH(dropout(x, -0.1, false), "dropout: probability -0.1 is not in [0, 1]");
  CHECK_THROWS_WITH(dropout(x, NAN), "dropout: probability nan is not in [0, 1]");
  CHECK_THROWS_AS(dropout(arange(3), 0.5), DTypeError);
  CHECK_THROWS_WITH(dropout(arange(3), 0.5), "dropout: int64 is not a floating dtype");
}
