#include "tutti/nn/batch_norm.h"

#include <cmath>

#include "support/catch.h"
#include "support/module_gradcheck.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"

using namespace tutti;
using namespace tutti_test;

namespace {

struct Statistics {
  std::vector<double> mean, variance;  // divisor n
  double n;
};
Statistics statistics(const Array& x) {
  const int64_t N = x.shape[0], C = x.shape[1], plane = x.shape[2] * x.shape[3];
  Statistics s{{}, {}, static_cast<double>(N * plane)};
  for (int64_t c = 0; c < C; ++c) {
    double sum = 0, squares = 0;
    const auto each = [&](const std::function<void(double)>& f) {
      for (int64_t n = 0; n < N; ++n)
        for (int64_t i = 0; i < plane; ++i) f(x[(n * C + c) * plane + i]);
    };
    each([&](double v) { sum += v; });
    each([&](double v) { squares += (v - sum / s.n) * (v - sum / s.n); });
    s.mean.push_back(sum / s.n);
    s.variance.push_back(squares / s.n);
  }
  return s;
}
Array normalised(const Array& x, const Statistics& s, double eps, const Array& weight, const Array& bias) {
  Array y = x;
  const int64_t C = x.shape[1], plane = x.shape[2] * x.shape[3];
  for (int64_t i = 0; i < y.numel(); ++i) {
    const int64_t c = i / plane % C;
    const auto k = static_cast<size_t>(c);
    y[i] = (x[i] - s.mean[k]) / std::sqrt(s.variance[k] + eps) * weight[c] + bias[c];
  }
  return y;
}

}  // namespace

TEST_CASE("BatchNorm2d: batches in training, running statistics in evaluation") {
  nn::BatchNorm2d layer({.channels = 3, .eps = 1e-3, .momentum = 0.25});
  copy_(layer.weight.tensor().detach(), Tensor::from({1, 2, -0.5}, {3}));
  copy_(layer.bias.tensor().detach(), Tensor::from({0, 1, 3}, {3}));
  const Array weight(layer.weight.tensor()), bias(layer.bias.tensor());
  Statistics running{{0, 0, 0}, {1, 1, 1}, 0};
  for (uint64_t step = 1; step <= 3; ++step) {
    const Tensor x = random_tensor({4, 3, 5, 6}, DType::float32, step, -1, 4);
    const Statistics batch = statistics(Array(x));
    check_close(layer(x), normalised(Array(x), batch, 1e-3, weight, bias), 1e-5);
    for (size_t c = 0; c < 3; ++c) {
      running.mean[c] += 0.25 * (batch.mean[c] - running.mean[c]);
      running.variance[c] += 0.25 * (batch.variance[c] * batch.n / (batch.n - 1) - running.variance[c]);
      CHECK(layer.running_mean.tensor().at({static_cast<int64_t>(c)}) == Approx(running.mean[c]).epsilon(1e-5));
      CHECK(layer.running_var.tensor().at({static_cast<int64_t>(c)}) == Approx(running.variance[c]).epsilon(1e-5));
    }
  }
  CHECK(layer.num_batches_tracked.tensor().item() == 3);
  layer.eval();
  const Tensor x = random_tensor({1, 3, 1, 1}, DType::float32, 9);  // one element is enough here
  check_close(layer(x), normalised(Array(x), running, 1e-3, weight, bias), 1e-5);
  CHECK(layer.num_batches_tracked.tensor().item() == 3);
  CHECK(layer.state_dict().size() == 5);
}

TEST_CASE("BatchNorm2d: gradients, in training and evaluation") {
  nn::BatchNorm2d layer({.channels = 2});
  layer.to(DType::float64);
  const auto call = [&](const Tensors& x) { return layer(x[0]); };
  const Tensors x{random_tensor({2, 2, 2, 3}, DType::float64, 1).requires_grad_()};
  CHECK(gradcheck_module(layer, call, x, /*second=*/true));
  layer.eval();
  CHECK(gradcheck_module(layer, call, x));
  nn::BatchNorm2d plain({.channels = 2, .affine = false});
  CHECK(plain.parameters().empty());
  plain.to(DType::float64);
  CHECK(gradcheck([&](const Tensors& v) { return plain(v[0]); }, x));
}

TEST_CASE("malformed: BatchNorm2d") {
  REQUIRE_THROWS_WITH(nn::BatchNorm2d({}), "BatchNorm2d: channels is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(nn::BatchNorm2d({.channels = 1, .momentum = 2}),
                      "BatchNorm2d: momentum is 2; it must be between 0 and 1");
  nn::BatchNorm2d layer({.channels = 2});
  REQUIRE_THROWS_WITH(layer(zeros({1, 3, 4, 4})), "BatchNorm2d: input [1, 3, 4, 4] is not [N, 2, H, W]");
  REQUIRE_THROWS_WITH(
      layer(zeros({1, 2, 1, 1})),
      "BatchNorm2d: a channel of input [1, 2, 1, 1] has 1 element(s); training needs two, for a variance");
  CHECK(layer.num_batches_tracked.tensor().item() == 0);
}
