// Softmax, log-sum-exp and normalisation at the widths at which a GPU shares lines out differently, and of more lines
// than it takes at once: against float64 loops.
#include <cmath>

#include "support/lines.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/normalization.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"

using namespace tutti;
using namespace tutti_test;

namespace {

Values softmax_line(const Values& x) {
  double most = -INFINITY, sum = 0;
  for (double v : x) most = std::max(most, v);
  for (double v : x) sum += std::exp(v - most);
  Values y;
  for (double v : x) y.push_back(std::exp(v - most) / sum);
  return y;
}

struct Line {
  Values x, dy;
};
Array map_two(const Array& x, const Array& dy, int axis, const std::function<Values(const Line&)>& f) {
  std::vector<Values> first;
  (void)map_lines(x, axis, [&](const Values& v) {
    first.push_back(v);
    return v;
  });
  size_t i = 0;
  return map_lines(dy, axis, [&](const Values& v) { return f({first[i++], v}); });
}

void check_softmax(const Dims& shape, int axis, DType dtype, double tolerance) {
  INFO("softmax of " << to_string(shape) << " along " << axis);
  const Tensor x = random_tensor(shape, dtype, 1, -9, 9).requires_grad_(), dy = random_tensor(shape, dtype, 2);
  const Array xv(x), dv(dy);
  const auto gradient = [&](bool log) {
    return map_two(xv, dv, axis, [log](const Line& l) {
      const Values y = softmax_line(l.x);
      double sum = 0;
      for (size_t i = 0; i < y.size(); ++i) sum += log ? l.dy[i] : y[i] * l.dy[i];
      Values dx;
      for (size_t i = 0; i < y.size(); ++i) dx.push_back(log ? l.dy[i] - y[i] * sum : y[i] * (l.dy[i] - sum));
      return dx;
    });
  };
  const Tensor y = softmax(x, axis), log = log_softmax(x, axis);
  check_close(y.detach(), map_lines(xv, axis, softmax_line), tolerance);
  check_close(grad({y}, {x}, {dy})[0], gradient(false), tolerance);
  check_close(log.detach(),
              map_lines(xv, axis,
                        [](const Values& v) {
                          Values r = softmax_line(v);
                          for (double& e : r) e = std::log(e);
                          return r;
                        }),
              tolerance);
  check_close(grad({log}, {x}, {dy})[0], gradient(true), tolerance);
  const auto of_line = [](const Values& v) {
    double sum = 0;
    for (double e : v) sum += std::exp(e);
    return Values{std::log(sum)};
  };
  check_close(logsumexp(x.detach(), axis, true), map_lines(xv, axis, of_line, 1), tolerance);
}

void check_layer_norm(int64_t lines, int64_t width, DType dtype, double factor, double tolerance) {
  INFO("layer_norm of " << lines << " lines of " << width << ", times " << factor);
  const double eps = factor == 1 ? 1e-5 : 0;
  const Tensor x = mul(random_tensor({lines, width}, dtype, 1), factor).requires_grad_(),
               w = random_tensor({width}, dtype, 2, .5, 2).requires_grad_(),
               b = random_tensor({width}, dtype, 3).requires_grad_(), dy = random_tensor({lines, width}, dtype, 4);
  const Array xv(x), dv(dy), wv(w), bv(b);
  Array y(Dims{lines, width}), dx = y, dw(Dims{width}), db = dw;
  const auto n = static_cast<double>(width);
  for (int64_t i = 0; i < lines; ++i) {
    double mean = 0, squares = 0, of_g = 0, of_gx = 0;
    for (int64_t j = 0; j < width; ++j) mean += xv[i * width + j] / factor / n;
    for (int64_t j = 0; j < width; ++j) squares += std::pow(xv[i * width + j] / factor - mean, 2) / n;
    const double scale = 1 / std::sqrt(squares + eps);
    const auto normal = [&](int64_t j) { return (xv[i * width + j] / factor - mean) * scale; };
    for (int64_t j = 0; j < width; ++j) {
      y[i * width + j] = normal(j) * wv[j] + bv[j];
      of_g += dv[i * width + j] * wv[j] / n;
      of_gx += dv[i * width + j] * wv[j] * normal(j) / n;
      dw[j] += dv[i * width + j] * normal(j);
      db[j] += dv[i * width + j];
    }
    for (int64_t j = 0; j < width; ++j)
      dx[i * width + j] = (dv[i * width + j] * wv[j] - of_g - normal(j) * of_gx) * scale / factor;
  }
  const Tensor out = layer_norm(x, w, b, eps);
  check_close(out.detach(), y, tolerance);
  const auto g = grad({out}, {x, w, b}, {dy});
  const Tensor scaled = mul(g[0], std::min(factor, 1e30));  // near 1 again, in steps that stay in range
  for (double& v : dx.v) v *= std::min(factor, 1e30);
  check_close(scaled, dx, 4 * tolerance);
  check_close(g[1], dw, 4 * tolerance);
  check_close(g[2], db, 4 * tolerance);
}

}  // namespace

TEST_CASE("softmax, log_softmax and logsumexp at every width") {
  for (int64_t width : {1, 2, 7, 8, 31, 33, 256, 257, 520, 1024, 1025, 2056, 4099, 8200, 8201, 16392}) {
    const int64_t lines = width < 300 ? 5 : 2;
    check_softmax({lines, width}, 1, DType::float32, 3e-6);
    check_softmax({width, lines}, 0, DType::float32, 3e-6);
    if (width < 3000) check_softmax({lines, width}, 1, DType::float64, 1e-13);
    if (width == 33 || width == 1024) check_softmax({lines, width}, 1, DType::bfloat16, 3e-2);
  }
  check_softmax({8209, 3}, 1, DType::float32, 3e-6);
  check_softmax({3, 8209}, 0, DType::float32, 3e-6);
}

TEST_CASE("layer_norm and its gradients at every width, and where squares overflow") {
  for (int64_t width : {1, 2, 7, 31, 33, 256, 257, 512, 1025, 4096, 4099, 4104}) {
    const int64_t lines = width < 300 ? 9 : 5;
    check_layer_norm(lines, width, DType::float32, 1, 3e-6);
    if (width < 1100) check_layer_norm(lines, width, DType::float64, 1, 1e-12);
    if (width > 7) check_layer_norm(lines, width, DType::float32, 1e30, 1e-5);
  }
  check_layer_norm(4225, 3, DType::float32, 1, 3e-5);
  check_layer_norm(4225, 40, DType::float32, 1, 3e-5);
  check_layer_norm(3, 3079, DType::float64, 1, 1e-12);
  check_layer_norm(2, 16392, DType::float32, 1, 3e-6);
  // Wide lines in packs of 2 and 8.
  check_layer_norm(5, 3080, DType::float64, 1, 1e-12);
  for (const DType half : {DType::bfloat16, DType::float16}) check_layer_norm(5, 4104, half, 1, 3e-2);
}
