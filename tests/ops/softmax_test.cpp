#include "tutti/ops/softmax.h"

#include <cmath>

#include "support/lines.h"
#include "support/on_cpu.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

Values softmax_line(const Values& x) {
  double most = -INFINITY, sum = 0;
  for (double v : x) most = std::max(most, v);
  Values y;
  for (double v : x) y.push_back(std::exp(v - most));
  for (double v : y) sum += v;
  for (double& v : y) v /= sum;
  return y;
}
Values log_softmax_line(const Values& x) {
  Values y = softmax_line(x);
  for (double& v : y) v = std::log(v);
  return y;
}

}  // namespace

TEST_CASE("softmax and log_softmax along any axis equal a plain loop, and so do their gradients") {
  for (int axis : {0, 1, 2}) {
    const std::vector<std::vector<Dims>> shapes{{{3, 5, 37}}, {{2, 19, 3}}, {{1, 2, 1}}, {{2, 0, 3}}};
    op_test(message("softmax along ", axis),
            {.kernels = "softmax_forward softmax_backward",
             .shapes = shapes,
             .op = [axis](const Tensors& x) { return softmax(x[0], axis); },
             .reference = [axis](const Arrays& x) { return map_lines(x[0], axis, softmax_line); }});
    op_test(message("log_softmax along ", axis),
            {.kernels = "softmax_forward softmax_backward",
             .shapes = shapes,
             .op = [axis](const Tensors& x) { return log_softmax(x[0], axis - 3); },
             .reference = [axis](const Arrays& x) { return map_lines(x[0], axis, log_softmax_line); }});
  }
}

TEST_CASE("softmax of wide lines, and of wide blocks of lines") {
  for_each_isa([](const char*) {
    const Tensor x = random_tensor({3, 3001}, DType::float32, 2, -30, 30),
                 y = random_tensor({301, 290}, DType::float32, 2, -30, 30);
    check_close(softmax(x, 1), map_lines(Array(x), 1, softmax_line), 1e-6);
    check_close(log_softmax(x, 1), map_lines(Array(x), 1, log_softmax_line), 1e-6);
    check_close(softmax(y, 0), map_lines(Array(y), 0, softmax_line), 1e-6);
    check_close(log_softmax(y, 0), map_lines(Array(y), 0, log_softmax_line), 1e-6);
  });
}

TEST_CASE("softmax of a transpose and of a slice") {
  const Tensor x = reshape(arange(1, 13), {3, 4});
  const Tensor y = softmax(transpose(x, 0, 1), 1);
  CHECK(y.at({0, 0}) == Approx(3.2932e-4).epsilon(1e-4));
  CHECK(y.at({0, 1}) == Approx(.0179803).epsilon(1e-5));
  CHECK(y.at({0, 2}) == Approx(.9816904).epsilon(1e-6));
  check_close(y, Array(softmax(contiguous(transpose(x, 0, 1)), 1)), 1e-6);
  for (double s : sum(softmax(slice(x, 1, 1, 3), 1), 1).to_vector<double>()) CHECK(s == Approx(1));
}

TEST_CASE("softmax of extreme values") {
  const double inf = INFINITY;
  for_each_isa([&](const char*) {
    for (DType t : {DType::float32, DType::float64})
      for (bool across : {false, true}) {
        const auto f = [&](std::initializer_list<double> v, bool log) {
          Tensor x = Tensor::from(v, {1, static_cast<int64_t>(v.size())}, t);
          if (across) x = transpose(expand(x, {3, x.size(1)}), 0, 1);
          const Tensor y = log ? log_softmax(x, across ? 0 : 1) : softmax(x, across ? 0 : 1);
          return (across ? select(y, 1, 0) : select(y, 0, 0)).to_vector<double>();
        };
        CHECK(f({1e30, 0, -inf}, false) == Values{1, 0, 0});
        CHECK(f({-inf, -inf, -inf, -inf, -inf, 0}, false) == Values{0, 0, 0, 0, 0, 1});
        CHECK(f({-inf, 3}, true) == Values{-inf, 0});
        for (double v : f({-inf, -inf}, false)) CHECK(std::isnan(v));
        for (double v : f({0, NAN, 1}, false)) CHECK(std::isnan(v));
        for (double v : f({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, NAN}, true)) CHECK(std::isnan(v));
        CHECK(f({0, -200}, true)[1] == Approx(-200));
      }
  });
}

TEST_CASE("softmax gives the same bits on any number of threads") {
  const tutti_test::OnCpu here;
  const Tensor x = random_tensor({130, 517}, DType::float32, 7);
  const auto both = [&] { return Tensors{softmax(x, 0), softmax(x, 1), log_softmax(x, 0), log_softmax(x, 1)}; };
  set_num_threads(1);
  const Tensors one = both();
  for (int threads : {2, 6}) {
    set_num_threads(threads);
    const Tensors many = both();
    for (size_t i = 0; i < one.size(); ++i) check_identical(one[i], many[i]);
  }
  set_num_threads(0);
}

TEST_CASE("softmax differentiates twice") {
  const Tensor x = random_tensor({3, 4}, DType::float64, 8).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& v) { return softmax(v[0], 1); }, {x}));
  CHECK(gradgradcheck([](const Tensors& v) { return log_softmax(v[0], 0); }, {x}));
}

TEST_CASE("malformed softmax says what is wrong") {
  REQUIRE_THROWS_WITH(softmax(zeros({2, 3}), 3), "softmax: axis 3 is out of range for shape [2, 3] (2 axes)");
  REQUIRE_THROWS_WITH(log_softmax(zeros({2, 3}), -3), "log_softmax: axis -3 is out of range for shape [2, 3] (2 axes)");
  REQUIRE_THROWS_WITH(softmax(zeros({2}, {.dtype = DType::int64}), 0), "softmax: int64 is not a floating dtype");
  REQUIRE_THROWS_AS(softmax(Tensor(), 0), ValueError);
}
