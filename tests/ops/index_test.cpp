// Picking and placing by index against plain loops: for every layout, both index dtypes, and duplicates in order.
#include "tutti/ops/index.h"

#include "support/catch.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/backends/contract/index.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/random.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

using Values = std::vector<double>;

Tensor ints(std::initializer_list<double> v, const Dims& shape, DType t = DType::int64) {
  return Tensor::from(v, shape, t);
}

}  // namespace

TEST_CASE("index_select") {
  for (DType t : {DType::int64, DType::int32})
    op_test("index_select", {.kernels = "gather check_index index_add",
                             .shapes = {{{3, 4}}, {{3, 4, 5}}, {{1, 4, 0}}},
                             .op =
                                 [=](const Tensors& x) {
                                   return index_select(x[0], 1, ints({3, 0, 3, 1, 3}, {5}, t));
                                 },
                             .reference =
                                 [](const Arrays& x) {
                                   const int64_t n = x[0].shape[0], inner = x[0].shape.n == 3 ? x[0].shape[2] : 1;
                                   Dims shape = x[0].shape;
                                   shape[1] = 5;
                                   Array y(shape);
                                   const int64_t at[] = {3, 0, 3, 1, 3};
                                   for (int64_t i = 0; i < n; ++i)
                                     for (int64_t j = 0; j < 5; ++j)
                                       for (int64_t k = 0; k < inner; ++k)
                                         y[(i * 5 + j) * inner + k] = x[0][(i * 4 + at[j]) * inner + k];
                                   return y;
                                 }});
}

TEST_CASE("embedding") {
  op_test("embedding", {.kernels = "gather index_add",
                        .shapes = {{{4, 3}}, {{5, 33}}, {{4, 0}}},
                        .op =
                            [](const Tensors& x) {
                              return embedding(slice(ints({3, 9, 0, 9, 3, 9}, {3, 2}), 1, 0, 1), x[0]);
                            },
                        .reference =
                            [](const Arrays& x) {
                              const int64_t c = x[0].shape[1], at[] = {3, 0, 3};
                              Array y({3, 1, c});
                              for (int64_t i = 0; i < 3 * c; ++i) y[i] = x[0][at[i / c] * c + i % c];
                              return y;
                            }});
}

TEST_CASE("embedding: duplicates count, as numbers of the design say") {
  Tensor w = zeros({5, 2}).requires_grad_();
  sum(embedding(ints({1, 1, 3}, {3}), w)).backward();
  CHECK(w.grad().to_vector<double>() == Values{0, 0, 2, 2, 0, 0, 1, 1, 0, 0});
}

TEST_CASE("embedding's gradient is repeatable, on every instruction set and number of threads") {
  Generator g(3);
  for (int64_t width : {8, 100, 300}) {
    Tensor w = randn({57, width}, {}, g).requires_grad_();
    const Tensor index = randint(0, 57, {40, 70}, {.dtype = DType::int32}, g);
    const Tensor dy = randn({40, 70, width}, {}, g);
    Array want(w.shape());
    const auto at = index.to_vector<int64_t>();
    const auto d = dy.to_vector<float>();
    std::vector<float> sums(want.v.size());
    for (size_t j = 0; j < at.size(); ++j)
      for (size_t c = 0; c < static_cast<size_t>(width); ++c)
        sums[static_cast<size_t>(at[j] * width) + c] += d[j * static_cast<size_t>(width) + c];
    for_each_isa([&](const char* isa) {
      for (int threads : {1, 2, 6}) {
        INFO(isa << " " << threads << " " << width);
        set_num_threads(threads);
        const Tensor got = grad({embedding(index, w)}, {w}, {dy})[0];
        CHECK(got.to_vector<float>() == sums);  // the plain loop in index order, bit for bit
      }
    });
    set_num_threads(0);
  }
}

TEST_CASE("gather and scatter_add") {
  op_test("gather", {.kernels = "gather scatter_add",
                     .shapes = {{{4, 3, 2}}, {{4, 2, 2}}},
                     .op =
                         [](const Tensors& x) {
                           return gather(x[0], 0, ints({3, 0, 1, 1, 2, 3, 3, 3}, {2, 2, 2}));
                         },
                     .reference =
                         [](const Arrays& x) {
                           const int64_t at[] = {3, 0, 1, 1, 2, 3, 3, 3}, n = x[0].shape[1];
                           Array y({2, 2, 2});
                           for (int64_t i = 0; i < 8; ++i) y[i] = x[0][(at[i] * n + i / 2 % 2) * 2 + i % 2];
                           return y;
                         }});
  op_test("scatter_add", {.kernels = "scatter_add",
                          .shapes = {{{3, 4}, {2, 3}}, {{2, 4}, {2, 3}}},
                          .op =
                              [](const Tensors& x) {
                                return scatter_add(x[0], -1, ints({0, 3, 0, 2, 2, 2}, {2, 3}, DType::int32), x[1]);
                              },
                          .reference =
                              [](const Arrays& x) {
                                Array y = x[0];
                                const int64_t at[] = {0, 3, 0, 2, 2, 2};
                                for (int64_t i = 0; i < 6; ++i) y[i / 3 * 4 + at[i]] += x[1][i];
                                return y;
                              }});
  op_test("gather with an index of stride 0", {.shapes = {{{2, 5}}},
                                               .op =
                                                   [](const Tensors& x) {
                                                     return gather(x[0], 1, expand(ints({4}, {1, 1}), {2, 3}));
                                                   },
                                               .reference =
                                                   [](const Arrays& x) {
                                                     Array y({2, 3});
                                                     for (int64_t i = 0; i < 6; ++i) y[i] = x[0][i / 3 * 5 + 4];
                                                     return y;
                                                   }});
}

TEST_CASE("tril and triu (kernel triangle)") {
  for (int64_t d : {-5, -1, 0, 2, 9})
    for (bool lower : {true, false})
      op_test("triangle", {.kernels = "triangle",
                           .shapes = {{{3, 4}}, {{2, 4, 3}}, {{0, 2, 2}}},
                           .op = [=](const Tensors& x) { return lower ? tril(x[0], d) : triu(x[0], d); },
                           .reference =
                               [=](const Arrays& x) {
                                 Array y = x[0];
                                 const int64_t w = y.shape[y.shape.n - 1], h = y.shape[y.shape.n - 2];
                                 for (int64_t i = 0; i < y.numel(); ++i) {
                                   const int64_t off = i % w - i / w % h;
                                   if (lower ? off > d : off < d) y[i] = 0;
                                 }
                                 return y;
                               },
                           .half = d == 0});
  CHECK(tril(ones({2, 2}, {.dtype = DType::boolean})).to_vector<double>() == Values{1, 0, 1, 1});
  CHECK(triu(ones({2, 2}), INT64_MIN).to_vector<double>() == Values{1, 1, 1, 1});
  CHECK(tril(full({1, 2}, INFINITY), INT64_MIN).to_vector<double>() == Values{0, 0});
}

TEST_CASE("one_hot") {
  const Tensor y = one_hot(ints({2, 0}, {2}, DType::int32), 3);
  CHECK(y.to_vector<double>() == Values{0, 0, 1, 1, 0, 0});
  CHECK(y.dtype() == DType::int64);
  CHECK(one_hot(ints({1}, {}), 2).to_vector<double>() == Values{0, 1});
  CHECK(one_hot(zeros({0, 4}, {.dtype = DType::int64}), 3).shape() == Dims{0, 4, 3});
}

TEST_CASE("values of any dtype are moved, and integers are added") {
  for (DType t : {DType::bfloat16, DType::float16, DType::int64, DType::int32, DType::uint8, DType::boolean}) {
    const Tensor x = ints({1, 0, 0, 1}, {4}, t);
    CHECK(index_select(x, 0, ints({3, 1}, {2})).to_vector<double>() == Values{1, 0});
    CHECK(gather(x, 0, ints({0, 0, 2}, {3})).dtype() == t);
  }
  CHECK(scatter_add(arange(3), 0, ints({2, 2}, {2}), ints({5, 6}, {2})).to_vector<double>() == Values{0, 1, 13});
}

TEST_CASE("gradients in half precision are summed in float32") {
  Tensor w = zeros({1, 1}, {.dtype = DType::bfloat16}).requires_grad_();
  sum(embedding(zeros({1000}, {.dtype = DType::int64}), w)).backward();
  CHECK(w.grad().item() == 1000);  // sums in bfloat16 stop at 256
}

TEST_CASE("second derivatives pass through indexing") {
  Tensor x = Tensor::from(std::vector<double>{1, 2, 3}, {3}).requires_grad_();
  const Tensor index = ints({2, 0, 2}, {3});
  for (int which = 0; which < 3; ++which) {
    const Tensor y = which == 0   ? index_select(x, 0, index)
                     : which == 1 ? gather(x, 0, index)
                                  : scatter_add(mul(x, x), 0, index, x);
    const Tensor first = grad({sum(mul(mul(y, y), y))}, {x}, {}, {.create_graph = true})[0];
    const Tensor second = grad({sum(first)}, {x})[0];
    if (which < 2) CHECK(second.to_vector<double>() == Values{6, 0, 36});
    CHECK(second.defined());
  }
}

TEST_CASE("an index changed before backward is an error") {
  Tensor w = zeros({3, 1}).requires_grad_();
  const Tensor index = ints({0, 1}, {2});
  const Tensor y = sum(embedding(index, w));
  fill_(index, 2);
  CHECK_THROWS_AS(y.backward(), AutogradError);
}

TEST_CASE("mistakes with indices are typed errors with value and position") {
  const Tensor w = zeros({5, 2}), x = zeros({2, 3}), undefined;
  CHECK_THROWS_AS(embedding(ints({0, 1, 7}, {3}), w), IndexError);
  CHECK_THROWS_WITH(embedding(ints({0, 1, 7}, {3}), w), "embedding: index 7 at position 2 is out of range [0, 5)");
  CHECK_THROWS_WITH(embedding(ints({0, 1, 4, -1}, {2, 2}), w),
                    "embedding: index -1 at position 3 is out of range [0, 5)");
  CHECK_THROWS_WITH(embedding(zeros({2}), w), "embedding: index must be int64 or int32, not float32");
  CHECK_THROWS_WITH(embedding(ints({0}, {1}), zeros({5})), "embedding: weight of shape [5] is not 2-d");
  CHECK_THROWS_AS(index_select(x, 0, ints({2}, {1})), IndexError);
  CHECK_THROWS_WITH(index_select(x, 0, ints({2}, {1})), "index_select: index 2 at position 0 is out of range [0, 2)");
  CHECK_THROWS_WITH(index_select(x, 0, ints({1}, {1, 1})), "index_select: index of shape [1, 1] is not 1-d");
  CHECK_THROWS_WITH(index_select(x, 2, ints({1}, {1})),
                    "index_select: axis 2 is out of range for shape [2, 3] (2 axes)");
  CHECK_THROWS_WITH(index_select(x, 0, undefined), "index_select: index is undefined");
  CHECK_THROWS_WITH(index_select(full({}, 1), 0, ints({0}, {1})), "index_select: a 0-d tensor has no axis 0");
  CHECK_THROWS_AS(gather(x, 0, ints({0}, {1})), ShapeError);
  CHECK_THROWS_WITH(gather(x, 0, zeros({1, 4}, {.dtype = DType::int64})),
                    "gather: index of shape [1, 4] does not fit into shape [2, 3] beside axis 0");
  CHECK_THROWS_WITH(gather(x, 1, ints({0, 3}, {2, 1})), "gather: index 3 at position 1 is out of range [0, 3)");
  CHECK_THROWS_WITH(scatter_add(x, 0, ints({0, 0}, {1, 2}), zeros({2, 1})),
                    "scatter_add: source of shape [2, 1] for an index of shape [1, 2]");
  CHECK_THROWS_AS(scatter_add(x, 0, ints({0, 0}, {1, 2}), arange(2)), DTypeError);
  const Tensor yes = ones({2}, {.dtype = DType::boolean});
  CHECK_THROWS_WITH(scatter_add(yes, 0, ints({0}, {1}), slice(yes, 0, 0, 1)),
                    "scatter_add: bool values cannot be added");
  CHECK_THROWS_WITH(one_hot(ints({3}, {1}), 3), "one_hot: index 3 at position 0 is out of range [0, 3)");
  CHECK_THROWS_WITH(one_hot(ints({3}, {1}), -3), "one_hot: the number of classes, -3, is negative");
  CHECK_THROWS_WITH(tril(zeros({3})), "tril: shape [3] has fewer than 2 axes");
  CHECK_THROWS_WITH(triu(undefined), "triu: x is undefined");
}

TEST_CASE("sums by index in half types are rounded once") {
  constexpr int64_t n = 5000;  // ones added in bfloat16 stop at 256, in float16 at 2048
  const Tensor index = zeros({n}, {.dtype = DType::int64});
  for_each_isa([&](const char* isa) {
    for (const DType t : {DType::bfloat16, DType::float16}) {
      INFO(isa << " " << name_of(t));
      const TensorOptions o{.dtype = t};
      const Values want{full({}, n, o).item(), 0};
      CHECK(scatter_add(zeros({2}, o), 0, index, ones({n}, o)).to_vector<double>() == want);
      const Tensor x = zeros({2}, o).requires_grad_();
      sum(gather(x, 0, index)).backward();
      CHECK(x.grad().to_vector<double>() == want);
      x.zero_grad();
      sum(index_select(x, 0, index)).backward();
      CHECK(x.grad().to_vector<double>() == want);
      const Tensor w = zeros({2, 1}, o).requires_grad_();
      sum(embedding(index, w)).backward();
      CHECK(w.grad().to_vector<double>() == want);
      // What is added to counts too, and both get their gradients.
      const Tensor start = full({2}, 0.25, o).requires_grad_(), parts = ones({3}, o).requires_grad_();
      const Tensor y = scatter_add(start, 0, zeros({3}, {.dtype = DType::int64}), parts);
      CHECK(y.dtype() == t);
      CHECK(y.to_vector<double>() == Values{3.25, 0.25});
      sum(y).backward();
      CHECK(start.grad().to_vector<double>() == Values{1, 1});
      CHECK(parts.grad().to_vector<double>() == Values{1, 1, 1});
    }
  });
}

#ifndef TUTTI_SHARED_LIBRARY  // which shows none of its kernels
TEST_CASE("the kernels that add up refuse half types") {
  const Tensor x = zeros({2}, {.dtype = DType::bfloat16}), index = ints({0, 1}, {2});
  const Output y = output_like(x);
  REQUIRE_THROWS_WITH(kernel::scatter_add::on(x.device())(rows(y, 0), rows(index, 0), rows(x, 0)),
                      "kernel scatter_add: no sums of bfloat16; add in float32");
  REQUIRE_THROWS_WITH(
      kernel::index_add::on(x.device())({y.data(), x.data(), index.data<int64_t>(), x.dtype(), 1, 2, 2, 1}),
      "kernel index_add: no sums of bfloat16; add in float32");
}
#endif
