// matmul and bmm against plain loops: every combination of shapes, strides without copies, cuts that do not show.
#include "tutti/ops/matmul.h"

#include <cmath>

#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// NumPy's matmul, element by element.
Array matmul_reference(const Arrays& in) {
  Dims a = in[0].shape, b = in[1].shape;
  const bool row = a.n == 1, column = b.n == 1;
  if (row) a = {1, a[0]};
  if (column) b = {b[0], 1};
  const int64_t m = a[a.n - 2], k = a[a.n - 1], n = b[b.n - 1];
  Dims batch;
  const int rank = std::max(a.n, b.n) - 2;
  const auto size = [&](const Dims& d, int i) { return i - (rank - (d.n - 2)) < 0 ? 1 : d[i - (rank - (d.n - 2))]; };
  for (int i = 0; i < rank; ++i) batch.push(size(a, i) == 1 ? size(b, i) : size(a, i));
  Dims shape = batch;
  if (!row) shape.push(m);
  if (!column) shape.push(n);
  Array y(shape);
  for (int64_t at = 0; at < batch.product(); ++at) {
    int64_t index_a = 0, index_b = 0, rest = at, step_a = 1, step_b = 1;
    for (int i = rank - 1; i >= 0; --i) {
      const int64_t position = rest % batch[i];
      rest /= batch[i];
      if (size(a, i) != 1) index_a += position * step_a;
      if (size(b, i) != 1) index_b += position * step_b;
      step_a *= size(a, i);
      step_b *= size(b, i);
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double s = 0;
        for (int64_t p = 0; p < k; ++p) s += in[0][(index_a * m + i) * k + p] * in[1][(index_b * k + p) * n + j];
        y[(at * m + i) * n + j] = s;
      }
  }
  return y;
}

Tensor apply(const Tensors& x) { return matmul(x[0], x[1]); }

}  // namespace

TEST_CASE("matmul", "[matmul]") {
  op_test("matmul", {.kernels = "gemm gemm_pack gemm_packed gemm_add",
                     .shapes = {{{3, 4}, {4, 5}},
                                {{1, 7}, {7, 1}},
                                {{5}, {5}},
                                {{3}, {3, 4}},
                                {{4, 3}, {3}},
                                {{2, 3, 4}, {4, 5}},
                                {{3, 4}, {2, 4, 3}},
                                {{2, 1, 3, 4}, {3, 4, 2}},
                                {{2, 3, 4}, {4}},
                                {{4}, {2, 4, 3}},
                                {{1, 2, 3}, {5, 3, 1}},
                                {{3, 2, 0}, {3, 0, 3}},
                                {{0, 3}, {3, 2}},
                                {{2, 0, 3}, {3, 2}},
                                {{13, 9}, {9, 17}}},
                     .op = apply,
                     .reference = matmul_reference});
}

TEST_CASE("bmm", "[matmul]") {
  op_test("bmm", {.shapes = {{{3, 2, 4}, {3, 4, 5}}, {{1, 1, 1}, {1, 1, 1}}, {{0, 2, 3}, {0, 3, 2}}},
                  .op = [](const Tensors& x) { return bmm(x[0], x[1]); },
                  .reference = matmul_reference});
}

namespace {

/// The largest difference from the reference over a sample of elements of a (b transposed or not), relative to sqrt(k).
void check_large(const Dims& a_shape, const Dims& b_shape, DType dtype, double tolerance) {
  const Tensor a = random_tensor(a_shape, dtype, 1), b = random_tensor(b_shape, dtype, 2);
  const Tensor y = matmul(a, b);
  const auto va = a.to_vector<double>(), vb = b.to_vector<double>(), vy = y.to_vector<double>();
  const int64_t m = a_shape[0], k = a_shape[1], n = b_shape[1];
  double worst = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = i % 7; j < n; j += 7) {
      double s = 0;
      for (int64_t p = 0; p < k; ++p) s += va[static_cast<size_t>(i * k + p)] * vb[static_cast<size_t>(p * n + j)];
      worst = std::max(worst, std::abs(s - vy[static_cast<size_t>(i * n + j)]));
    }
  INFO(to_string(a_shape) << " @ " << to_string(b_shape));
  CHECK(worst <= tolerance * std::sqrt(static_cast<double>(k)));
  check_identical(matmul(a, with_layout(b, Layout::contiguous)), y);
}

template <class F>
void same_for_all_threads(const F& f) {
  set_num_threads(1);
  const Tensors want = f();
  for (int threads : {2, 6}) {
    set_num_threads(threads);
    const Tensors got = f();
    for (size_t i = 0; i < want.size(); ++i) check_identical(got[i], want[i]);
  }
  set_num_threads(0);
}

}  // namespace

TEST_CASE("matmul across the sizes at which products are cut", "[matmul]") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    for (const auto& [a, b] : std::vector<std::pair<Dims, Dims>>{{{613, 67}, {67, 131}},     // rows
                                                                 {{33, 129}, {129, 1031}},   // columns
                                                                 {{37, 2051}, {2051, 131}},  // the inner dimension
                                                                 {{301, 257}, {257, 515}}}) {
      check_large(a, b, DType::float32, 2e-6);
      check_large(a, b, DType::float64, 1e-14);
    }
  });
}

TEST_CASE("matmul gives the same bits on every number of threads", "[matmul]") {
  const tutti_test::OnCpu here;
  for (DType dtype : {DType::float32, DType::float64})
    for (const auto& [a_shape, b_shape] : std::vector<std::pair<Dims, Dims>>{{{613, 67}, {67, 131}},
                                                                             {{37, 4099}, {4099, 131}},
                                                                             {{300, 257}, {257, 515}},
                                                                             {{19, 65, 33}, {19, 33, 70}},
                                                                             {{7, 130, 65}, {65, 70}}})
      same_for_all_threads([&, a_dims = a_shape, b_dims = b_shape] {
        Tensor a = random_tensor(a_dims, dtype, 1).requires_grad_(), b = random_tensor(b_dims, dtype, 2);
        b.requires_grad_();
        const Tensor y = matmul(a, b);
        auto all = grad({y}, {a, b}, {random_tensor(y.shape(), dtype, 3)});
        all.push_back(y);
        return all;
      });
}

TEST_CASE("matmul reads transposes and slices in place", "[matmul]") {
  for (DType dtype : {DType::float32, DType::float64}) {
    const Tensor a = random_tensor({70, 90}, dtype, 1), b = random_tensor({80, 90}, dtype, 2);
    const Array want = matmul_reference({Array(a), Array(transpose(b, 0, 1))});
    check_close(matmul(a, transpose(b, 0, 1)), want, 1e-5);
    check_close(transpose(matmul(b, transpose(a, 0, 1)), 0, 1), want, 1e-5);
    const Tensor part_a = slice(slice(a, 0, 3, 64), 1, 5, 85), part_b = slice(b, 1, 5, 85);
    check_close(matmul(part_a, transpose(part_b, 0, 1)),
                matmul_reference({Array(part_a), Array(transpose(part_b, 0, 1))}), 1e-5);
    // Neither axis has stride 1, and lines that overlap (stride 0).
    const Tensor odd = slice(slice(a, 1, 0, 90, 2), 0, 0, 70, 3);
    check_close(matmul(odd, transpose(odd, 0, 1)), matmul_reference({Array(odd), Array(transpose(odd, 0, 1))}), 1e-5);
    const Tensor repeated = expand(slice(a, 0, 0, 1), {50, 90});
    check_close(matmul(repeated, transpose(b, 0, 1)), matmul_reference({Array(repeated), Array(transpose(b, 0, 1))}),
                1e-5);
  }
}

TEST_CASE("matmul lets no uninitialised memory through", "[matmul]") {
  for (DType dtype : {DType::float32, DType::float64})
    for (int64_t n : {5, 150}) {
      { const Tensor dirt = full({n, n}, std::nan(""), {.dtype = dtype}); }  // its memory is given out again
      const Tensor y = matmul(ones({n, n}, {.dtype = dtype}), ones({n, n}, {.dtype = dtype}));
      check_identical(y, full({n, n}, static_cast<double>(n), {.dtype = dtype}));
      { const Tensor dirt = full({n, n}, std::nan(""), {.dtype = dtype}); }
      check_identical(matmul(zeros({n, 0}, {.dtype = dtype}), zeros({0, n}, {.dtype = dtype})),
                      zeros({n, n}, {.dtype = dtype}));
    }
  // A NaN or an infinity in an operand does get through, to the rows and columns that it belongs to.
  const Tensor a = Tensor::from({NAN, 1, 2, 3}, {2, 2}), b = Tensor::from({1, 0, 0, INFINITY}, {2, 2});
  const Tensor y = matmul(a, b);
  CHECK(std::isnan(y.at({0, 0})));
  CHECK(y.at({1, 0}) == 2);
  CHECK(std::isinf(y.at({1, 1})));
}

TEST_CASE("matmul: known traps", "[matmul]") {
  check_identical(matmul(zeros({3, 2, 0}), zeros({3, 0, 3})), zeros({3, 2, 3}));
  Tensor a = random_tensor({4, 2, 3}, DType::float64, 1).requires_grad_();
  Tensor b = random_tensor({3, 5}, DType::float64, 2).requires_grad_();
  const Tensor dy = random_tensor({4, 2, 5}, DType::float64, 3);
  const auto g = grad({matmul(a, b)}, {a, b}, {dy});
  check_close(g[1], matmul_reference({Array(transpose(reshape(a.detach(), {8, 3}), 0, 1)), Array(reshape(dy, {8, 5}))}),
              1e-14);
  Tensor m = random_tensor({3, 2}, DType::float64, 4).requires_grad_();
  const Tensor v = Tensor::from({5, 7}, {2}, DType::float64);
  sum(matmul(m, v)).backward();
  check_identical(m.grad(), Tensor::from({5, 7, 5, 7, 5, 7}, {3, 2}, DType::float64));
}

TEST_CASE("second derivatives of matmul", "[matmul]") {
  for (const auto& [a, b] : std::vector<std::pair<Dims, Dims>>{
           {{3, 4}, {4, 2}}, {{2, 3, 4}, {4, 2}}, {{3, 4}, {2, 4, 2}}, {{2, 1, 3, 2}, {3, 2, 2}}, {{4}, {4, 2}}}) {
    INFO(to_string(a) << " @ " << to_string(b));
    CHECK(gradgradcheck(
        [](const std::vector<Tensor>& x) { return matmul(x[0], x[1]); },
        {random_tensor(a, DType::float64, 1).requires_grad_(), random_tensor(b, DType::float64, 2).requires_grad_()}));
  }
}

TEST_CASE("matmul's errors", "[matmul]") {
  const auto fails = [](const Dims& a, const Dims& b, const char* text) {
    REQUIRE_THROWS_AS(matmul(zeros(a), zeros(b)), ShapeError);
    REQUIRE_THROWS_WITH(matmul(zeros(a), zeros(b)), Contains(text));
  };
  fails({2, 3}, {4, 5}, "matmul: shapes [2, 3] and [4, 5] do not multiply at axis 1 (3 vs 4)");
  fails({3}, {4}, "matmul: shapes [3] and [4] do not multiply at axis 0 (3 vs 4)");
  fails({6, 2, 3}, {4}, "matmul: shapes [6, 2, 3] and [4] do not multiply at axis 2 (3 vs 4)");
  fails({2, 2, 3}, {4, 3, 5}, "matmul: shapes [2, 2, 3] and [4, 3, 5] do not broadcast at axis 0 (2 vs 4)");
  fails({}, {3}, "matmul: shapes [] and [3]: a 0-d tensor has no axis to multiply along; use mul");
  const Tensor i = zeros({2, 2}, {.dtype = DType::int64});
  REQUIRE_THROWS_AS(matmul(i, i), DTypeError);
  REQUIRE_THROWS_WITH(matmul(i, i), Contains("matmul: int64 is not a floating dtype"));
  REQUIRE_THROWS_WITH(matmul(zeros({2, 2}), zeros({2, 2}, {.dtype = DType::float64})),
                      Contains("matmul: dtypes float32 and float64 differ"));
  REQUIRE_THROWS_AS(matmul(Tensor(), zeros({2})), ValueError);
  REQUIRE_THROWS_WITH(bmm(zeros({2, 3}), zeros({3, 2})),
                      Contains("bmm: shapes [2, 3] and [3, 2] are not [B, m, k] and [B, k, n]"));
  REQUIRE_THROWS_WITH(bmm(zeros({1, 3, 2}), zeros({2, 2, 2})),
                      Contains("bmm: shapes [1, 3, 2] and [2, 2, 2] are not [B, m, k] and [B, k, n]"));
  REQUIRE_THROWS_WITH(bmm(zeros({2, 3, 2}), zeros({2, 3, 2})),
                      Contains("bmm: shapes [2, 3, 2] and [2, 3, 2] do not multiply at axis 2 (2 vs 3)"));
}
