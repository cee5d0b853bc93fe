// The product kernel itself, on strides that no library takes (a GPU's own tiles, then) and on those that it takes: the
// edges of tiles, parts of the inner dimension, sums over the batch, a bias, and adding to what is there; and few rows
// times the transpose of a weight, which has a kernel of its own on the CPU.
#include <cmath>

#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/gemm.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/parallel.h"
#include "tutti/core/precision.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

#ifndef TUTTI_SHARED_LIBRARY  // which shows none of its kernels
namespace {

struct Case {
  int64_t batch, sums, rows, inner, cols;
};

/// x with gaps between its elements: every other one of a wider tensor.
Tensor with_gaps(const Dims& shape, DType dtype, uint64_t seed) {
  Dims wide = shape;
  wide[wide.n - 1] *= 2;
  return slice(random_tensor(wide, dtype, seed), shape.n - 1, 0, wide[wide.n - 1], 2);
}

/// c[batch] (+)= the sum over `sums` of a[batch, sums] b[sums] (+ bias), and the same in float64.
void check_product(const Case& k, DType dtype, bool gaps, bool bias, bool accumulate) {
  INFO(k.batch << " x " << k.sums << " products [" << k.rows << ", " << k.inner << "] [" << k.inner << ", " << k.cols
               << "]" << (gaps ? ", gaps" : "") << (bias ? ", bias" : "") << (accumulate ? ", accumulate" : ""));
  const auto make = [&](const Dims& shape, uint64_t seed) {
    return gaps ? with_gaps(shape, dtype, seed) : random_tensor(shape, dtype, seed);
  };
  const Tensor a = make({k.batch, k.sums, k.rows, k.inner}, 1);
  const Tensor b = make({1, k.sums, k.inner, k.cols}, 2), offsets = random_tensor({k.cols}, dtype, 3);
  const Dims batch{k.batch, k.sums};
  const Output c = output({k.batch, k.rows, k.cols}, dtype, a.device());
  kernel::Product p{matrix(a, batch), matrix(b, batch), matrix(c), batch, nullptr, {0, 0}, false};
  p.c.batch_strides = {k.rows * k.cols, 0};
  if (bias) p.bias = offsets.data();
  const auto run = [&] { kernel::gemm::on(a.device())(p); };
  run();
  if (accumulate) {
    p.bias = nullptr;
    p.accumulate = true;
    run();
  }
  const Array av(a), bv(b), ov(offsets);
  Array want(Dims{k.batch, k.rows, k.cols});
  for (int64_t i = 0; i < k.batch; ++i)
    for (int64_t s = 0; s < k.sums; ++s)
      for (int64_t r = 0; r < k.rows; ++r)
        for (int64_t q = 0; q < k.inner; ++q) {
          const double x = av[((i * k.sums + s) * k.rows + r) * k.inner + q] * (accumulate ? 2 : 1);
          for (int64_t j = 0; j < k.cols; ++j)
            want[(i * k.rows + r) * k.cols + j] += x * bv[(s * k.inner + q) * k.cols + j];
        }
  for (int64_t i = 0; bias && i < want.numel(); ++i) want[i] += ov[i % k.cols];
  const double sqrt_inner = std::sqrt(static_cast<double>(k.inner * k.sums + 1));
  check_close(no_gradient(c), want, (dtype == DType::float64 ? 1e-15 : 5e-7) * sqrt_inner);
}

}  // namespace

TEST_CASE("the product kernel takes any strides and sizes", "[matmul]") {
  const std::vector<Case> cases{{1, 1, 1, 1, 1},     {1, 1, 31, 33, 31}, {3, 1, 33, 31, 37},
                                {1, 1, 70, 129, 67}, {2, 3, 37, 5, 33},  {1, 2, 5, 0, 3},
                                {1, 0, 3, 4, 5},     {150, 1, 3, 7, 2},  {2, 3, 40, 259, 9}};
  for (DType dtype : {DType::float32, DType::float64})
    for (bool gaps : {false, true})
      for (const Case& k : cases) {
        check_product(k, dtype, gaps, false, false);
        check_product(k, dtype, gaps, true, true);
      }
}

TEST_CASE("the product kernel in its largest tiles, and with a long inner dimension in parts", "[matmul]") {
  for (bool gaps : {false, true}) {
    check_product({1, 1, 1300, 9, 1541}, DType::float32, gaps, true, false);
    check_product({1, 1, 33, 2051, 35}, DType::float32, gaps, true, true);
    check_product({1, 1, 33, 2051, 35}, DType::float64, gaps, true, false);
  }
}

TEST_CASE("the product kernel in tiles of every height and width, and slices of the inner dimension", "[matmul]") {
  const OnCpu here;
  for_each_isa([](const char* isa) {
    INFO(isa);
    for (DType dtype : {DType::float32, DType::float64}) {
      for (int64_t rows = 1; rows < 30; ++rows)  // tiles of 14, 8 and 4 rows, or 6, 4 and 2, and what remains of them
        for (int64_t cols : {1, 7, 8, 9, 16, 17, 31, 32, 33, 49})
          check_product({1, 1, rows, 5, cols}, dtype, false, true, rows % 2 == 0);
      for (int64_t inner : {1, 3, 4, 383, 384, 385, 769})
        check_product({1, 1, 17, inner, 33}, dtype, false, true, true);
      check_product({1, 1, 700, 390, 300}, dtype, false, true, false);  // packed once, for pieces of rows and columns
      check_product({3, 1, 310, 290, 259}, dtype, false, true, true);
    }
  });
}

TEST_CASE("an element of a product has the same bits wherever it lies", "[matmul]") {
  const OnCpu here;
  for (DType dtype : {DType::float32, DType::float64}) {
    const Tensor weight = random_tensor({300, 390}, dtype, 1), x = random_tensor({700, 390}, dtype, 2);
    const Tensor y = linear(x, weight);
    for (int64_t row : {0, 13, 222, 601})
      for (int64_t col : {0, 33, 255}) {
        const Tensor part = linear(slice(x, 0, row, row + 35), slice(weight, 0, col, col + 37));
        check_identical(part, slice(slice(y, 0, row, row + 35), 1, col, col + 37));
      }
  }
}

TEST_CASE("the product kernel on few rows adds to what is there, in a result of any strides", "[matmul]") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    for (DType dtype : {DType::float32, DType::float64})
      for (int64_t rows : {1, 2, 3, 7})
        for (bool accumulate : {false, true}) {
          const int64_t inner = 109, cols = 29;
          const Tensor x = random_tensor({rows, inner}, dtype, 1), weight = random_tensor({cols, inner}, dtype, 2);
          const Output c = output({cols, rows}, dtype, x.device());  // the result is its transpose
          kernel::Product p{matrix(x, {}), matrix(transpose(weight, 0, 1), {}), {}, {}, nullptr, {}, false};
          p.c = {matrix(c).data, dtype, rows, cols, 1, rows, {}};
          kernel::gemm::on(x.device())(p);
          p.accumulate = accumulate;
          kernel::gemm::on(x.device())(p);
          const Array a(x), w(weight);
          Array want(Dims{cols, rows});
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j)
              for (int64_t q = 0; q < inner; ++q)
                want[j * rows + i] += (accumulate ? 2 : 1) * a[i * inner + q] * w[j * inner + q];
          check_close(no_gradient(c), want, dtype == DType::float64 ? 1e-14 : 2e-6);
        }
  });
}
#endif

namespace {

Array rows_reference(const Arrays& in) {
  const int64_t rows = in[0].shape[0], inner = in[0].shape[1], cols = in[1].shape[0];
  Array y(Dims{rows, cols});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      double sum = in.size() > 2 ? in[2][j] : 0;
      for (int64_t q = 0; q < inner; ++q) sum += in[0][i * inner + q] * in[1][j * inner + q];
      y[i * cols + j] = sum;
    }
  return y;
}

}  // namespace

TEST_CASE("products of few rows", "[matmul]") {
  OpTest test{.kernels = "gemm_few_rows",
              .shapes = {},
              .op = [](const Tensors& x) { return linear(x[0], x[1], x.size() > 2 ? x[2] : Tensor()); },
              .reference = rows_reference,
              .gradient = false};
  // All heights and widths of tiles and what remains of them; a whole number of vectors and not.
  for (int64_t rows : {1, 2, 3, 4, 5, 7, 12})
    for (int64_t inner : {96, 97, 127}) {
      test.shapes.push_back({{rows, inner}, {24 + rows, inner}, {24 + rows}});
      test.shapes.push_back({{rows, inner}, {31 + rows, inner}});
    }
  test.shapes.push_back({{32, 128}, {45, 128}, {45}});
  test.shapes.push_back({{33, 128}, {45, 128}, {45}});  // one too many
  op_test("linear of few rows", test);
  op_test("linear of few rows, its gradient", {.shapes = {{{2, 99}, {26, 99}, {26}}},
                                               .op = [](const Tensors& x) { return linear(x[0], x[1], x[2]); },
                                               .reference = rows_reference});
}

TEST_CASE("products of few rows have the same bits on every number of threads, and for a row alone", "[matmul]") {
  const OnCpu here;
  for (DType dtype : {DType::float32, DType::float64}) {
    const Tensor weight = random_tensor({1531, 384}, dtype, 1), x = random_tensor({13, 384}, dtype, 2);
    set_num_threads(1);
    const Tensor want = linear(x, weight);
    for (int threads : {2, 6}) {
      set_num_threads(threads);
      check_identical(linear(x, weight), want);
      for (int64_t i : {0, 7, 12}) check_identical(linear(slice(x, 0, i, i + 1), weight), slice(want, 0, i, i + 1));
    }
    set_num_threads(0);
  }
}

TEST_CASE("a row of an infinite weight and one of zeros do not spoil the others of a product of few rows", "[matmul]") {
  const int64_t inner = 101, cols = 30;  // the last vector overlaps the one before
  std::vector<double> w(static_cast<size_t>(inner * cols), 1), v(static_cast<size_t>(2 * inner), 1);
  for (int64_t q = 0; q < inner; ++q) w[static_cast<size_t>(3 * inner + q)] = q > 84 ? INFINITY : 1;
  for (int64_t q = 0; q < inner; ++q) v[static_cast<size_t>(inner + q)] = 0;
  const Tensor y = linear(Tensor::from(v, {2, inner}), Tensor::from(w, {cols, inner}));
  for (int64_t j = 0; j < cols; ++j) {
    CHECK(y.at({0, j}) == (j == 3 ? INFINITY : 101));
    if (j == 3)
      CHECK(std::isnan(y.at({1, j})));
    else
      CHECK(y.at({1, j}) == 0);
  }
}

TEST_CASE("TF32 is for GPUs that are told to use it", "[matmul]") {
  const Tensor a = full({1, 1}, 1 + 0x1p-20), one = ones({1, 1});
  CHECK(!allow_tf32());
  CHECK(matmul(a, one).item() == 1 + 0x1p-20);
  set_allow_tf32(true);
  const double rounded = matmul(a, one).item();
  set_allow_tf32(false);
  if (default_device() == cpu) CHECK(rounded == 1 + 0x1p-20);
  CHECK((rounded == 1 || rounded == 1 + 0x1p-20));
  CHECK(matmul(a, one).item() == 1 + 0x1p-20);
}
