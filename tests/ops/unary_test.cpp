// Functions of one tensor: values, gradients, accuracy over the whole range of floats.
#include "tutti/ops/unary.h"

#include <bit>
#include <cmath>
#include <limits>

#include "support/accuracy.h"
#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"

using namespace tutti;
using namespace tutti_test;

namespace {

void unary_test(const std::string& name, Tensor (*op)(const Tensor&), double (*f)(double), double low = -2,
                double high = 2) {
  op_test(name, {.kernels = "unary unary_backward",
                 .shapes = {{{3, 37}}, {{18, 20}}, {{}}, {{0, 4}}, {{2, 1, 3}}},
                 .op = [op](const Tensors& x) { return op(x[0]); },
                 .reference =
                     [f](const Arrays& x) {
                       Array y(x[0].shape);
                       for (int64_t i = 0; i < y.numel(); ++i) y[i] = f(x[0][i]);
                       return y;
                     },
                 .low = low,
                 .high = high,
                 .adjust = [](double v) { return std::abs(v) < 1e-3 ? 0.1 : v; }});  // away from the kink of abs
}

}  // namespace

TEST_CASE("unary: values and gradients") {
  unary_test("neg", neg, [](double x) { return -x; });
  unary_test("abs", abs, [](double x) { return std::abs(x); });
  unary_test("exp", exp, [](double x) { return std::exp(x); });
  unary_test(
      "log", log, [](double x) { return std::log(x); }, 0.1, 3);
  unary_test(
      "log1p", log1p, [](double x) { return std::log1p(x); }, -0.5, 3);
  unary_test(
      "sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0.1, 3);
  unary_test(
      "rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.2, 3);
  unary_test(
      "reciprocal", reciprocal, [](double x) { return 1 / x; }, 0.3, 3);
  unary_test("square", square, [](double x) { return x * x; });
  unary_test(
      "sin", sin, [](double x) { return std::sin(x); }, -6, 6);
  unary_test(
      "cos", cos, [](double x) { return std::cos(x); }, -6, 6);
  unary_test("tanh", tanh, [](double x) { return std::tanh(x); });
}

TEST_CASE("clamp: values and gradients") {
  op_test("clamp", {.kernels = "clamp clamp_backward",
                    .shapes = {{{3, 37}}, {{18, 20}}, {{}}, {{0}}},
                    .op = [](const Tensors& x) { return clamp(x[0], -0.5, 0.75); },
                    .reference =
                        [](const Arrays& x) {
                          Array y(x[0].shape);
                          for (int64_t i = 0; i < y.numel(); ++i) y[i] = std::min(0.75, std::max(-0.5, x[0][i]));
                          return y;
                        }});
}

TEST_CASE("clamp keeps NaN, lets the gradient pass at its limits, and takes integers") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    Tensor x = Tensor::from({std::nan(""), -3, -1, 0, 1, 3}, {6}).requires_grad_();
    const Tensor y = clamp(x, -1, 1);
    CHECK(std::isnan(y.at({0})));
    CHECK(y.at({1}) == -1);
    CHECK(y.at({5}) == 1);
    sum(y).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 0, 1, 1, 1, 0});
    CHECK(clamp(arange(5), 1, 3).to_vector<double>() == std::vector<double>{1, 1, 2, 3, 3});
  });
  REQUIRE_THROWS_WITH(clamp(zeros({1}), 2, 1), "clamp: low 2 and high 1 are no range");
  REQUIRE_THROWS_WITH(clamp(zeros({1}), std::nan(""), 1), "clamp: low nan and high 1 are no range");
  REQUIRE_THROWS_WITH(clamp(arange(5), 0.5, 3), "clamp: 0.5 is not a value of int64; convert with to(x, dtype)");
}

TEST_CASE("neg and abs: integers, signed zero, special values") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    const int64_t least = std::numeric_limits<int64_t>::min();
    const Tensor n = Tensor::from(std::vector<int64_t>{3, -4, least}, {3});
    CHECK(neg(n).to_vector<int64_t>() == std::vector<int64_t>{-3, 4, least});
    CHECK(abs(n).to_vector<int64_t>() == std::vector<int64_t>{3, 4, least});
    CHECK(std::signbit(neg(zeros({1})).item()));
    CHECK(neg(Tensor::from(std::vector<uint8_t>{1}, {1})).item() == 255);
    Tensor z = Tensor::from({0, -2, 3}, {3}).requires_grad_();
    sum(abs(z)).backward();
    CHECK(z.grad().to_vector<double>() == std::vector<double>{0, -1, 1});
  });
  REQUIRE_THROWS_WITH(exp(arange(3)), "exp: int64 is not a floating dtype");
  REQUIRE_THROWS_AS(exp(arange(3)), DTypeError);
  REQUIRE_THROWS_WITH(neg(zeros({1}, {.dtype = DType::boolean})),
                      "neg: bool tensors have no arithmetic; convert with to(x, dtype)");
  REQUIRE_THROWS_WITH(abs(Tensor()), "abs: x is undefined");
}

TEST_CASE("unary: accurate to a few units in the last place over the whole range") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    check_ulps(
        "exp", exp, [](long double x) { return std::exp(x); }, 2);
    check_ulps(
        "log", log, [](long double x) { return std::log(x); }, 2);
    check_ulps(
        "log1p", log1p, [](long double x) { return std::log1p(x); }, 2);
    check_ulps(
        "tanh", tanh, [](long double x) { return std::tanh(x); }, 2);
    check_ulps(
        "sqrt", sqrt, [](long double x) { return std::sqrt(x); }, 0.5);
    check_ulps(
        "rsqrt", rsqrt, [](long double x) { return 1 / std::sqrt(x); }, 1.5);
    check_ulps(
        "reciprocal", reciprocal, [](long double x) { return 1 / x; }, 0.5);
    check_ulps(
        "sin", sin, [](long double x) { return std::sin(x); }, 2.5);
    check_ulps(
        "cos", cos, [](long double x) { return std::cos(x); }, 2.5);
  });
}

TEST_CASE("unary: functions that are odd keep the sign of zero") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    for (const DType t : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
      const Tensor zero = Tensor::from({-0.0, 0.0}, {2}, t);
      for (Tensor (*f)(const Tensor&) : {&tutti::log1p, &tutti::sqrt, &tutti::sin, &tutti::tanh}) {
        const auto v = f(zero).to_vector<double>();
        CHECK(std::signbit(v[0]));
        CHECK_FALSE(std::signbit(v[1]));
        CHECK(v == std::vector<double>{0, 0});
      }
    }
  });
}

TEST_CASE("unary: second and third derivatives") {
  Tensor x = random_tensor({3, 4}, DType::float64, 4, 0.3, 2);
  x.requires_grad_();
  for (Tensor (*op)(const Tensor&) :
       {&neg, &abs, &exp, &log, &log1p, &sqrt, &rsqrt, &reciprocal, &square, &sin, &cos, &tanh}) {
    CHECK(gradgradcheck([op](const std::vector<Tensor>& v) { return op(v[0]); }, {x}));
    CHECK(gradgradcheck(
        [op](const std::vector<Tensor>& v) {
          return grad({op(v[0])}, {v[0]}, {ones_like(v[0])}, {.create_graph = true})[0] * v[0];
        },
        {x}));
  }
  CHECK(gradgradcheck([](const std::vector<Tensor>& v) { return square(clamp(v[0], 0.5, 1.5)); }, {x}));
}
