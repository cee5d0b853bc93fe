#include "tutti/nn/data/random_affine.h"

#include <cmath>
#include <numbers>

#include "tutti/autograd/with_grad.h"
#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/core/philox.h"
#include "tutti/nn/data/detail/device_images.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/shape.h"

namespace tutti::data {
namespace {

/// Image i's: its turn times its slant times its stretch, and its move.
AffineMap draw(const AffineOptions& o, RandomKey key, int64_t i) {
  const Philox4 a = philox(key, 2 * static_cast<uint64_t>(i)), b = philox(key, 2 * static_cast<uint64_t>(i) + 1);
  const auto within = [](double most, uint32_t word) { return most * (2 * double{uniform01(word)} - 1); };
  constexpr double degree = std::numbers::pi / 180;
  const double angle = degree * within(o.degrees, a.v[0]), slant = std::tan(degree * within(o.shear, a.v[1]));
  const double tall = 1 + within(o.scale, a.v[2]), wide = 1 + within(o.scale, a.v[3]);
  const double c = std::cos(angle), s = std::sin(angle);
  return {{{c * tall, (c * slant - s) * wide}, {s * tall, (s * slant + c) * wide}},
          {within(o.translate, b.v[0]), within(o.translate, b.v[1])}};
}

/// Between a and b; a neighbour that weighs nothing is not looked at, whatever it is (an infinity times 0 is NaN).
template <class T>
T mix(T a, T b, T weight) {
  return weight == 0 ? a : weight == 1 ? b : (1 - weight) * a + weight * b;
}

template <class T>
void read_plane(const T* x, T* y, int64_t height, int64_t width, const AffineMap& map, T fill) {
  const double middle[2] = {static_cast<double>(height - 1) / 2, static_cast<double>(width - 1) / 2};
  const auto at = [&](int64_t r, int64_t c) {
    return r >= 0 && r < height && c >= 0 && c < width ? x[r * width + c] : fill;
  };
  for (int64_t r = 0; r < height; ++r)
    for (int64_t c = 0; c < width; ++c) {
      const double down = static_cast<double>(r) - middle[0], across = static_cast<double>(c) - middle[1];
      const double row = map.m[0][0] * down + map.m[0][1] * across + map.t[0] + middle[0];
      const double column = map.m[1][0] * down + map.m[1][1] * across + map.t[1] + middle[1];
      if (!(row > -1 && row < static_cast<double>(height) && column > -1 && column < static_cast<double>(width))) {
        *y++ = fill;  // far outside: also what no int64_t holds
        continue;
      }
      const auto r0 = static_cast<int64_t>(std::floor(row)), c0 = static_cast<int64_t>(std::floor(column));
      const T below = static_cast<T>(row - static_cast<double>(r0)),
              right = static_cast<T>(column - static_cast<double>(c0));
      const T upper = mix(at(r0, c0), at(r0, c0 + 1), right);
      const T lower = mix(at(r0 + 1, c0), at(r0 + 1, c0 + 1), right);
      *y++ = mix(upper, lower, below);
    }
}

void check_below(const char* option, double value, double end) {
  if (!(value >= 0 && value < end))
    throw ValueError(message("random_affine: ", option, " is ", value, "; it must be at least 0 and below ", end));
}

}  // namespace

Transform random_affine(AffineOptions o) {
  check_below("degrees", o.degrees, 360);
  check_below("scale", o.scale, 1);
  check_below("shear", o.shear, 90);
  check_below("translate", o.translate, 1e9);
  return [o](const Tensor& batch, RandomKey key) {
    const Images n = images_of("random_affine", batch);
    check_floating("random_affine", batch);
    check_number("random_affine", o.fill, batch.dtype());
    const bool wide = batch.dtype() == DType::float64;  // halves are computed in float32
    const Tensor x = contiguous(wide ? batch : to(batch, DType::float32));
    if (x.device() != cpu) {
      std::vector<AffineMap> maps;
      for (int64_t i = 0; i < n.batch; ++i) maps.push_back(draw(o, key, i));
      return to(read_along(x, n, maps, o.fill), batch.dtype());
    }
    const Output y = output_like(x);
    const auto read = [&]<class T>(T fill) {
      const T* from = x.data<T>();
      T* to = y.data<T>();
      const int64_t plane = n.height * n.width;
      for (int64_t i = 0; i < n.batch; ++i) {
        const AffineMap map = draw(o, key, i);
        for (int64_t c = 0; c < n.channels; ++c, from += plane, to += plane)
          read_plane(from, to, n.height, n.width, map, fill);
      }
    };
    if (wide)
      read(o.fill);
    else
      read(static_cast<float>(o.fill));
    return to(no_gradient(y), batch.dtype());
  };
}

}  // namespace tutti::data
