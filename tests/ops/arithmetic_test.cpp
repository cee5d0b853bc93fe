// Binary arithmetic: values, broadcasting, gradients, error texts.
#include "tutti/ops/arithmetic.h"

#include <cmath>
#include <limits>

#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

const double nan_value = std::nan("");
const std::vector<std::vector<Dims>> pairs = {
    {{3, 37}, {3, 37}}, {{5, 33}, {33}},      {{4, 19}, {4, 1}},   {{7}, {}},
    {{}, {}},           {{0, 3}, {3}},        {{2, 0}, {2, 0}},    {{1}, {1}},
    {{6, 3}, {3}},      {{18, 20}, {18, 20}}, {{2, 3, 5}, {3, 1}}, {{1, 1, 2, 1, 1, 6}, {1, 6, 1}}};

/// f over the broadcast of two arrays, by index arithmetic of its own.
Array broadcast_reference(const Arrays& x, double (*f)(double, double)) {
  const int n = std::max(x[0].shape.n, x[1].shape.n);
  Dims shape;
  const auto size = [n](const Array& a, int i) {
    const int k = i - (n - a.shape.n);
    return k < 0 ? int64_t{1} : a.shape[k];
  };
  for (int i = 0; i < n; ++i) shape.push(size(x[0], i) == 1 ? size(x[1], i) : size(x[0], i));
  Array y(shape);
  for (int64_t flat = 0; flat < y.numel(); ++flat) {
    int64_t at[2] = {0, 0};
    for (int k = 0; k < 2; ++k) {
      int64_t rest = flat, step = 1;
      for (int i = n - 1; i >= 0; --i) {
        const int64_t index = rest % shape[i], here = size(x[static_cast<size_t>(k)], i);
        rest /= shape[i];
        if (here != 1) at[k] += index * step;
        step *= here;
      }
    }
    y[flat] = f(x[0][at[0]], x[1][at[1]]);
  }
  return y;
}

void binary_test(const std::string& name, Tensor (*op)(const Tensor&, const Tensor&), double (*f)(double, double),
                 double low = -2, double high = 2) {
  op_test(name, {.kernels = "arithmetic div_backward extremum_backward",
                 .shapes = pairs,
                 .op = [op](const Tensors& x) { return op(x[0], x[1]); },
                 .reference = [f](const Arrays& x) { return broadcast_reference(x, f); },
                 .low = low,
                 .high = high});
}

void scalar_test(const std::string& name, Tensor (*op)(const Tensor&), double (*f)(double), double low = -2,
                 double high = 2) {
  op_test(name, {.kernels = "arithmetic_scalar",
                 .shapes = {{{3, 37}}, {{}}, {{0}}, {{5}}},
                 .op = [op](const Tensors& x) { return op(x[0]); },
                 .reference =
                     [f](const Arrays& x) {
                       Array y(x[0].shape);
                       for (int64_t i = 0; i < y.numel(); ++i) y[i] = f(x[0][i]);
                       return y;
                     },
                 .low = low,
                 .high = high});
}

}  // namespace

TEST_CASE("arithmetic: values and gradients over broadcasting shapes") {
  binary_test("add", add, [](double a, double b) { return a + b; });
  binary_test("sub", sub, [](double a, double b) { return a - b; });
  binary_test("mul", mul, [](double a, double b) { return a * b; });
  binary_test(
      "div", div, [](double a, double b) { return a / b; }, 0.5, 2);
  binary_test("maximum", maximum, [](double a, double b) { return std::max(a, b); });
  binary_test("minimum", minimum, [](double a, double b) { return std::min(a, b); });
}

TEST_CASE("arithmetic: a number as one operand") {
  scalar_test(
      "add 1.5", [](const Tensor& x) { return x + 1.5; }, [](double x) { return x + 1.5; });
  scalar_test(
      "sub 1.5", [](const Tensor& x) { return x - 1.5; }, [](double x) { return x - 1.5; });
  scalar_test(
      "1.5 sub", [](const Tensor& x) { return 1.5 - x; }, [](double x) { return 1.5 - x; });
  scalar_test(
      "mul 3", [](const Tensor& x) { return 3 * x; }, [](double x) { return 3 * x; });
  scalar_test(
      "div 4", [](const Tensor& x) { return x / 4; }, [](double x) { return x / 4; });
  scalar_test(
      "4 div", [](const Tensor& x) { return 4 / x; }, [](double x) { return 4 / x; }, 0.5, 2);
}

TEST_CASE("pow: values and gradients") {
  for (const double p : {2.0, 3.0, 1.0, -1.0, 0.5, 1.7, -2.5}) {
    INFO("exponent " << p);
    op_test("pow", {.kernels = "pow_scalar",
                    .shapes = {{{3, 37}}, {{}}},
                    .op = [p](const Tensors& x) { return pow(x[0], p); },
                    .reference =
                        [p](const Arrays& x) {
                          Array y(x[0].shape);
                          for (int64_t i = 0; i < y.numel(); ++i) y[i] = std::pow(x[0][i], p);
                          return y;
                        },
                    .low = 0.5,
                    .high = 2});
  }
  op_test("pow of tensors", {.kernels = "pow",
                             .shapes = pairs,
                             .op = [](const Tensors& x) { return pow(x[0], x[1]); },
                             .reference =
                                 [](const Arrays& x) {
                                   return broadcast_reference(x, [](double a, double b) { return std::pow(a, b); });
                                 },
                             .low = 0.5,
                             .high = 2});
}

TEST_CASE("pow: gradients at zero are zero where the power does not change") {
  Tensor x = Tensor::from({0, 2}, {2}).requires_grad_(), p = Tensor::from({0, 0}, {2}).requires_grad_();
  sum(pow(x, 0)).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 0});
  x.zero_grad();
  sum(pow(x, p)).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 0});
  CHECK(p.grad().at({0}) == 0);
  CHECK(p.grad().at({1}) == Approx(std::log(2.0)));
}

TEST_CASE("maximum and minimum propagate NaN and share ties") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    Tensor a = Tensor::from({nan_value, 1, 2, 3}, {4}).requires_grad_();
    Tensor b = Tensor::from({1, nan_value, 2, 1}, {4}).requires_grad_();
    const Tensor high = maximum(a, b), low = minimum(a, b);
    for (const int64_t i : {0, 1}) {
      CHECK(std::isnan(high.at({i})));
      CHECK(std::isnan(low.at({i})));
    }
    CHECK(high.at({3}) == 3);
    CHECK(low.at({3}) == 1);
    sum(high).backward();
    CHECK(a.grad().to_vector<double>() == std::vector<double>{1, 1, 0.5, 1});
    CHECK(b.grad().to_vector<double>() == std::vector<double>{1, 1, 0.5, 0});
  });
}

TEST_CASE("arithmetic: integers are exact, wrap around, and take whole numbers only") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    const Tensor a = Tensor::from(std::vector<int64_t>{1, -7, (int64_t{1} << 53) + 1}, {3});
    CHECK((a + 1).to_vector<int64_t>() == std::vector<int64_t>{2, -6, (int64_t{1} << 53) + 2});
    CHECK((a * a).to_vector<int64_t>()[1] == 49);
    CHECK((3 - a).to_vector<int64_t>() == std::vector<int64_t>{2, 10, 2 - (int64_t{1} << 53)});
    CHECK(maximum(a, mul(a, -1)).to_vector<int64_t>()[1] == 7);
    const Tensor bytes = Tensor::from(std::vector<uint8_t>{250, 3}, {2});
    CHECK((bytes + 10).to_vector<int64_t>() == std::vector<int64_t>{4, 13});
    const Tensor big = Tensor::from(std::vector<int32_t>{std::numeric_limits<int32_t>::max()}, {1});
    CHECK((big + 1).to_vector<int64_t>()[0] == std::numeric_limits<int32_t>::min());
  });
  const Tensor n = Tensor::from({1, 2}, {2}, DType::int64), byte = Tensor::from({1}, {1}, DType::uint8);
  REQUIRE_THROWS_WITH(n * 0.5, "mul: 0.5 is not a value of int64; convert with to(x, dtype)");
  REQUIRE_THROWS_WITH(byte + 256, "add: 256 is not a value of uint8; convert with to(x, dtype)");
  REQUIRE_THROWS_AS(n * nan_value, ValueError);
  REQUIRE_THROWS_WITH(n / n, "div: int64 is not a floating dtype");
  REQUIRE_THROWS_WITH(n / 2, "div: int64 is not a floating dtype");
}

TEST_CASE("arithmetic: errors name the operation and the operands") {
  const Tensor a = zeros({4, 3}), b = zeros({4, 8});
  REQUIRE_THROWS_WITH(a + b, "add: shapes [4, 3] and [4, 8] do not broadcast at axis 1 (3 vs 8)");
  REQUIRE_THROWS_AS(a + b, ShapeError);
  REQUIRE_THROWS_WITH(mul(a, zeros({4, 3}, {.dtype = DType::float64})),
                      "mul: dtypes float32 and float64 differ; convert one with to(x, dtype)");
  REQUIRE_THROWS_AS(mul(a, zeros({4, 3}, {.dtype = DType::float64})), DTypeError);
  REQUIRE_THROWS_WITH(sub(a, Tensor()), "sub: b is undefined");
  const Tensor flags = zeros({2}, {.dtype = DType::boolean});
  REQUIRE_THROWS_WITH(flags + flags, "add: bool tensors have no arithmetic; convert with to(x, dtype)");
}

TEST_CASE("arithmetic: a short row beside many has the values that it has when written out") {
  for (const DType t : {DType::float32, DType::float64, DType::bfloat16, DType::int32})
    for (int64_t width : {3, 7, 16, 31, 33, 127, 128}) {
      INFO(name_of(t) << ", " << width << " columns");
      const int64_t rows = t == DType::float32 ? 70000 / width : 1200 / width;  // several pieces, several chunks
      const Tensor x = to(mul(random_tensor({rows, width}, DType::float32, 1), 9), t);
      for (const Dims& shape : {Dims{width}, Dims{1, width}, Dims{1, 1}, Dims{rows, 1}}) {
        const Tensor b = to(mul(random_tensor(shape, DType::float32, 2), 9), t);
        const Tensor whole = contiguous(expand(b, x.shape()));
        check_identical(sub(x, b), sub(x, whole));
        check_identical(sub(b, x), sub(whole, x));
      }
    }
}

TEST_CASE("arithmetic: the gradient of a broadcast operand is summed to its shape") {
  Tensor a = ones({3, 4}).requires_grad_(), b = ones({1, 4}).requires_grad_();
  sum(a + b).backward();
  CHECK(b.grad().shape() == Dims{1, 4});
  CHECK(b.grad().to_vector<double>() == std::vector<double>{3, 3, 3, 3});
}

TEST_CASE("arithmetic: second derivatives") {
  Tensor a = random_tensor({3, 4}, DType::float64, 1, 0.5, 2), b = random_tensor({4}, DType::float64, 2, 0.5, 2);
  a.requires_grad_();
  b.requires_grad_();
  for (auto op : {+[](const std::vector<Tensor>& x) { return x[0] * x[1]; },
                  +[](const std::vector<Tensor>& x) { return x[0] / x[1]; },
                  +[](const std::vector<Tensor>& x) { return 2 / x[0] + x[1] * 3; },
                  +[](const std::vector<Tensor>& x) { return pow(x[0], 2.5) + pow(x[0], 2) * x[1]; },
                  +[](const std::vector<Tensor>& x) { return pow(x[0], x[1]); },
                  +[](const std::vector<Tensor>& x) { return square(maximum(x[0], x[1])); }})
    CHECK(gradgradcheck(op, {a, b}));
}

TEST_CASE("accumulate adds in place, from any strides") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    const Tensor x = random_tensor({18, 37}, DType::float32, 3);
    for (Layout l : {Layout::contiguous, Layout::transposed, Layout::sliced, Layout::broadcast}) {
      const Tensor start = reshape(arange(0, x.numel(), 1, {}), x.shape());
      const Output a = in_place("accumulate", start);
      const Tensor b = with_layout(x, l);
      accumulate(a, b);
      Array want(x.shape());
      const Array added(b);
      for (int64_t i = 0; i < want.numel(); ++i) want[i] = static_cast<double>(i) + added[i];
      check_close(no_gradient(a), want, 1e-6);
    }
  });
}

TEST_CASE("arithmetic: the same bits on any number of threads") {
  const tutti_test::OnCpu here;
  const Tensor a = random_tensor({301, 407}, DType::float32, 5), b = random_tensor({407}, DType::float32, 6);
  const Tensor t = with_layout(a, Layout::transposed);
  set_num_threads(1);
  const Tensor want = div(a, b), turned = mul(a, t);
  for (int n : {2, 6}) {
    set_num_threads(n);
    check_identical(div(a, b), want);
    check_identical(mul(a, t), turned);
  }
  set_num_threads(0);
}
