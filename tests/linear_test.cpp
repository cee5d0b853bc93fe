// linear and grouped_linear against plain loops and against the dense layer with block-diagonal weights.
#include "tutti/ops/linear.h"

#include "support/op_test.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"

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
  op_test("linear", {.kernels = "gemm",
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
