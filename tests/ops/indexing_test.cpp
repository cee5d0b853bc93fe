// x[{..}]: parts of a tensor by positions, slices and the ellipsis.
#include "support/malformed.h"
#include "support/op_test.h"

using namespace tutti;
using namespace tutti_test;

namespace {
using Values = std::vector<double>;
}

// `x[0] = y` would change a handle, and nothing else.
static_assert(!std::is_assignable_v<Tensor, Tensor>);
static_assert(std::is_nothrow_move_assignable_v<Tensor> && std::is_copy_assignable_v<Tensor>);

TEST_CASE("parts by positions and slices, and their gradients, behind every layout") {
  op_test("index", {.shapes = {{{3, 5, 7}}, {{3, 9, 8}}},
                    .op =
                        [](const Tensors& x) {
                          return x[0][{-1, Slice{1, -1}, Slice{.begin = 1, .step = 2}}];
                        },
                    .reference =
                        [](const Arrays& x) {
                          const int64_t rows = x[0].shape[1], cols = x[0].shape[2];
                          Array y({rows - 2, cols / 2});
                          for (int64_t i = 0; i < rows - 2; ++i)
                            for (int64_t k = 0; k < cols / 2; ++k)
                              y[i * (cols / 2) + k] = x[0][(2 * rows + i + 1) * cols + 2 * k + 1];
                          return y;
                        }});
}

TEST_CASE("indexing gives what slice and select give, in the same memory") {
  const Tensor x = reshape(arange(24), {2, 3, 4});
  check_identical(x[1], select(x, 0, 1));
  check_identical(x[{1, 2}], select(select(x, 0, 1), 0, 2));
  check_identical(x[{0, 1, -1}], full({}, 7, {.dtype = DType::int64}));
  check_identical(x[Slice{1}], slice(x, 0, 1, 2));
  check_identical(x[{Slice{}, Slice{.end = -1}}], slice(x, 1, 0, 2));
  check_identical(x[{Slice{}, Slice{}, Slice{.step = 3}}], slice(x, 2, 0, 4, 3));
  check_identical(x[{ellipsis, 0}], select(x, 2, 0));
  check_identical(x[{1, ellipsis, Slice{1, 3}}], slice(select(x, 0, 1), 1, 1, 3));
  check_identical(x[{0, 1, ellipsis, 2}], full({}, 6, {.dtype = DType::int64}));
  CHECK(x[{Slice{5, 9}, 0}].shape() == Dims{0, 4});
  CHECK(x[{Slice{2, 1}}].shape() == Dims{0, 3, 4});
  CHECK(x[ellipsis].impl() == x.impl());  // nothing to do
  CHECK(x[{}].impl() == x.impl());
  CHECK(full({}, 1)[ellipsis].rank() == 0);
  const Tensor part = x[{1, Slice{.step = 2}}];
  CHECK(part.impl()->storage == x.impl()->storage);
  fill_(part, -1);
  CHECK(x.at({1, 2, 3}) == -1);
  CHECK(x.at({1, 1, 3}) == 19);
}

TEST_CASE("a part's gradient has a gradient, and parts add up in the whole's") {
  Tensor x = random_tensor({3, 4, 5}, DType::float64, 1).requires_grad_();
  CHECK(gradgradcheck(
      [](const Tensors& v) {
        return v[0][{Slice{.step = 2}, -2, Slice{1, 4}}] * v[0][{0, 1, 2}];
      },
      {x}));
  Tensor w = ones({2, 3}).requires_grad_();
  (sum(w[{0, Slice{1}}]) + w[{0, 2}] * 3).backward();
  CHECK(w.grad().to_vector<double>() == Values{0, 1, 4, 0, 0, 0});
}

TEST_CASE("malformed: indexing") {
  check_malformed({
      {[](const Given& g) { g.x[2]; }, "IndexError", "index: position 2 is out of range for axis 0 of shape [2, 3]"},
      {[](const Given& g) {
         g.x[{0, -4}];
       },
       "IndexError", "index: position -4 is out of range for axis 1 of shape [2, 3]"},
      {[](const Given& g) {
         g.x[{0, 0, 0}];
       },
       "IndexError", "index: 3 indices for shape [2, 3] (2 axes)"},
      {[](const Given& g) { g.scalar[0]; }, "IndexError", "index: 1 indices for shape [] (0 axes)"},
      {[](const Given& g) {
         g.x[{ellipsis, ellipsis}];
       },
       "IndexError", "index: 2 ellipses; one at most"},
      {[](const Given& g) {
         g.x[{0, Slice{.step = 0}}];
       },
       "ValueError", "index: step 0 of axis 1 must be positive"},
      {[](const Given& g) { g.none[0]; }, "ValueError", "index: x is undefined"},
  });
}
