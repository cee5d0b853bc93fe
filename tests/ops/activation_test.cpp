// Activation functions: values, gradients, and relative accuracy where the result is small.
#include "tutti/ops/activation.h"

#include <cmath>

#include "support/accuracy.h"
#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"

using namespace tutti;
using namespace tutti_test;

namespace {

Tensor gelu_erf(const Tensor& x) { return gelu(x); }
Tensor gelu_tanh(const Tensor& x) { return gelu(x, Gelu::tanh); }
long double exact_gelu(long double x) { return x * std::erfc(-x / std::sqrt(2.0L)) / 2; }
long double exact_gelu_tanh(long double x) {
  const long double c = 2 * std::sqrt(2 / 3.14159265358979323846264338327950288L);
  return x / (1 + std::exp(-c * (x + 0.044715L * x * x * x)));
}

void activation_test(const std::string& name, Tensor (*op)(const Tensor&), double (*f)(double)) {
  op_test(name, {.kernels = "unary unary_backward",
                 .shapes = {{{3, 37}}, {{18, 20}}, {{}}, {{0, 4}}, {{2, 1, 3}}},
                 .op = [op](const Tensors& x) { return op(x[0]); },
                 .reference =
                     [f](const Arrays& x) {
                       Array y(x[0].shape);
                       for (int64_t i = 0; i < y.numel(); ++i) y[i] = f(x[0][i]);
                       return y;
                     },
                 .low = -5,
                 .high = 5,
                 .adjust = [](double v) { return std::abs(v) < 1e-3 ? 0.1 : v; }});  // away from the kink of relu
}

}  // namespace

TEST_CASE("activations: values and gradients") {
  activation_test("sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
  activation_test("relu", relu, [](double x) { return x > 0 ? x : 0; });
  activation_test("silu", silu, [](double x) { return x / (1 + std::exp(-x)); });
  activation_test("gelu", gelu_erf, [](double x) { return static_cast<double>(exact_gelu(x)); });
  activation_test("gelu tanh", gelu_tanh, [](double x) { return static_cast<double>(exact_gelu_tanh(x)); });
}

TEST_CASE("relu keeps NaN, and its gradient at 0 is 0 and passes a NaN's") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    Tensor x = Tensor::from({std::nan(""), -1, 2, 0}, {4}).requires_grad_();
    const Tensor y = relu(x);
    CHECK(std::isnan(y.at({0})));
    CHECK(y.at({1}) == 0);
    CHECK(y.at({2}) == 2);
    sum(y).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{1, 0, 1, 0});
  });
}

TEST_CASE("gelu keeps relative accuracy for negative numbers") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    const auto relative = [](double got, double want, double tolerance) {
      INFO(got << " for " << want);
      CHECK(std::abs(got - want) <= tolerance * std::abs(want) + 1e-37);  // subnormal results may be 0
    };
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensor x = Tensor::from({1, -5}, {2}, dtype);
      relative(gelu(x).at({0}), 0.8413447, 3e-6);
      relative(gelu(x).at({1}), -1.433258e-6, 3e-6);
      relative(gelu(x, Gelu::tanh).at({0}), 0.8411920, 3e-6);
      relative(gelu(x, Gelu::tanh).at({1}), -2.291796e-7, 3e-6);
    }
    for (double v = -12; v < 12; v += 0.0371) {
      const Tensor x = Tensor::from({v}, {1});
      relative(gelu(x).item(), static_cast<double>(exact_gelu(x.item())), 1e-5);
      relative(gelu(x, Gelu::tanh).item(), static_cast<double>(exact_gelu_tanh(x.item())), v < -8 ? 1e-4 : 1e-5);
    }
  });
}

TEST_CASE("activations at infinity and NaN: limits, also of the gradient") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    for (const DType dtype : {DType::float32, DType::float64})
      for (Tensor (*op)(const Tensor&) : {&sigmoid, &relu, &silu, &gelu_erf, &gelu_tanh}) {
        Tensor x = Tensor::from({-INFINITY, INFINITY, std::nan(""), -1e30, 1e30}, {5}, dtype).requires_grad_();
        const Tensor y = op(x);
        const bool bounded = op == &sigmoid;
        CHECK(y.at({0}) == 0);
        CHECK(y.at({1}) == (bounded ? 1 : INFINITY));
        CHECK(std::isnan(y.at({2})));
        CHECK(std::abs(y.at({3})) < 1e-30);
        CHECK(y.at({4}) == Approx(bounded ? 1 : 1e30));
        sum(y).backward();
        CHECK(x.grad().at({0}) == 0);
        CHECK(x.grad().at({1}) == (bounded ? 0 : 1));
        CHECK(x.grad().at({3}) == 0);
        CHECK(x.grad().at({4}) == (bounded ? 0 : 1));
      }
  });
}

TEST_CASE("sigmoid is accurate for large negative numbers") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    check_ulps(
        "sigmoid", sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, 3, -80, INFINITY);
    check_ulps(
        "silu", silu, [](long double x) { return x / (1 + std::exp(-x)); }, 4, -80, 1e30);
  });
}

TEST_CASE("activations: second and third derivatives") {
  Tensor x = random_tensor({3, 4}, DType::float64, 4, -2, 2);
  x.requires_grad_();
  for (Tensor (*op)(const Tensor&) : {&sigmoid, &relu, &silu, &gelu_erf, &gelu_tanh}) {
    CHECK(gradgradcheck([op](const std::vector<Tensor>& v) { return op(v[0]); }, {x}));
    CHECK(gradgradcheck(
        [op](const std::vector<Tensor>& v) {
          return grad({op(v[0])}, {v[0]}, {ones_like(v[0])}, {.create_graph = true})[0] * v[0];
        },
        {x}));
  }
}

TEST_CASE("activations: the same bits on any number of threads") {
  const tutti_test::OnCpu here;
  const Tensor x = random_tensor({301, 407}, DType::float32, 5);
  set_num_threads(1);
  const Tensor want = gelu(x);
  for (int n : {2, 6}) {
    set_num_threads(n);
    check_identical(gelu(x), want);
  }
  set_num_threads(0);
}

TEST_CASE("activations want floats") {
  REQUIRE_THROWS_WITH(relu(arange(3)), "relu: int64 is not a floating dtype");
  REQUIRE_THROWS_WITH(gelu(Tensor()), "gelu: x is undefined");
}
