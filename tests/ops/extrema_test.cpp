#include "tutti/ops/extrema.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/lines.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// Positions in order of rank: NaN first, then largest (smallest) first, equal ones by position.
std::vector<size_t> ranked(const Values& x, bool largest) {
  std::vector<size_t> at(x.size());
  std::iota(at.begin(), at.end(), size_t{0});
  std::stable_sort(at.begin(), at.end(), [&](size_t a, size_t b) {
    if (std::isnan(x[a]) || std::isnan(x[b])) return std::isnan(x[a]) && !std::isnan(x[b]);
    return largest ? x[a] > x[b] : x[a] < x[b];
  });
  return at;
}
Values best(const Values& x, int64_t k, bool largest, bool positions) {
  const auto at = ranked(x, largest);
  Values y;
  for (size_t i = 0; i < static_cast<size_t>(k); ++i) y.push_back(positions ? static_cast<double>(at[i]) : x[at[i]]);
  return y;
}

/// Central differences, where no two elements are equal.
void check_gradient(const std::function<Tensor(const Tensors&)>& f) {
  for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced}) {
    Tensor x = with_layout(random_tensor({3, 5, 7}, DType::float64, 11), layout);
    CHECK(gradcheck(f, {x.requires_grad_()}));
  }
}

}  // namespace

TEST_CASE("max and min along an axis equal a plain loop, and so do their gradients") {
  for (int axis : {0, 1, 2})
    for (bool largest : {true, false}) {
      const auto f = [=](const Tensors& x) { return (largest ? max(x[0], axis, true) : min(x[0], axis, true)).values; };
      const auto line = [=](const Values& v) { return best(v, 1, largest, false); };
      op_test(message(largest ? "max" : "min", " along ", axis),
              {.kernels = "extremum place",
               .shapes = {{{3, 5, 37}}, {{2, 18, 3}}, {{1, 2, 1}}},
               .op = f,
               .reference = [=](const Arrays& x) { return map_lines(x[0], axis, line, 1); },
               .gradient = false});
      check_gradient(f);
    }
  const auto all = [](const Tensors& x) { return max(x[0]); };
  op_test("max of everything", {.kernels = "extremum place",
                                .shapes = {{{3, 37}}, {{}}},
                                .op = all,
                                .reference =
                                    [](const Arrays& x) {
                                      Array y(Dims{});
                                      y[0] = *std::max_element(x[0].v.begin(), x[0].v.end());
                                      return y;
                                    },
                                .gradient = false});
  check_gradient(all);
}

TEST_CASE("topk equals a stable sort, and so does its gradient") {
  for (int axis : {0, 1})
    for (int64_t k : {0, 1, 3, 70})
      for (bool largest : {true, false}) {
        const Dims shape = k == 70 ? Dims{75, 90} : Dims{5, 7};
        OpTest test;
        test.kernels = "topk place";
        test.shapes = {{shape}};
        test.gradient = false;
        test.op = [=](const Tensors& x) { return topk(x[0], k, axis, largest).values; };
        test.reference = [=](const Arrays& x) {
          return map_lines(
              x[0], axis, [=](const Values& v) { return best(v, k, largest, false); }, k);
        };
        op_test(message("topk ", k, " along ", axis), test);
        if (k == 3) check_gradient(test.op);
        // Few distinct values, so that equal ones show their order.
        const Tensor x = to(random_tensor(shape, DType::float32, 4, 0, 5), DType::int32);
        check_close(topk(x, k, axis, largest).indices,
                    map_lines(
                        Array(x), axis, [=](const Values& v) { return best(v, k, largest, true); }, k),
                    0);
      }
}

TEST_CASE("positions are those of the first, in every layout, dtype and instruction set") {
  for_each_isa([](const char*) {
    for (DType t :
         {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::int64, DType::int32, DType::uint8})
      for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced})
        for (int axis : {0, 1})
          for (double spread : {3.0, 200.0})
            for (bool largest : {true, false}) {
              const Tensor x =
                  with_layout(to(to(random_tensor({75, 131}, DType::float32, 6, 0, spread), DType::uint8), t), layout);
              INFO(largest << " axis " << axis << " " << static_cast<int>(layout) << " " << name_of(t));
              const Array want = map_lines(
                  Array(x), axis, [=](const Values& v) { return best(v, 1, largest, true); }, 1);
              check_close(largest ? argmax(x, axis, true) : argmin(x, axis, true), want, 0);
              check_close((largest ? max(x, axis, true) : min(x, axis, true)).indices, want, 0);
            }
  });
}

TEST_CASE("NaN beats everything, and the first of equals wins") {
  for_each_isa([](const char*) {
    for (DType t : {DType::float32, DType::float64, DType::float16})
      for (int64_t n : {3, 40, 300}) {
        for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
          std::vector<double> v(static_cast<size_t>(n), 1.0);
          v[static_cast<size_t>(at)] = NAN;
          v[static_cast<size_t>(n - 1)] = NAN;
          v[static_cast<size_t>(at == 0)] = INFINITY;
          if (at == 0) v[0] = NAN;
          if (at == n / 2 && n == 3) v[1] = NAN;
          const Tensor x = to(Tensor::from(v, {n}), t), columns = transpose(expand(x, {20, n}), 0, 1);
          CHECK(std::isnan(max(x).item()));
          CHECK(std::isnan(min(x).item()));
          CHECK(argmax(x).item() == static_cast<double>(at));
          CHECK(argmin(x).item() == static_cast<double>(at));
          CHECK(argmax(columns, 0).to_vector<double>() == Values(20, static_cast<double>(at)));
          CHECK(argmin(contiguous(columns), 0).to_vector<double>() == Values(20, static_cast<double>(at)));
          CHECK(topk(x, 1).indices.item() == static_cast<double>(at));
        }
        CHECK(argmax(full({n}, -INFINITY, {.dtype = t})).item() == 0);
      }
  });
  CHECK(argmax(Tensor::from({1, 3, 3}, {3})).item() == 1);
  CHECK(argmax(Tensor::from({1, 2}, {1, 2}), 0).to_vector<double>() == Values{0, 0});
  CHECK(argmax(Tensor::from({5}, {})).item() == 0);
  CHECK(argmax(zeros({0, 3}), 1).shape() == Dims{0});
  // A line longer than the pieces that it is cut into.
  Tensor lengthy = random_tensor({2, 150001}, DType::float32, 3);
  const Array want = map_lines(
      Array(lengthy), 1, [](const Values& v) { return best(v, 1, true, true); }, 1);
  check_close(argmax(lengthy, 1, true), want, 0);
  check_close(argmax(contiguous(transpose(lengthy, 0, 1)), 0), Array(argmax(lengthy, 1)), 0);
}

TEST_CASE("gradients go to the chosen elements only") {
  const Tensor x = Tensor::from({1, 3, 3, 2, 0, 2}, {2, 3}).requires_grad_();
  max(x).backward();
  CHECK(x.grad().to_vector<double>() == Values{0, 1, 0, 0, 0, 0});
  x.zero_grad();
  max(x, 1).values.backward(Tensor::from({5, 7}, {2}));
  CHECK(x.grad().to_vector<double>() == Values{0, 5, 0, 7, 0, 0});
  const Tensor y = random_tensor({3, 4}, DType::float64, 8).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& v) { return topk(v[0], 2, 0).values; }, {y}));
  CHECK_FALSE(max(x, 1).indices.requires_grad());
}

TEST_CASE("malformed calls of max and topk say what is wrong") {
  REQUIRE_THROWS_WITH(max(zeros({2, 0}), 1), "max: axis 1 of shape [2, 0] has no elements");
  REQUIRE_THROWS_WITH(min(zeros({2, 0})), "min: shape [2, 0] has no elements");
  REQUIRE_THROWS_WITH(argmax(zeros({0})), "argmax: shape [0] has no elements");
  REQUIRE_THROWS_WITH(argmin(zeros({2}), 1), "argmin: axis 1 is out of range for shape [2] (1 axes)");
  REQUIRE_THROWS_WITH(topk(zeros({2, 3}), 4), "topk: k = 4 is out of range [0, 3] for axis -1 of shape [2, 3]");
  REQUIRE_THROWS_AS(topk(zeros({2, 3}), -1), IndexError);
  REQUIRE_THROWS_WITH(max(Tensor()), "max: x is undefined");
}
