#include "tutti/ops/reduce.h"

#include <cmath>
#include <numeric>

#include "support/lines.h"
#include "support/on_cpu.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

double total(const Values& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double average(const Values& v) { return total(v) / static_cast<double>(v.size()); }
double variance(const Values& v) {
  const double mean = average(v);
  double s = 0;
  for (double x : v) s += (x - mean) * (x - mean);
  return s / static_cast<double>(v.size() - 1);
}
double log_sum_exp(const Values& v) {
  double s = 0;
  for (double x : v) s += std::exp(x);
  return std::log(s);
}
std::function<double(const Values&)> p_norm(double p) {
  return [p](const Values& v) {
    double s = 0;
    for (double x : v) s = std::isinf(p) ? std::max(s, std::abs(x)) : s + std::pow(std::abs(x), p);
    return std::isinf(p) ? s : std::pow(s, 1 / p);
  };
}

/// Every choice of axes of a few shapes, with and without keepdim.
void test_axes(const std::string& name, const std::string& kernels, std::vector<Dims> shapes,
               const std::function<Tensor(const Tensor&, const Dims&, bool)>& op,
               const std::function<double(const Values&)>& reference, double tolerance32 = 1e-5) {
  for (const Dims& shape : shapes)
    for (unsigned mask = 0; mask < 1u << shape.n; ++mask) {
      if (mask == 0 && name != "sum") continue;
      Dims axes;
      for (int i = shape.n - 1; i >= 0; --i)
        if (mask >> i & 1u) axes.push(i == 1 ? i - shape.n : i);
      OpTest test;
      test.kernels = kernels;
      test.shapes = {{shape}};
      test.op = [&](const Tensors& x) { return op(x[0], axes, false); };
      test.reference = [&](const Arrays& x) { return reduce_axes(x[0], mask, reference); };
      test.tolerance32 = tolerance32;
      test.gradient = name != "norm inf";  // equal elements are a kink
      op_test(message(name, " over ", axes), test);
      const Tensor x = random_tensor(shape, DType::float32, 3);
      const Tensor with = op(x, axes, true), without = op(x, axes, false);
      REQUIRE(with.rank() == shape.n);
      for (int i = 0; i < shape.n; ++i) CHECK(with.size(i) == (mask >> i & 1u ? 1 : shape[i]));
      check_identical(reshape(with, without.shape()), without);
    }
}

}  // namespace

TEST_CASE("sum and mean over any axes equal a plain loop, and so do their gradients") {
  test_axes(
      "sum", "sum", {{3, 5, 7}, {2, 1, 3, 2}, {4, 0}, {35}},
      [](const Tensor& x, const Dims& a, bool k) { return sum(x, a, k); }, total);
  test_axes(
      "mean", "sum", {{3, 5, 7}, {1, 19}}, [](const Tensor& x, const Dims& a, bool k) { return mean(x, a, k); },
      average);
  op_test("sum of everything", {.kernels = "sum",
                                .shapes = {{{3, 37}}, {{}}, {{0, 2}}},
                                .op = [](const Tensors& x) { return sum(x[0]); },
                                .reference =
                                    [](const Arrays& x) {
                                      Array y(Dims{});
                                      y[0] = total(x[0].v);
                                      return y;
                                    }});
}

TEST_CASE("var, stddev, norm over any axes equal a plain loop, and so do their gradients") {
  test_axes(
      "var", "variance", {{3, 5, 7}}, [](const Tensor& x, const Dims& a, bool k) { return var(x, a, 1, k); }, variance);
  test_axes(
      "stddev", "variance", {{3, 6}}, [](const Tensor& x, const Dims& a, bool k) { return stddev(x, a, 1, k); },
      [](const Values& v) { return std::sqrt(variance(v)); });
  for (double p : {1.0, 2.0, 3.0, 1.5, static_cast<double>(INFINITY)})
    test_axes(
        message("norm ", p), "norm", {{3, 19}},
        [p](const Tensor& x, const Dims& a, bool k) { return norm(x, p, a, k); }, p_norm(p));
}

TEST_CASE("reductions of few columns and of short rows equal a plain loop") {
  // Rows side by side fill whole vectors, with some left over; rows end in the middle of a vector, or are one element.
  const std::vector<Dims> shapes = {{53, 3}, {35, 7}, {17, 15}, {5, 33}, {40, 1}, {3, 16}};
  test_axes(
      "sum", "sum", shapes, [](const Tensor& x, const Dims& a, bool k) { return sum(x, a, k); }, total);
  test_axes(
      "norm inf", "norm", {{35, 7}, {5, 33}},
      [](const Tensor& x, const Dims& a, bool k) { return norm(x, INFINITY, a, k); }, p_norm(INFINITY));
  test_axes(
      "var", "variance", {{35, 7}, {19, 33}}, [](const Tensor& x, const Dims& a, bool k) { return var(x, a, 1, k); },
      variance);
  for (const DType t : {DType::float32, DType::float64}) {
    const Tensor x = full({39, 7}, 3, {.dtype = t});
    const double far = t == DType::float32 ? 0x1p127 : 0x1p1023;
    const Tensor huge = full({39, 7}, far, {.dtype = t});  // whose mean is finite though its sum is not
    CHECK(sum(huge, {0}).to_vector<double>() == Values(7, INFINITY));
    CHECK(mean(huge, {0}).to_vector<double>() == Values(7, huge.at({0, 0})));
    CHECK(mean(huge, {1}).to_vector<double>() == Values(39, huge.at({0, 0})));
    CHECK(var(x, {0}).to_vector<double>() == Values(7, 0));
    CHECK(var(x, {1}).to_vector<double>() == Values(39, 0));
  }
}

TEST_CASE("the gradient of the largest norm goes to the largest elements, evenly") {
  const Tensor x = Tensor::from({3, -4, 4, 1}, {4}).requires_grad_();
  norm(x, INFINITY).backward();
  CHECK(x.grad().to_vector<double>() == Values{0, -.5, .5, 0});
  const Tensor y = random_tensor({3, 5}, DType::float64, 2).requires_grad_();
  CHECK(gradcheck([](const Tensors& v) { return norm(v[0], INFINITY, {1}); }, {y}));
}

TEST_CASE("logsumexp equals a plain loop, and so does its gradient") {
  for (int axis : {0, 1, 2})
    op_test(message("logsumexp along ", axis),
            {.kernels = "log_sum_exp",
             .shapes = {{{3, 5, 37}}, {{2, 18, 3}}, {{0, 2, 3}}},
             .op = [axis](const Tensors& x) { return logsumexp(x[0], axis); },
             .reference = [axis](const Arrays& x) { return reduce_axes(x[0], 1u << axis, log_sum_exp); }});
  const double inf = INFINITY;
  CHECK(logsumexp(Tensor::from({-inf, -inf}, {2}), 0).item() == -inf);
  CHECK(logsumexp(Tensor::from({inf, 1}, {2}), 0).item() == inf);
  CHECK(logsumexp(Tensor::from({1000, 1000}, {2}), 0).item() == Approx(1000 + std::log(2)));
  CHECK(logsumexp(Tensor::from({inf, 1, -inf, -1000}, {2, 2}), 0).to_vector<double>() == Values{inf, 1});
  CHECK(std::isnan(logsumexp(Tensor::from({NAN, 1, 2}, {3}), 0).item()));
  CHECK(logsumexp(zeros({2, 0}), 1).to_vector<double>() == Values{-inf, -inf});
  Tensor x = Tensor::from({-inf, -inf}, {2});
  x.requires_grad_();
  logsumexp(x, 0).backward();
  CHECK(x.grad().to_vector<double>() == Values{0, 0});
  for (double far : {1e4, -1e6, 1e8}) {  // where the result has no digits for log(2)
    Tensor pair = full({2}, far).requires_grad_();
    logsumexp(pair, 0).backward();
    CHECK(pair.grad().to_vector<double>() == Values{.5, .5});
  }
}

TEST_CASE("large reductions are accurate, whichever way they lie in memory") {
  for_each_isa([](const char*) {
    const Tensor x = full({1000000}, 0.1f);
    CHECK(std::abs(sum(x).item() - 100000) <= 0.01);
    CHECK(std::abs(sum(reshape(x, {1000000, 1}), 0).item() - 100000) <= 0.01);
    for (int64_t n : {4, 20}) {
      const auto columns = sum(full({1000000, n}, 0.1f), 0).to_vector<double>();
      for (double s : columns) CHECK(std::abs(s - 100000) <= 0.01);
    }
    CHECK(std::abs(sum(expand(full({1}, 0.1f), {1000000})).item() - 100000) <= 0.01);
    CHECK(mean(x).item() == Approx(0.1f));
    const Tensor y = random_tensor({70001, 3}, DType::float32, 5, 0, 1);
    check_close(sum(y, 0), reduce_axes(Array(y), 1, total), 1e-7);
    check_close(sum(transpose(y, 0, 1), 1), reduce_axes(Array(y), 1, total), 1e-7);
    check_close(sum(y), reduce_axes(Array(y), 3, total), 1e-7);
    check_close(var(y, 0), reduce_axes(Array(y), 1, variance), 1e-6);
    const Tensor wide = random_tensor({130, 1031}, DType::float32, 6, 0, 1);
    check_close(sum(wide, 0), reduce_axes(Array(wide), 1, total), 1e-6);
    check_close(sum(wide, 1), reduce_axes(Array(wide), 2, total), 1e-6);
  });
}

TEST_CASE("reductions give the same bits on any number of threads") {
  const tutti_test::OnCpu here;
  const Tensor x = random_tensor({311, 701}, DType::float32, 9), tall = random_tensor({40000, 5}, DType::float32, 10);
  const auto all_of_them = [&] {
    return Tensors{sum(x),          sum(x, 0),          sum(x, 1),  sum(transpose(x, 0, 1), 0),
                   sum(tall, 0),    mean(tall),         var(x, 0),  var(tall),
                   stddev(x, 1),    norm(tall, 2, {0}), norm(x, 3), logsumexp(x, 0),
                   logsumexp(x, 1), logsumexp(tall, 0)};
  };
  set_num_threads(1);
  const Tensors one = all_of_them();
  for (int threads : {2, 6}) {
    set_num_threads(threads);
    const Tensors many = all_of_them();
    for (size_t i = 0; i < one.size(); ++i) check_identical(one[i], many[i]);
  }
  set_num_threads(0);
}

TEST_CASE("special values of reductions") {
  for_each_isa([](const char*) {
    for (DType t : {DType::float32, DType::float64}) {
      for (int64_t n : {2, 3, 16, 1000, 70000}) {
        CHECK(stddev(full({n}, 0.1, {.dtype = t})).item() == 0);
        CHECK(stddev(full({n, 3}, 0.1, {.dtype = t}), 0).to_vector<double>() == Values{0, 0, 0});
      }
      const Tensor huge = full({3}, t == DType::float32 ? 1e38 : 1e308, {.dtype = t});
      CHECK(norm(huge).item() == Approx(std::sqrt(3) * huge.at({0})));
      CHECK(norm(full({4}, 1e-40, {.dtype = t})).item() == Approx(2e-40));
      CHECK(std::isnan(norm(Tensor::from({1, NAN, 2}, {3}, t)).item()));
      CHECK(std::isnan(norm(Tensor::from({1, NAN, 2}, {3}, t), INFINITY).item()));
      CHECK(norm(Tensor::from({1, INFINITY, 2}, {3}, t)).item() == INFINITY);
      CHECK(norm(zeros({0}, {.dtype = t})).item() == 0);
    }
    CHECK(var(Tensor::from({40000, 40001, 40002, 40003}, {4}), 0, 0).item() == 1.25);
  });
  CHECK(sum(ones({5000}, {.dtype = DType::uint8})).item() == 5000);
  CHECK(sum(ones({5000}, {.dtype = DType::uint8})).dtype() == DType::int64);
  CHECK(sum(ones({3, 50}, {.dtype = DType::boolean}), 0).to_vector<int64_t>() == std::vector<int64_t>(50, 3));
  CHECK(mean(Tensor::from({1, 2}, {2}, DType::int32)).dtype() == DType::float32);
  CHECK(mean(Tensor::from({1, 2}, {2}, DType::int64)).item() == 1.5);
  CHECK(std::isnan(mean(zeros({0})).item()));
  CHECK(std::isnan(var(zeros({1})).item()));
  CHECK(sum(zeros({0})).item() == 0);
  CHECK(sum(zeros({0, 3}), 0).to_vector<double>() == Values{0, 0, 0});
  const Tensor x = Tensor::from({3, 4}, {2}).requires_grad_();
  norm(x).backward();
  CHECK(x.grad().at({1}) == Approx(0.8));
  for (const auto& f : std::vector<std::function<Tensor(const Tensor&)>>{
           [](const Tensor& v) { return norm(v); }, [](const Tensor& v) { return norm(v, 1.5); },
           [](const Tensor& v) { return norm(v, INFINITY); }, [](const Tensor& v) { return stddev(v); }}) {
    const Tensor z = zeros({3}).requires_grad_();
    f(z).backward();
    CHECK(z.grad().to_vector<double>() == Values{0, 0, 0});
  }
}

TEST_CASE("sum_to undoes broadcasting") {
  const Tensor x = random_tensor({2, 3, 4, 5}, DType::float64, 4);
  check_close(
      sum_to(x, {3, 1, 5}),
      [&] {
        Array y = reduce_axes(Array(x), 0b0101, total);
        y.shape = {3, 1, 5};
        return y;
      }(),
      1e-12);
  CHECK(sum_to(x, {}).item() == Approx(total(x.to_vector<double>())));
  CHECK(sum_to(x, x.shape()).data() == x.data());
  REQUIRE_THROWS_WITH(sum_to(x, {2, 5}), "sum_to: shape [2, 3, 4, 5] is not a broadcast of [2, 5]");
  REQUIRE_THROWS_WITH(sum_to(Tensor::from({1}, {1}), {1, 1}), "sum_to: shape [1] is not a broadcast of [1, 1]");
}

TEST_CASE("any and all") {
  const Tensor x = Tensor::from({0, 1, 0, 0, 1, 1}, {3, 2}, DType::boolean);
  CHECK(any(x).item() == 1);
  CHECK(all(x).item() == 0);
  CHECK(any(x, 1).to_vector<double>() == Values{1, 0, 1});
  CHECK(all(x, -1).to_vector<double>() == Values{0, 0, 1});
  CHECK(any(x, 0, true).shape() == Dims{1, 2});
  CHECK(any(x).dtype() == DType::boolean);
  CHECK(any(zeros({0}, {.dtype = DType::boolean})).item() == 0);
  CHECK(all(zeros({0}, {.dtype = DType::boolean})).item() == 1);
  REQUIRE_THROWS_WITH(any(zeros({2})), "any: x must be bool, not float32");
}

TEST_CASE("reductions differentiate twice") {
  const Tensor x = random_tensor({3, 4}, DType::float64, 8).requires_grad_();
  using F = std::function<Tensor(const Tensors&)>;
  for (const F& f :
       {F([](const Tensors& v) { return var(v[0], 0); }), F([](const Tensors& v) { return stddev(v[0], 1); }),
        F([](const Tensors& v) { return norm(v[0], 2, {0}); }), F([](const Tensors& v) { return norm(v[0], 3); }),
        F([](const Tensors& v) { return logsumexp(v[0], 1); })})
    CHECK(gradgradcheck(f, {x}));
}

TEST_CASE("the gradient of a norm stays in range where an element is a tiny share of it") {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32})
    for (const double p : {1.0, 1.5}) {
      const bool narrow = dtype == DType::float16;
      const Tensor x = Tensor::from({narrow ? 1e-3 : 1e-30, narrow ? 2e4 : 1e12, 0}, {3}, dtype).requires_grad_();
      norm(x, p).backward();
      INFO(name_of(dtype) << " " << p);
      CHECK(x.grad().at({0}) == Approx(p == 1 ? 1 : std::sqrt(x.at({0}) / x.at({1}))).epsilon(0.01).margin(1e-6));
      CHECK(x.grad().at({1}) == Approx(1).epsilon(0.01));
      CHECK(x.grad().at({2}) == 0);
    }
}

TEST_CASE("the mean of nothing: its gradient's own derivative is 0, not NaN") {
  const Tensor x = zeros({2, 0}).requires_grad_(), dy = ones({2}).requires_grad_();
  const Tensor dx = grad({mean(x, 1)}, {x}, {dy}, {.create_graph = true})[0];
  CHECK(grad({sum(dx)}, {dy})[0].to_vector<float>() == std::vector<float>{0, 0});
}

TEST_CASE("malformed reductions say what is wrong") {
  const Tensor x = zeros({2, 3});
  REQUIRE_THROWS_WITH(sum(x, 2), "sum: axis 2 is out of range for shape [2, 3] (2 axes)");
  REQUIRE_THROWS_AS(mean(x, -3), IndexError);
  REQUIRE_THROWS_WITH(sum(x, Dims{1, -1}), "sum: axis -1 is given twice in [1, -1]");
  REQUIRE_THROWS_WITH(sum(Tensor()), "sum: x is undefined");
  REQUIRE_THROWS_WITH(var(zeros({3}, {.dtype = DType::int64})), "var: int64 is not a floating dtype");
  REQUIRE_THROWS_WITH(norm(x, 0), "norm: p must be positive, not 0");
  REQUIRE_THROWS_AS(norm(x, NAN), ValueError);
  REQUIRE_THROWS_WITH(logsumexp(x, 5), "logsumexp: axis 5 is out of range for shape [2, 3] (2 axes)");
}

TEST_CASE("a braced list of axes is a list, a number is an axis") {
  const Tensor x = random_tensor({2, 3}, DType::float32, 1);
  CHECK(sum(x, {}).shape() == Dims{2, 3});
  CHECK(sum(x, {0}).shape() == Dims{3});
  CHECK(mean(x, 1).shape() == Dims{2});
  CHECK(var(x, {0}, 0).shape() == Dims{3});
  CHECK(var(x, 0, 0).shape() == Dims{3});
  CHECK(stddev(x, {-1}, 1, true).shape() == Dims{2, 1});
}

TEST_CASE("variance of too few values: not a number, and neither is its gradient") {
  Tensor x = random_tensor({3}, DType::float64, 1).requires_grad_();
  const Tensor y = var(x, {0}, 4);
  CHECK(std::isinf(y.item()));
  y.backward();
  CHECK(!std::isfinite(x.grad().at({0})));
}
