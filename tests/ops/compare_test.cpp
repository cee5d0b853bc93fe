// Comparisons, logic and selection.
#include "tutti/ops/compare.h"

#include <cmath>

#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"

using namespace tutti;
using namespace tutti_test;

namespace {
using Values = std::vector<double>;
}

TEST_CASE("comparisons over dtypes, layouts and instruction sets") {
  for_each_isa([](const char* isa) {
    for (const DType dtype :
         {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::int64, DType::int32, DType::uint8})
      for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced, Layout::broadcast}) {
        INFO(isa << " " << tutti::name_of(dtype));
        std::vector<double> va, vb;
        for (int i = 0; i < 19 * 21; ++i) va.push_back(i * 7 % 5), vb.push_back(i * 11 % 5);
        const Tensor a = with_layout(to(Tensor::from(va, {19, 21}), dtype), layout);
        const Tensor b = with_layout(to(Tensor::from(vb, {19, 21}), dtype), layout);
        const auto x = a.to_vector<double>(), y = b.to_vector<double>();
        const auto check = [&](const Tensor& got, auto holds, bool number) {
          REQUIRE(got.dtype() == DType::boolean);
          const auto v = got.to_vector<double>();
          bool same = true;
          for (size_t i = 0; i < v.size(); ++i) same &= v[i] == (holds(x[i], number ? 2.0 : y[i]) ? 1 : 0);
          CHECK(same);
        };
        check(
            eq(a, b), [](double p, double q) { return p == q; }, false);
        check(
            ne(a, b), [](double p, double q) { return p != q; }, false);
        check(
            a < b, [](double p, double q) { return p < q; }, false);
        check(
            a <= b, [](double p, double q) { return p <= q; }, false);
        check(
            a > b, [](double p, double q) { return p > q; }, false);
        check(
            a >= b, [](double p, double q) { return p >= q; }, false);
        check(
            eq(a, 2), [](double p, double q) { return p == q; }, true);
        check(
            ne(a, 2), [](double p, double q) { return p != q; }, true);
        check(
            a < 2, [](double p, double q) { return p < q; }, true);
        check(
            a <= 2, [](double p, double q) { return p <= q; }, true);
        check(
            a > 2, [](double p, double q) { return p > q; }, true);
        check(
            a >= 2, [](double p, double q) { return p >= q; }, true);
      }
  });
}

TEST_CASE("a comparison with NaN is false, except ne, and isnan finds it") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
      const Tensor a = Tensor::from({std::nan(""), 1, 2, INFINITY}, {4}, dtype);
      CHECK(eq(a, a).to_vector<double>() == Values{0, 1, 1, 1});
      CHECK(ne(a, a).to_vector<double>() == Values{1, 0, 0, 0});
      CHECK(ne(a, 1).to_vector<double>() == Values{1, 0, 1, 1});
      CHECK(le(a, a).to_vector<double>() == Values{0, 1, 1, 1});
      CHECK(gt(a, 1).to_vector<double>() == Values{0, 0, 1, 1});
      CHECK(isnan(a).to_vector<double>() == Values{1, 0, 0, 0});
    }
    CHECK(isnan(arange(2)).to_vector<double>() == Values{0, 0});
    const int64_t big = (int64_t{1} << 53) + 1;  // not a double
    CHECK(eq(Tensor::from(std::vector<int64_t>{big}, {1}), Tensor::from(std::vector<int64_t>{big - 1}, {1})).item() ==
          0);
  });
}

TEST_CASE("comparisons broadcast, and take empty and 0-d tensors") {
  CHECK(lt(Tensor::from({1, 2, 3}, {3, 1}), Tensor::from({2, 3}, {2})).to_vector<double>() == Values{1, 1, 0, 1, 0, 0});
  CHECK(lt(zeros({0, 3}), zeros({3})).shape() == Dims{0, 3});
  CHECK(gt(full({}, 2), 1).item() == 1);
}

TEST_CASE("logic") {
  const Tensor a = Tensor::from({0, 0, 1, 1}, {4}, DType::boolean), b = Tensor::from({0, 1, 0, 1}, {4}, DType::boolean);
  for_each_isa([&](const char* isa) {
    INFO(isa);
    CHECK(logical_and(a, b).to_vector<double>() == Values{0, 0, 0, 1});
    CHECK(logical_or(a, b).to_vector<double>() == Values{0, 1, 1, 1});
    CHECK(logical_not(a).to_vector<double>() == Values{1, 1, 0, 0});
    CHECK(logical_not(zeros({0}, {.dtype = DType::boolean})).numel() == 0);
  });
  REQUIRE_THROWS_WITH(logical_and(a, zeros({4})), "logical_and: b must be bool, not float32");
  REQUIRE_THROWS_WITH(logical_not(zeros({4})), "logical_not: x must be bool, not float32");
}

TEST_CASE("where and masked_fill: values and gradients") {
  const Tensor c = gt(random_tensor({5, 1}, DType::float32, 9), 0);
  const auto condition = c.to_vector<double>();
  op_test("where", {.kernels = "where masked_fill compare compare_scalar logic",
                    .shapes = {{{5, 37}, {5, 37}}, {{5, 37}, {37}}, {{5, 3}, {}}, {{5, 0}, {5, 0}}},
                    .op = [c](const Tensors& x) { return where(c, x[0], x[1]); },
                    .reference =
                        [&](const Arrays& x) {
                          Array y(x[0].shape);
                          for (int64_t i = 0; i < y.numel(); ++i) {
                            const int64_t n = y.shape[1];
                            const int64_t other = x[1].shape.n == 0 ? 0 : x[1].shape.n == 1 ? i % n : i;
                            y[i] = condition[static_cast<size_t>(i / n)] != 0 ? x[0][i] : x[1][other];
                          }
                          return y;
                        }});
  op_test("masked_fill", {.kernels = "masked_fill",
                          .shapes = {{{5, 37}}, {{5, 3}}, {{5, 0}}},
                          .op = [c](const Tensors& x) { return masked_fill(x[0], c, -7); },
                          .reference =
                              [&](const Arrays& x) {
                                Array y(x[0].shape);
                                for (int64_t i = 0; i < y.numel(); ++i)
                                  y[i] = condition[static_cast<size_t>(i / y.shape[1])] != 0 ? -7 : x[0][i];
                                return y;
                              }});
}

TEST_CASE("where: integers, what is not chosen leaves no trace, second derivatives") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    const Tensor c = Tensor::from({1, 0}, {2}, DType::boolean);
    CHECK(where(c, arange(2), arange(2) + 5).to_vector<double>() == Values{0, 6});
    CHECK(where(c, c, logical_not(c)).to_vector<double>() == Values{1, 1});
    Tensor a = Tensor::from({1, std::nan("")}, {2}).requires_grad_();
    const Tensor y = where(c, a, Tensor::from({3, 4}, {2}));
    CHECK(y.to_vector<double>() == Values{1, 4});
    sum(y).backward();
    CHECK(a.grad().to_vector<double>() == Values{1, 0});
    CHECK(masked_fill(arange(3), Tensor::from({0, 1, 0}, {3}, DType::boolean), -1).to_vector<double>() ==
          Values{0, -1, 2});
  });
  Tensor a = random_tensor({3, 4}, DType::float64, 1), b = random_tensor({4}, DType::float64, 2);
  a.requires_grad_();
  b.requires_grad_();
  const Tensor mask = gt(random_tensor({3, 4}, DType::float64, 3), 0);
  CHECK(gradgradcheck(
      [&](const std::vector<Tensor>& x) {
        const Tensor y = where(mask, x[0] * x[1], x[1]);
        return masked_fill(y * y, logical_not(mask), 2);
      },
      {a, b}));
}

TEST_CASE("compare: errors name the operation and the operands") {
  const Tensor x = zeros({2, 3}), mask = zeros({4}, {.dtype = DType::boolean});
  REQUIRE_THROWS_WITH(lt(x, zeros({2, 4})), "lt: shapes [2, 3] and [2, 4] do not broadcast at axis 1 (3 vs 4)");
  REQUIRE_THROWS_WITH(lt(x, arange(3)), "lt: dtypes float32 and int64 differ; convert one with to(x, dtype)");
  REQUIRE_THROWS_WITH(lt(arange(3), 0.5), "lt: 0.5 is not a value of int64; convert with to(x, dtype)");
  REQUIRE_THROWS_WITH(where(x, x, x), "where: condition must be bool, not float32");
  REQUIRE_THROWS_WITH(where(mask, x, x), "where: shapes [2, 3] and [4] do not broadcast at axis 1 (3 vs 4)");
  REQUIRE_THROWS_WITH(masked_fill(zeros({4}), zeros({2, 4}, {.dtype = DType::boolean}), 0),
                      "masked_fill: a mask of shape [2, 4] does not broadcast to shape [4]");
  REQUIRE_THROWS_WITH(isnan(Tensor()), "isnan: x is undefined");
}
