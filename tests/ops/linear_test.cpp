// linear and grouped_linear against plain loops and against the dense layer with block-diagonal weights.
#include "tutti/ops/linear.h"

#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/create.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// x, weight [P, G, o, i] (leading axes may be missing) and perhaps bias.
Array linear_reference(const Arrays& in) {
  const Dims& s = in[1].shape;
  const int64_t maps = s.n > 3 ? s[0] : 1, groups = s.n > 2 ? s[s.n - 3] : 1, out = s[s.n - 2], width = s[s.n - 1];
  Dims shape = in[0].shape;
  shape[shape.n - 1] = 1;
  const int64_t rows = shape.product();
  shape[shape.n - 1] = maps * groups * out;
  Array y(shape);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t p = 0; p < maps; ++p)
      for (int64_t g = 0; g < groups; ++g)
        for (int64_t o = 0; o < out; ++o) {
          const int64_t feature = (p * groups + g) * out + o;
          double sum = in.size() > 2 ? in[2][feature] : 0;
          for (int64_t i = 0; i < width; ++i) sum += in[0][(r * groups + g) * width + i] * in[1][feature * width + i];
          y[r * shape[shape.n - 1] + feature] = sum;
        }
  return y;
}

}  // namespace

TEST_CASE("linear", "[linear]") {
  op_test("linear", {.kernels = "gemm gemm_add",
                     .shapes = {{{3, 4}, {5, 4}, {5}},
                                {{4}, {5, 4}, {5}},
                                {{2, 3, 4}, {1, 4}, {1}},
                                {{2, 2, 3, 1}, {5, 1}, {5}},
                                {{2, 0, 4}, {5, 4}, {5}},
                                {{3, 0}, {5, 0}, {5}},
                                {{3, 4}, {0, 4}, {0}},
                                {{19, 17}, {9, 17}, {9}}},
                     .op = [](const Tensors& x) { return linear(x[0], x[1], x[2]); },
                     .reference = linear_reference});
  op_test("linear without bias", {.shapes = {{{3, 4}, {5, 4}}, {{2, 3, 4}, {5, 4}}},
                                  .op = [](const Tensors& x) { return linear(x[0], x[1]); },
                                  .reference = linear_reference});
}

TEST_CASE("grouped_linear", "[linear]") {
  op_test("grouped_linear", {.shapes = {{{3, 8}, {2, 3, 4}, {6}},
                                        {{8}, {4, 1, 2}, {4}},
                                        {{2, 3, 6}, {1, 5, 6}, {5}},
                                        {{2, 3, 4}, {3, 2, 3, 2}, {18}},
                                        {{5, 4}, {2, 1, 3, 4}, {6}},
                                        {{0, 4}, {2, 3, 2}, {6}},
                                        {{17, 18}, {2, 7, 9}, {14}}},
                             .op = [](const Tensors& x) { return grouped_linear(x[0], x[1], x[2]); },
                             .reference = linear_reference});
}

namespace {

/// weight [P, G, o, i] as the dense [P G o, G i] with zeros outside the blocks.
Tensor dense(const Tensor& weight) {
  const int64_t maps = weight.size(0), groups = weight.size(1), out = weight.size(2), in = weight.size(3);
  const auto v = weight.to_vector<double>();
  std::vector<double> d(static_cast<size_t>(maps * groups * out * groups * in));
  for (int64_t p = 0, at = 0; p < maps; ++p)
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t o = 0; o < out; ++o)
        for (int64_t i = 0; i < in; ++i)
          d[static_cast<size_t>((((p * groups + g) * out + o) * groups + g) * in + i)] = v[static_cast<size_t>(at++)];
  return Tensor::from(d, {maps * groups * out, groups * in});
}

Tensors with_gradients(Tensor (*f)(const Tensor&, const Tensor&, const Tensor&), Tensor x, Tensor w, Tensor b,
                       const Tensor& dy) {
  x = x.detach();
  w = w.detach();
  b = b.detach();
  x.requires_grad_();
  w.requires_grad_();
  b.requires_grad_();
  const Tensor y = f(x, w, b);
  Tensors all = grad({y}, {x, w, b}, {dy});
  all.push_back(y);
  return all;
}

}  // namespace

TEST_CASE("grouped_linear equals the dense layer with block-diagonal weights", "[linear]") {
  const int64_t rows = 61, groups = 4, maps = 3, out = 5, in = 7;
  for (DType dtype : {DType::float64, DType::float32}) {
    const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
    const Tensor x = random_tensor({rows, groups * in}, dtype, 1), w = random_tensor({maps, groups, out, in}, dtype, 2);
    const Tensor b = random_tensor({maps * groups * out}, dtype, 3);
    const Tensor dy = random_tensor({rows, maps * groups * out}, dtype, 4);
    const auto wide = [](const Tensor& t) { return Tensor::from(t.to_vector<double>(), t.shape()); };
    const Tensors want = with_gradients(linear, wide(x), dense(w), wide(b), wide(dy));
    const Tensors got = with_gradients(grouped_linear, x, w, b, dy);
    check_close(got[0], Array(want[0]), tolerance);
    check_close(got[2], Array(want[2]), tolerance);
    check_close(got[3], Array(want[3]), tolerance);
    Array blocks(w.shape());  // the diagonal blocks of the dense gradient
    for (int64_t p = 0, at = 0; p < maps * groups * out; ++p)
      for (int64_t i = 0; i < in; ++i) blocks[at++] = want[1].at({p, p / out % groups * in + i});
    check_close(got[1], blocks, tolerance);
  }
}

TEST_CASE("grouped_linear with one group is linear, bit for bit", "[linear]") {
  for (DType dtype : {DType::float64, DType::float32})
    for (int64_t rows : {3, 1500}) {
      const Tensor x = random_tensor({rows, 48}, dtype, 1), w = random_tensor({3, 1, 48, 48}, dtype, 2);
      const Tensor b = random_tensor({144}, dtype, 3), dy = random_tensor({rows, 144}, dtype, 4);
      const Tensors want = with_gradients(linear, x, reshape(w, {144, 48}), b, dy);
      const Tensors got = with_gradients(grouped_linear, x, w, b, dy);
      const Tensors single = with_gradients(grouped_linear, x, reshape(w, {1, 144, 48}), b, dy);
      for (size_t i = 0; i < want.size(); ++i) {
        check_identical(reshape(got[i], want[i].shape()), want[i]);
        check_identical(reshape(single[i], want[i].shape()), want[i]);
      }
    }
}

TEST_CASE("linear gives the same bits on every number of threads", "[linear]") {
  const tutti_test::OnCpu here;
  for (DType dtype : {DType::float32, DType::float64}) {
    const auto run = [&] {
      const Tensor x = random_tensor({5, 613, 36}, dtype, 1), w = random_tensor({131, 36}, dtype, 2);
      Tensors all =
          with_gradients(linear, x, w, random_tensor({131}, dtype, 3), random_tensor({5, 613, 131}, dtype, 4));
      const Tensors more = with_gradients(grouped_linear, x, random_tensor({3, 4, 9, 9}, dtype, 5),
                                          random_tensor({108}, dtype, 6), random_tensor({5, 613, 108}, dtype, 7));
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    set_num_threads(1);
    const Tensors want = run();
    for (int threads : {2, 6}) {
      set_num_threads(threads);
      const Tensors got = run();
      for (size_t i = 0; i < want.size(); ++i) check_identical(got[i], want[i]);
    }
    set_num_threads(0);
  }
}

TEST_CASE("linear across the sizes at which products are cut", "[linear]") {
  for (DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
    const Tensor x = random_tensor({2, 515, 67}, dtype, 1), w = random_tensor({130, 67}, dtype, 2);
    const Tensor b = random_tensor({130}, dtype, 3), dy = random_tensor({2, 515, 130}, dtype, 4);
    const Tensors got = with_gradients(linear, x, w, b, dy);
    check_close(got[3], linear_reference({Array(x), Array(w), Array(b)}), tolerance);
    const Tensor flat_x = reshape(x, {1030, 67}), flat_dy = reshape(dy, {1030, 130});
    const auto multiply = [](const Tensor& left, const Tensor& right) {  // left right^T, plainly
      return linear_reference({Array(left), Array(right)});
    };
    const Array dx = multiply(flat_dy, transpose(w, 0, 1));
    check_close(reshape(got[0], {1030, 67}), dx, tolerance);
    check_close(got[1], multiply(transpose(flat_dy, 0, 1), transpose(flat_x, 0, 1)), 10 * tolerance);
  }
}

TEST_CASE("linear takes leading axes that do not flatten", "[linear]") {
  const Tensor x = permute(random_tensor({4, 3, 5, 6}, DType::float64, 1), {2, 0, 1, 3});  // [5, 4, 3, 6]
  Tensor w = random_tensor({2, 4, 3}, DType::float64, 2), b = random_tensor({8}, DType::float64, 3);
  const Tensor dy = permute(random_tensor({8, 5, 3, 4}, DType::float64, 4), {1, 3, 2, 0});
  const Tensors got = with_gradients(grouped_linear, x, w, b, dy);
  const Tensors want = with_gradients(grouped_linear, contiguous(x).detach(), w, b, contiguous(dy));
  for (size_t i = 0; i < got.size(); ++i) check_close(got[i], Array(want[i]), 1e-14);
}

TEST_CASE("linear computes only the gradients that are wanted", "[linear]") {
  const Tensor x = random_tensor({3, 4}, DType::float32, 1), b = random_tensor({5}, DType::float32, 3);
  Tensor w = random_tensor({5, 4}, DType::float32, 2).requires_grad_();
  sum(linear(x, w, b)).backward();
  CHECK(w.grad().defined());
  CHECK(!x.grad().defined());
  CHECK(!linear(x, w.detach(), b).requires_grad());
}

TEST_CASE("second derivatives of linear and grouped_linear", "[linear]") {
  const auto check = [](Tensor (*f)(const Tensor&, const Tensor&, const Tensor&), const Dims& x, const Dims& w,
                        const Dims& b) {
    CHECK(gradgradcheck(
        [f](const std::vector<Tensor>& in) { return f(in[0], in[1], in[2]); },
        {random_tensor(x, DType::float64, 1).requires_grad_(), random_tensor(w, DType::float64, 2).requires_grad_(),
         random_tensor(b, DType::float64, 3).requires_grad_()}));
  };
  check(linear, {2, 3, 4}, {2, 4}, {2});
  check(linear, {4}, {2, 4}, {2});
  check(grouped_linear, {3, 4}, {2, 3, 2}, {6});
  check(grouped_linear, {2, 2, 4}, {2, 2, 1, 2}, {4});
}

TEST_CASE("errors of linear and grouped_linear", "[linear]") {
  REQUIRE_THROWS_AS(linear(zeros({3, 12}), zeros({8, 16})), ShapeError);
  REQUIRE_THROWS_WITH(linear(zeros({3, 12}), zeros({8, 16})),
                      Contains("linear: input width 12 does not match weight [8, 16] (in = 16)"));
  REQUIRE_THROWS_WITH(linear(zeros({3, 16}), zeros({8, 16}), zeros({7})),
                      Contains("linear: bias of shape [7] does not match weight [8, 16] (out = 8)"));
  REQUIRE_THROWS_WITH(linear(zeros({3, 16}), zeros({16})), Contains("linear: weight must be [out, in], not [16]"));
  REQUIRE_THROWS_WITH(linear(zeros({}), zeros({8, 16})), Contains("linear: input of shape [] has no axis of features"));
  REQUIRE_THROWS_AS(linear(zeros({2, 3}, {.dtype = DType::int32}), zeros({4, 3}, {.dtype = DType::int32})), DTypeError);
  REQUIRE_THROWS_WITH(linear(zeros({2, 3}), zeros({4, 3}, {.dtype = DType::float64})),
                      Contains("linear: dtypes float32 and float64 differ"));
  REQUIRE_THROWS_WITH(grouped_linear(zeros({3, 10}), zeros({4, 2, 2})),
                      Contains("grouped_linear: input width 10 does not match weight [4, 2, 2] (in = 4 * 2)"));
  REQUIRE_THROWS_WITH(grouped_linear(zeros({3, 10}), zeros({2, 10})),
                      Contains("grouped_linear: weight must be [G, out/G, in/G] or [P, G, out/G, in/G], not [2, 10]"));
  REQUIRE_THROWS_WITH(grouped_linear(zeros({3, 8}), zeros({3, 4, 2, 2}), zeros({8})),
                      Contains("grouped_linear: bias of shape [8] does not match weight [3, 4, 2, 2] (out = 24)"));
}
