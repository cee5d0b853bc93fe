#include "tutti/ops/pool.h"

#include <algorithm>
#include <cmath>

#include "support/malformed.h"
#include "support/op_test.h"

using namespace tutti;
using namespace tutti_test;

namespace {

using Values = std::vector<double>;

/// f(the window's elements, `outside` where it reaches beyond the image) for every window.
Array reference(const Array& x, Size2d kernel, const PoolOptions& o, double outside,
                const std::function<double(const Values&)>& f) {
  const Size2d stride{o.stride.h ? o.stride.h : kernel.h, o.stride.w ? o.stride.w : kernel.w};
  const int64_t planes = x.shape[0] * x.shape[1], H = x.shape[2], W = x.shape[3];
  const int64_t OH = (H + 2 * o.padding.h - o.dilation.h * (kernel.h - 1) - 1) / stride.h + 1;
  const int64_t OW = (W + 2 * o.padding.w - o.dilation.w * (kernel.w - 1) - 1) / stride.w + 1;
  Array y({x.shape[0], x.shape[1], OH, OW});
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t i = 0; i < OH; ++i)
      for (int64_t k = 0; k < OW; ++k) {
        Values window;
        for (int64_t a = 0; a < kernel.h; ++a)
          for (int64_t b = 0; b < kernel.w; ++b) {
            const int64_t row = i * stride.h + a * o.dilation.h - o.padding.h;
            const int64_t col = k * stride.w + b * o.dilation.w - o.padding.w;
            const bool inside = row >= 0 && row < H && col >= 0 && col < W;
            window.push_back(inside ? x[(p * H + row) * W + col] : outside);
          }
        y[(p * OH + i) * OW + k] = f(window);
      }
  return y;
}
double largest(const Values& v) { return *std::max_element(v.begin(), v.end()); }
double average(const Values& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}

void check(Size2d kernel, const PoolOptions& o) {
  const std::vector<std::vector<Dims>> shapes{{{2, 3, 6, 7}}, {{1, 1, 5, 9}}, {{0, 2, 4, 5}}};
  op_test("max_pool2d", {.kernels = "extremum place",
                         .shapes = shapes,
                         .op = [&](const Tensors& x) { return max_pool2d(x[0], kernel, o); },
                         .reference = [&](const Arrays& x) { return reference(x[0], kernel, o, -INFINITY, largest); },
                         .gradient = false});  // layouts that repeat elements have kinks
  op_test("avg_pool2d", {.shapes = shapes,
                         .op = [&](const Tensors& x) { return avg_pool2d(x[0], kernel, o); },
                         .reference = [&](const Arrays& x) { return reference(x[0], kernel, o, 0, average); }});
  for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced}) {
    Tensor x = with_layout(random_tensor({2, 2, 5, 6}, DType::float64, 5), layout).requires_grad_();
    CHECK(gradcheck([&](const Tensors& v) { return max_pool2d(v[0], kernel, o); }, {x}));
  }
}

}  // namespace

TEST_CASE("pooling equals a plain loop, and so do its gradients") {
  check(2, {});
  check(3, {.stride = 2, .padding = 1});
  check({2, 3}, {.stride = {1, 2}, .padding = {1, 0}});
  check(2, {.stride = 1, .dilation = {3, 2}});
  check({4, 1}, {.padding = {2, 0}});
}

TEST_CASE("pooling: second derivatives, NaN beats everything, padding nothing, the first of equals has the gradient") {
  Tensor x = random_tensor({2, 2, 4, 5}, DType::float64, 1).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& v) { return max_pool2d(v[0] * v[0], 2, {.stride = 1}); }, {x}));
  CHECK(gradgradcheck([](const Tensors& v) { return avg_pool2d(v[0] * v[0], 3, {.stride = 2, .padding = 1}); }, {x}));
  const Tensor odd = Tensor::from({1, NAN, -5, -7}, {1, 1, 2, 2});
  CHECK(std::isnan(max_pool2d(odd, 2).item()));
  CHECK(max_pool2d(full({1, 1, 2, 2}, -3), 2, {.stride = 2, .padding = 1}).to_vector<double>() == Values(4, -3.0));
  Tensor equal = ones({1, 1, 2, 4}).requires_grad_();
  sum(max_pool2d(equal, 2)).backward();
  CHECK(equal.grad().to_vector<double>() == Values{1, 0, 1, 0, 0, 0, 0, 0});
}

TEST_CASE("malformed: pooling") {
  check_malformed({
      {[](const Given& g) { max_pool2d(g.q, 5); }, "ShapeError",
       "max_pool2d: a kernel of 5 x 5 (dilation 1 x 1) does not fit an image of 3 x 4 with padding 0 x 0"},
      {[](const Given& g) {
         avg_pool2d(g.q, {3, 2}, {.padding = {1, 2}});
       },
       "ValueError", "avg_pool2d: padding 1 x 2 is more than half of the kernel, 3 x 2"},
      {[](const Given& g) { max_pool2d(g.q, 0); }, "ValueError", "max_pool2d: kernel size 0 x 0 is not in [1, 2^30]"},
      {[](const Given& g) { max_pool2d(g.q, 2, {.stride = -1}); }, "ValueError",
       "max_pool2d: stride -1 x -1 is not in [1, 2^30]"},
      {[](const Given& g) { max_pool2d(g.q, 2, {.dilation = 0}); }, "ValueError",
       "max_pool2d: dilation 0 x 0 is not in [1, 2^30]"},
      {[](const Given& g) { avg_pool2d(g.x, 2); }, "ShapeError", "avg_pool2d: x of shape [2, 3] is not [N, C, H, W]"},
      {[](const Given& g) { avg_pool2d(g.indices, 2); }, "DTypeError", "avg_pool2d: int64 is not a floating dtype"},
      {[](const Given& g) { max_pool2d(g.none, 2); }, "ValueError", "max_pool2d: x is undefined"},
  });
}
