#include "tutti/ops/conv.h"

#include "support/malformed.h"
#include "support/op_test.h"
#include "tutti/core/parallel.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// The definition, term by term.
Array reference(const Arrays& in, const ConvOptions& o) {
  const Array &x = in[0], &w = in[1];
  const int64_t N = x.shape[0], C = x.shape[1], H = x.shape[2], W = x.shape[3];
  const int64_t O = w.shape[0], K = w.shape[1], KH = w.shape[2], KW = w.shape[3];
  const int64_t OH = (H + 2 * o.padding.h - o.dilation.h * (KH - 1) - 1) / o.stride.h + 1;
  const int64_t OW = (W + 2 * o.padding.w - o.dilation.w * (KW - 1) - 1) / o.stride.w + 1;
  Array y({N, O, OH, OW});
  for (int64_t n = 0; n < N; ++n)
    for (int64_t f = 0; f < O; ++f)
      for (int64_t i = 0; i < OH; ++i)
        for (int64_t k = 0; k < OW; ++k) {
          double sum = in.size() > 2 ? in[2][f] : 0;
          for (int64_t c = 0; c < K; ++c)
            for (int64_t a = 0; a < KH; ++a)
              for (int64_t b = 0; b < KW; ++b) {
                const int64_t channel = f / (O / o.groups) * K + c;
                const int64_t row = i * o.stride.h + a * o.dilation.h - o.padding.h;
                const int64_t col = k * o.stride.w + b * o.dilation.w - o.padding.w;
                if (row < 0 || row >= H || col < 0 || col >= W) continue;
                sum += x[((n * C + channel) * H + row) * W + col] * w[((f * K + c) * KH + a) * KW + b];
              }
          y[((n * O + f) * OH + i) * OW + k] = sum;
        }
  return y;
}

void check(const char* name, const std::vector<Dims>& shapes, const ConvOptions& o) {
  op_test(name, {.shapes = {shapes},
                 .op = [&](const Tensors& x) { return conv2d(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), o); },
                 .reference = [&](const Arrays& x) { return reference(x, o); },
                 .low = -1,
                 .high = 1});
}

}  // namespace

TEST_CASE("conv2d equals its definition, and so do its gradients") {
  check("conv2d", {{2, 3, 5, 6}, {4, 3, 3, 2}, {4}}, {});
  check("conv2d 1 x 1", {{2, 3, 4, 5}, {4, 3, 1, 1}}, {});
  check("conv2d padded", {{2, 2, 4, 5}, {3, 2, 3, 3}, {3}}, {.padding = 1});
  check("conv2d strided", {{1, 2, 7, 8}, {3, 2, 3, 2}}, {.stride = {2, 3}, .padding = {2, 1}});
  check("conv2d dilated", {{2, 2, 7, 6}, {2, 2, 3, 2}}, {.padding = {1, 0}, .dilation = {2, 3}});
  check("conv2d grouped", {{2, 4, 5, 4}, {6, 2, 2, 3}, {6}}, {.stride = 2, .padding = 1, .groups = 2});
  check("conv2d by channel", {{2, 3, 5, 5}, {3, 1, 3, 3}}, {.padding = 1, .groups = 3});
  check("conv2d of whole images", {{3, 2, 4, 3}, {5, 2, 4, 3}, {5}}, {});
  check("conv2d of no images", {{0, 2, 4, 3}, {5, 2, 3, 3}, {5}}, {});
}

TEST_CASE("conv2d: second derivatives") {
  const auto random = [](const Dims& shape, uint64_t seed) {
    return random_tensor(shape, DType::float64, seed).requires_grad_();
  };
  for (const ConvOptions& o : {ConvOptions{}, ConvOptions{.stride = 2, .padding = 1, .groups = 2}})
    CHECK(gradgradcheck([&](const Tensors& v) { return conv2d(v[0], v[1], v[2], o); },
                        {random({2, 2, 4, 4}, 1), random({2, 2 / o.groups, 3, 2}, 2), random({2}, 3)}));
}

TEST_CASE("conv2d: many images are taken in parts, with the same bits on every number of threads") {
  // Two images' windows are more than is laid out at once.
  const Tensor x = random_tensor({5, 16, 50, 52}, DType::float32, 1).requires_grad_();
  const Tensor w = random_tensor({3, 16, 3, 3}, DType::float32, 2).requires_grad_();
  const auto run = [&] {
    const Tensor y = conv2d(x, w, {}, {.padding = 1});
    return std::vector<Tensor>{y.detach(), grad({y}, {x, w}, {y.detach()})[0],
                               grad({conv2d(x, w)}, {w}, {ones({5, 3, 48, 50})})[0]};
  };
  const auto want = run();
  for (int64_t i : {0, 4})
    check_close(want[0][Slice{i, i + 1}], Array(conv2d(x[Slice{i, i + 1}], w, {}, {.padding = 1})), 1e-6);
  Tensor alone = zeros_like(w);
  for (int64_t i = 0; i < 5; ++i) alone += grad({conv2d(x[Slice{i, i + 1}], w)}, {w}, {ones({1, 3, 48, 50})})[0];
  check_close(want[2], Array(alone), 1e-5);
  for (int n : {1, 2, 6}) {
    set_num_threads(n);
    const auto got = run();
    for (size_t i = 0; i < want.size(); ++i) check_identical(got[i], want[i]);
  }
  set_num_threads(0);
}

TEST_CASE("malformed: conv2d") {
  check_malformed({
      {[](const Given&) {
         conv2d(zeros({1, 3, 5, 5}), zeros({4, 2, 3, 3}));
       },
       "ShapeError",
       "conv2d: x [1, 3, 5, 5] and weight [4, 2, 3, 3] do not fit with groups = 1 (weight is [O, C / groups, KH, KW])"},
      {[](const Given&) {
         conv2d(zeros({1, 4, 5, 5}), zeros({3, 2, 3, 3}), {}, {.groups = 2});
       },
       "ShapeError",
       "conv2d: x [1, 4, 5, 5] and weight [3, 2, 3, 3] do not fit with groups = 2 (weight is [O, C / groups, KH, KW])"},
      {[](const Given&) {
         conv2d(zeros({1, 4, 5, 5}), zeros({3, 4, 3, 3}), {}, {.groups = 0});
       },
       "ShapeError",
       "conv2d: x [1, 4, 5, 5] and weight [3, 4, 3, 3] do not fit with groups = 0 (weight is [O, C / groups, KH, KW])"},
      {[](const Given&) {
         conv2d(zeros({1, 3, 5, 5}), zeros({4, 3, 7, 3}), {}, {.padding = {0, 1}});
       },
       "ShapeError", "conv2d: a kernel of 7 x 3 (dilation 1 x 1) does not fit an image of 5 x 5 with padding 0 x 1"},
      {[](const Given&) {
         conv2d(zeros({3, 5, 5}), zeros({4, 3, 3, 3}));
       },
       "ShapeError", "conv2d: x of shape [3, 5, 5] is not [N, C, H, W]"},
      {[](const Given&) {
         conv2d(zeros({1, 3, 5, 5}), zeros({3, 3}));
       },
       "ShapeError", "conv2d: weight of shape [3, 3] is not [O, C / groups, KH, KW]"},
      {[](const Given&) {
         conv2d(zeros({1, 3, 5, 5}), zeros({4, 3, 3, 3}), zeros({3}));
       },
       "ShapeError", "conv2d: bias of shape [3] is not [4]"},
      {[](const Given&) {
         conv2d(zeros({1, 3, 5, 5}), zeros({4, 3, 3, 3}), {}, {.stride = {1, 0}});
       },
       "ValueError", "conv2d: stride 1 x 0 is not in [1, 2^30]"},
      {[](const Given&) {
         conv2d(zeros({1, 3, 5, 5}), zeros({4, 3, 3, 3}), {}, {.padding = -1});
       },
       "ValueError", "conv2d: padding -1 x -1 is not in [0, 2^30]"},
      {[](const Given&) {
         conv2d(zeros({1, 3, 5, 5}), zeros({4, 3, 0, 3}));
       },
       "ValueError", "conv2d: kernel size 0 x 3 is not in [1, 2^30]"},
      {[](const Given& g) { conv2d(g.x, g.none); }, "ValueError", "conv2d: weight is undefined"},
  });
}
