#include "tutti/ops/cumulative.h"

#include <cmath>

#include "support/lines.h"
#include "support/malformed.h"
#include "tutti/core/parallel.h"

using namespace tutti;
using namespace tutti_test;

namespace {

Values sums(const Values& x) {
  Values y;
  double s = 0;
  for (double v : x) y.push_back(s += v);
  return y;
}
double product(const Values& x) {
  double p = 1;
  for (double v : x) p *= v;
  return p;
}

}  // namespace

TEST_CASE("cumsum equals a plain loop, and so does its gradient") {
  for (int axis : {0, 1, 2})
    op_test(message("cumsum along ", axis),
            {.kernels = "cumsum",
             .shapes = {{{3, 5, 37}}, {{2, 33, 3}}, {{1, 2, 1}}, {{2, 0, 3}}},
             .op = [=](const Tensors& x) { return cumsum(x[0], axis - 3); },
             .reference = [=](const Arrays& x) { return map_lines(x[0], axis, sums); }});
  Tensor x = random_tensor({3, 4}, DType::float64, 1).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& v) { return cumsum(v[0] * v[0], 0); }, {x}));
}

TEST_CASE("cumsum: integers, special values, long lines, any number of threads") {
  for_each_isa([](const char*) {
    for (DType t : {DType::int64, DType::int32, DType::uint8, DType::boolean}) {
      const Tensor y = cumsum(ones({3, 300}, {.dtype = t}), 1);
      CHECK(y.dtype() == DType::int64);
      CHECK(y.at({2, 299}) == 300);
    }
    CHECK(cumsum(full({2}, INT64_MAX, {.dtype = DType::int64}), 0).to_vector<int64_t>()[1] == -2);
    CHECK(cumsum(full({}, 3), 0).item() == 3);
    const Values y = cumsum(Tensor::from({1, INFINITY, 1, -INFINITY, 1}, {5}), 0).to_vector<double>();
    CHECK((y[0] == 1 && y[1] == INFINITY && y[2] == INFINITY && std::isnan(y[3]) && std::isnan(y[4])));
    CHECK(cumsum(full({1000}, 0.1f), 0).at({999}) == Approx(100).epsilon(1e-7));
    for (DType t : {DType::float32, DType::int64}) {  // longer than the pieces that it is cut into, and columns
      const Tensor x = to(random_tensor({2, 150001}, DType::float32, 3, -9, 9), t);
      check_close(cumsum(x, 1), map_lines(Array(x), 1, sums), 1e-6);
      check_close(cumsum(contiguous(transpose(slice(x, 1, 0, 700), 0, 1)), 0),
                  map_lines(Array(contiguous(transpose(slice(x, 1, 0, 700), 0, 1))), 0, sums), 1e-6);
    }
  });
  const Tensor x = random_tensor({3, 200003}, DType::float32, 5);
  set_num_threads(1);
  const Tensor want = cumsum(x, 1), product = prod(x, 1);
  for (int n : {2, 6}) {
    set_num_threads(n);
    check_identical(cumsum(x, 1), want);
    check_identical(prod(x, 1), product);
  }
  set_num_threads(0);
}

TEST_CASE("prod equals a plain loop, and so does its gradient") {
  for (int axis : {0, 1, 2})
    op_test(message("prod along ", axis), {.kernels = "prod",
                                           .shapes = {{{3, 5, 7}}, {{2, 9, 17}}, {{1, 2, 1}}, {{2, 0, 3}}},
                                           .op = [=](const Tensors& x) { return prod(x[0], axis, true); },
                                           .reference =
                                               [=](const Arrays& x) {
                                                 return map_lines(
                                                     x[0], axis, [](const Values& v) { return Values{product(v)}; }, 1);
                                               },
                                           .low = 0.5,
                                           .high = 1.8});
  op_test("prod of everything", {.kernels = "prod",
                                 .shapes = {{{2, 5}}, {{}}, {{0}}},
                                 .op = [](const Tensors& x) { return prod(x[0]); },
                                 .reference =
                                     [](const Arrays& x) {
                                       Array y(Dims{});
                                       y[0] = product(x[0].v);
                                       return y;
                                     },
                                 .low = 0.5,
                                 .high = 1.5});
}

TEST_CASE("prod: gradients where elements are 0, and second derivatives there") {
  for (const Values& v : {Values{2, 3, 4, 5}, Values{2, 0, 4, 5}, Values{0, 3, 0, 5}, Values{0, 0, 0, 1}}) {
    Tensor x = Tensor::from(v, {2, 2}).requires_grad_();
    prod(x).backward();
    for (size_t i = 0; i < 4; ++i) {
      Values others = v;
      others[i] = 1;
      CHECK(x.grad().to_vector<double>()[i] == product(others));
    }
    CHECK(gradcheck([](const Tensors& t) { return prod(t[0], 1); }, {x}));
    CHECK(gradgradcheck([](const Tensors& t) { return prod(t[0]); }, {x}));
    CHECK(gradgradcheck([](const Tensors& t) { return prod(t[0], 0, true); }, {x}));
  }
}

TEST_CASE("prod: integers, empty and long lines, what float32 would lose on the way") {
  for_each_isa([](const char*) {
    for (DType t : {DType::int64, DType::int32, DType::uint8}) {
      const Tensor y = prod(full({3, 7}, 2, {.dtype = t}), 0);
      CHECK(y.dtype() == DType::int64);
      CHECK(y.to_vector<double>() == Values(7, 8.0));
    }
    CHECK(prod(to(Tensor::from({1, 0}, {2}), DType::boolean)).item() == 0);
    CHECK(prod(full({70}, 3, {.dtype = DType::int64})).to_vector<int64_t>()[0] == static_cast<int64_t>([] {
            uint64_t p = 1;
            for (int i = 0; i < 70; ++i) p *= 3;
            return p;
          }()));
    CHECK(prod(zeros({2, 0}), 1).to_vector<double>() == Values{1, 1});
    CHECK(prod(zeros({0, 2}), 1).shape() == Dims{0});
    CHECK(prod(Tensor::from({1e30, 1e30, 1e-30, 1e-30}, {4})).item() == Approx(1));
    CHECK(std::isnan(prod(Tensor::from({0, INFINITY}, {2})).item()));
    const Tensor x = random_tensor({2, 100003}, DType::float64, 3, 0.99, 1.01);
    check_close(prod(x, 1, true),
                map_lines(
                    Array(x), 1, [](const Values& v) { return Values{product(v)}; }, 1),
                1e-10);
  });
}

TEST_CASE("malformed: cumsum and prod") {
  check_malformed({
      {[](const Given& g) { cumsum(g.x, 2); }, "IndexError",
       "cumsum: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { cumsum(g.none, 0); }, "ValueError", "cumsum: x is undefined"},
      {[](const Given& g) { prod(g.x, -3); }, "IndexError", "prod: axis -3 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { prod(g.none); }, "ValueError", "prod: x is undefined"},
  });
}
