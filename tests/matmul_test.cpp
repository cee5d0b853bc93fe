// matmul and bmm against plain loops: every combination of shapes, strides without copies, cuts that do not show.
#include "tutti/ops/matmul.h"

#include <cmath>

#include "support/op_test.h"
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
  op_test("matmul", {.kernels = "gemm",
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
