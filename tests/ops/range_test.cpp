// Results that exist though a step on the way to them leaves the dtype's range, and infinities that are hidden.
#include <cmath>
#include <limits>

#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/normalization.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

const double infinite = std::numeric_limits<double>::infinity();

/// Near the dtype's largest and smallest numbers.
double large(DType t) { return t == DType::float64 ? 1.5e308 : t == DType::float16 ? 6e4 : 3e38; }
double small(DType t) { return t == DType::float64 ? 1e-300 : t == DType::float16 ? 1e-4 : 1e-37; }
const DType floats[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16};

/// The values in every layout, behind an axis of n copies.
template <class F>
void each_layout(const Tensor& x, const F& body) {
  for_each_isa([&](const char* isa) {
    for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced}) {
      INFO(isa << " layout " << static_cast<int>(layout) << " " << name_of(x.dtype()) << " " << to_string(x.shape()));
      body(with_layout(x, layout));
    }
  });
}

/// [5, n]: +v and -v by turns.
Tensor alternating(DType t, double v, int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < 5 * n; ++i) values.push_back(i % n % 2 ? -v : v);
  return to(Tensor::from(values, {5, n}), t);
}

}  // namespace

TEST_CASE("a mean near the largest number is that number") {
  for (const DType t : floats)
    for (const int64_t n : {2, 9, 700, 70000}) {
      const Tensor x = full({2, n}, large(t), {.dtype = t});
      each_layout(x, [&](const Tensor& v) {
        const double want = x.at({0, 0});
        CHECK(mean(v).item() == Approx(want).epsilon(1e-6));
        CHECK(mean(v, 1).at({1}) == Approx(want).epsilon(1e-6));
        CHECK(mean(v, 0).at({n - 1}) == Approx(want).epsilon(1e-6));
      });
    }
  // The sum itself exists too, though its beginning does not; infinity and NaN stay what they are.
  const Tensor x = Tensor::from({3e38, 3e38, -3e38}, {3});
  CHECK(sum(x).item() == Approx(3e38).epsilon(1e-6));
  CHECK(mean(x).item() == Approx(1e38).epsilon(1e-6));
  CHECK(sum(Tensor::from({3e38, 3e38}, {2})).item() == infinite);
  CHECK(mean(Tensor::from({-infinite, 1}, {2})).item() == -infinite);
  CHECK(std::isnan(mean(Tensor::from({-infinite, infinite}, {2})).item()));
  CHECK(std::isnan(sum(Tensor::from({NAN, 1}, {2})).item()));
}

TEST_CASE("the mean of k ones is 1") {
  for (const DType t : floats) {
    int64_t wrong = 0;
    for (int64_t k = 1; k < 2000; ++k) wrong += mean(ones({k}, {.dtype = t})).item() != 1;
    CHECK(wrong == 0);
  }
  CHECK(mean(full({49}, 3, {.dtype = DType::int64})).item() == 3);
}

TEST_CASE("variances and deviations at both ends of the range") {
  for (const DType t : floats)
    for (const int64_t n : {2, 34, 700}) {
      for (const double v : {large(t), small(t)}) {
        const Tensor x = alternating(t, v, n);
        each_layout(x, [&](const Tensor& y) {
          const double at = x.at({0, 0});
          CHECK(stddev(y, 1, 0.0).at({4}) / at == Approx(1).epsilon(t == DType::float16 ? 1e-2 : 1e-5));
          CHECK(stddev(transpose(y, 0, 1), 0, 0.0).at({0}) / at ==
                Approx(1).epsilon(t == DType::float16 ? 1e-2 : 1e-5));
        });
      }
      const double beyond = var(alternating(t, large(t), n), 1).at({0});
      CHECK(beyond == infinite);
    }
  CHECK(var(full({700}, 3e38)).item() == 0);
  CHECK(var(full({700}, 1e-40)).item() == 0);
  CHECK(std::isnan(var(Tensor::from({infinite, 1}, {2})).item()));
  CHECK(std::isnan(var(Tensor::from({1}, {1})).item()));
  CHECK(std::isnan(var(zeros({0})).item()));
}

TEST_CASE("the gradient of the max norm and the 1-norm: at infinity, and of an infinite gradient") {
  for (const DType t : floats) {
    INFO(name_of(t));
    const Tensor x = Tensor::from({1, infinite, -2, 0}, {4}, t).requires_grad_();
    norm(x, INFINITY).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 1, 0, 0});
    x.zero_grad();
    norm(x, 1).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{1, 1, -1, 0});
    const Tensor y = Tensor::from({-3, 3, 1, 0}, {4}, t).requires_grad_();
    norm(y, INFINITY).backward(full({}, infinite, {.dtype = t}));
    CHECK(y.grad().to_vector<double>() == std::vector<double>{-infinite, infinite, 0, 0});
    y.zero_grad();
    norm(y, 1).backward(full({}, infinite, {.dtype = t}));
    CHECK(y.grad().to_vector<double>() == std::vector<double>{-infinite, infinite, infinite, 0});
    y.zero_grad();
    norm(mul(y, 0), INFINITY).backward();
    CHECK(y.grad().to_vector<double>() == std::vector<double>(4, 0));
    const Tensor z = Tensor::from({NAN, 1}, {2}, t).requires_grad_();
    norm(z, INFINITY).backward();
    CHECK(std::isnan(z.grad().at({0})));
  }
}

TEST_CASE("variances of columns and of everything whose squares vanish, beside usual ones") {
  for (const DType t : {DType::float32, DType::float64, DType::bfloat16}) {
    const bool wide = t == DType::float64;
    for (const double v :
         wide ? std::vector<double>{1e-158, 1e-200, 1e-320} : std::vector<double>{1e-18, 1e-22, 1e-40}) {
      const Tensor x = alternating(t, v, 130);  // [5, 130]
      const double at = x.at({0, 0});
      each_layout(x, [&](const Tensor& y) {
        CHECK(stddev(y, Dims{0, 1}, 0.0).item() / at == Approx(1).epsilon(1e-5));
        CHECK(stddev(transpose(y, 0, 1), Dims{0}, 0.0).at({3}) / at == Approx(1).epsilon(1e-5));
      });
      const Tensor both = stddev(Tensor::from({v, 3, -v, 1, v, 3, -v, 1}, {4, 2}, t), Dims{0}, 0.0);
      CHECK(both.at({0}) / at == Approx(1).epsilon(1e-5));
      CHECK(both.at({1}) == 1);
    }
    CHECK(var(zeros({70, 3}, {.dtype = t}), 0).to_vector<double>() == std::vector<double>(3, 0));
  }
}

TEST_CASE("the gradient of a deviation at both ends of the range") {
  for (const double v : {3e38, 1e-40}) {
    const Tensor x = Tensor::from({v, -v, v}, {3}).requires_grad_();
    stddev(x, {0}, 0).backward();
    CHECK(x.grad().at({0}) == Approx(.2357023).epsilon(1e-4));
    CHECK(x.grad().at({1}) == Approx(-.4714045).epsilon(1e-4));
  }
  const Tensor x = Tensor::from({3e38, -3e38, 3e38}, {3}).requires_grad_();
  var(x, {0}, 0).backward(full({}, 1e-10));
  CHECK(x.grad().at({1}) == Approx(-2.0 / 3 * 4e28).epsilon(1e-5));
}

TEST_CASE("normalisation at both ends of the range, forward and backward") {
  for_each_isa([](const char* isa) {
    for (const DType t : {DType::float32, DType::bfloat16, DType::float64})
      for (const int64_t n : {2, 70})
        for (const double v : {3e38, 1e25, 1e-25, 1e-37}) {
          INFO(isa << " " << name_of(t) << " " << n << " " << v);
          const double tolerance = t == DType::bfloat16 ? 1e-2 : 1e-5;
          const Tensor signs = alternating(t, 1, n), dy = mul(add(signs, 3), signs);  // 4 and -2 by turns
          for (const bool center : {true, false}) {
            const auto run = [&](const Tensor& in) {
              const Tensor x = in.detach().requires_grad_(), w = ones({n}, {.dtype = t}).requires_grad_();
              const Tensor y = center ? layer_norm(x, w, {}, 0) : rms_norm(x, w, 0);
              y.backward(dy);
              return std::vector<Tensor>{y.detach(), x.grad(), w.grad()};
            };
            const Tensor ramp = mul(signs, to(Tensor::from({1, .5, .25, .5, 1}, {5, 1}), t));
            const auto want = run(ramp), got = run(mul(ramp, v));
            for (const int64_t i : {0, 1}) {
              CHECK(got[0].at({1, i}) == Approx(want[0].at({1, i})).epsilon(tolerance));
              CHECK(got[2].at({i}) == Approx(want[2].at({i})).epsilon(tolerance));
              CHECK(std::isfinite(got[1].at({1, i})));
            }
            if (v > 1e37 || v < 1e-36 || n == 2) continue;  // dx is a subnormal number, or 0 by symmetry
            const Tensor tilted = mul(ramp, add(div(arange(n, {.dtype = t}), n), 1));
            const Tensor dx = run(tilted)[1], far = run(mul(tilted, v))[1];
            CHECK(far.at({0, 3}) * v == Approx(dx.at({0, 3})).epsilon(5 * tolerance).margin(5 * tolerance));
          }
        }
  });
}

TEST_CASE("what is computed in double is rounded once to a half type") {
  for_each_isa([](const char*) {
    const auto strided = [](std::vector<double> v, DType t) {
      std::vector<double> both;
      for (const double x : v) both.insert(both.end(), {x, 0});
      return slice(to(Tensor::from(both, {static_cast<int64_t>(v.size()), 2}), t), 1, 0, 1);
    };
    CHECK(sum(strided({256, 1, 0x1p-30}, DType::bfloat16)).item() == 258);
    CHECK(sum(strided({2048, 1, 0x1p-24}, DType::float16)).item() == 2050);
  });
}

TEST_CASE("the gradient of a mean of k numbers for dy = k is 1") {
  int64_t wrong = 0;
  for (int64_t k = 1; k < 2000; ++k) {
    const Tensor x = zeros({k}, {.dtype = DType::float64}).requires_grad_();
    mean(x).backward(full({}, k, {.dtype = DType::float64}));
    wrong += x.grad().at({0}) != 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("normalisation at both ends of the range: the gradient that differentiates again") {
  for (const double v : {1e25, 1e-25, 1.0})
    for (const bool center : {true, false}) {
      const Tensor x = mul(Tensor::from({1, -2, .5, 3, 1, 1}, {2, 3}), v).requires_grad_();
      const auto dx = [&](bool twice) {
        const Tensor y = center ? layer_norm(x, {}, {}, 0) : rms_norm(x, {}, 0);
        return grad({y}, {x}, {Tensor::from({1, 2, -1, 0, 1, 3}, {2, 3})}, {.create_graph = twice})[0];
      };
      const Tensor once = dx(false), again = dx(true);
      INFO(v << " " << center);
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t j = 0; j < 3; ++j)
          CHECK(again.at({i, j}) * v == Approx(once.at({i, j}) * v).epsilon(1e-4).margin(1e-5));
    }
}
