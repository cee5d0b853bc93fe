// random_affine against bilinear reading written out in float64, and what it promises of its draws.
#include "tutti/nn/data/random_affine.h"

#include <algorithm>
#include <cmath>

#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/core/philox.h"
#include "tutti/ops/create.h"
#include "tutti/ops/index.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// Image i of [B, H, W] as the options draw it: every pixel weighs in with max(0, 1 - |distance|) in both directions.
std::vector<double> by_definition(const data::AffineOptions& o, const Array& x, int64_t i, RandomKey key) {
  const auto height = x.shape[1], width = x.shape[2];
  const auto block = static_cast<uint64_t>(i);
  const auto draw = [&](uint64_t n, double most) {
    return most * (2 * double{uniform01(philox(key, 2 * block + n / 4).v[n % 4])} - 1);
  };
  const double degree = std::acos(-1.0) / 180;
  const double angle = draw(0, o.degrees) * degree, slant = std::tan(draw(1, o.shear) * degree);
  const double tall = 1 + draw(2, o.scale), wide = 1 + draw(3, o.scale), down = draw(4, o.translate);
  const double across = draw(5, o.translate), top = (static_cast<double>(height) - 1) / 2;
  const double left = (static_cast<double>(width) - 1) / 2;
  std::vector<double> y;
  for (int64_t r = 0; r < height; ++r)
    for (int64_t c = 0; c < width; ++c) {
      const double v = tall * (static_cast<double>(r) - top), h = wide * (static_cast<double>(c) - left);
      const double slanted = v + slant * h;  // stretched, slanted, turned, moved
      const double row = std::cos(angle) * slanted - std::sin(angle) * h + top + down;
      const double column = std::sin(angle) * slanted + std::cos(angle) * h + left + across;
      double sum = 0;
      for (int64_t a = -1; a <= height; ++a)
        for (int64_t b = -1; b <= width; ++b) {
          const double weight = std::max(0.0, 1 - std::abs(row - static_cast<double>(a))) *
                                std::max(0.0, 1 - std::abs(column - static_cast<double>(b)));
          const bool inside = a >= 0 && a < height && b >= 0 && b < width;
          sum += weight * (inside ? x[(i * height + a) * width + b] : o.fill);
        }
      const bool far =
          row <= -1 || row >= static_cast<double>(height) || column <= -1 || column >= static_cast<double>(width);
      y.push_back(far ? o.fill : sum);
    }
  return y;
}

}  // namespace

TEST_CASE("random_affine: reads between pixels along the map it drew, in every floating dtype and layout") {
  const data::AffineOptions options{.degrees = 40, .scale = 0.3, .shear = 20, .translate = 2.5, .fill = -1};
  const auto f = data::random_affine(options);
  for (const Dims& shape : {Dims{20, 7, 5}, Dims{20, 1, 1}, Dims{20, 1, 9}})
    for (const auto& [dtype, tolerance] :
         {std::pair{DType::float64, 1e-12}, {DType::float32, 1e-5}, {DType::bfloat16, 2e-2}, {DType::float16, 3e-3}}) {
      const Tensor x = random_tensor(shape, dtype, 5), y = f(x, {7, 9});
      CHECK(y.dtype() == dtype);
      CHECK(y.shape() == shape);
      const Array before(x), after(y);
      for (int64_t i = 0; i < shape[0]; ++i) {
        const auto expected = by_definition(options, before, i, {7, 9});
        for (size_t k = 0; k < expected.size(); ++k)
          CHECK(after[i * static_cast<int64_t>(expected.size()) + static_cast<int64_t>(k)] ==
                Approx(expected[k]).margin(tolerance));
      }
      check_identical(y, f(with_layout(x, Layout::transposed), {7, 9}));
      check_identical(y, f(x, {7, 9}));
    }
}

TEST_CASE("random_affine: nothing asked for changes nothing, channels move together, a turn keeps the centre") {
  const Tensor x = random_tensor({6, 3, 5, 5}, DType::float32, 3);
  check_identical(data::random_affine({})(x, {1, 2}), x);
  const auto f = data::random_affine({.degrees = 90, .translate = 1});
  const Tensor y = f(x, {1, 2});
  for (int64_t c = 0; c < 3; ++c) check_identical(select(y, 1, c), f(select(x, 1, c), {1, 2}));
  const Tensor turned = data::random_affine({.degrees = 180, .scale = 0.5, .shear = 30})(x, {1, 2});
  check_identical(select(select(turned, 3, 2), 2, 2), select(select(x, 3, 2), 2, 2));
  CHECK(f(zeros({0, 3, 3}), {}).numel() == 0);
  const Tensor far = data::random_affine({.translate = 9e8})(x, {1, 2});
  CHECK(sum(far).item() == 0);  // moved out of sight
}

TEST_CASE("random_affine: what weighs nothing is not looked at, an infinity least of all") {
  const Tensor x = Tensor::from({HUGE_VAL, 1, 2, 3}, {1, 2, 2});
  check_identical(data::random_affine({})(x, {1, 2}), x);
  check_identical(data::random_affine({.fill = HUGE_VAL})(x, {1, 2}), x);
}

TEST_CASE("random_affine: bad options and batches are named") {
  REQUIRE_THROWS_WITH(data::random_affine({.degrees = -1}),
                      "random_affine: degrees is -1; it must be at least 0 and below 360");
  REQUIRE_THROWS_WITH(data::random_affine({.scale = 1}),
                      "random_affine: scale is 1; it must be at least 0 and below 1");
  REQUIRE_THROWS_WITH(data::random_affine({.shear = 90}),
                      "random_affine: shear is 90; it must be at least 0 and below 90");
  REQUIRE_THROWS_WITH(data::random_affine({.translate = std::nan("")}), Contains("translate is nan"));
  const auto f = data::random_affine({.degrees = 5});
  REQUIRE_THROWS_WITH(f(zeros({4, 4}), {}), "random_affine: shape [4, 4] is neither [B, H, W] nor [B, C, H, W]");
  REQUIRE_THROWS_WITH(f(Tensor(), {}), "random_affine: the batch is undefined");
  REQUIRE_THROWS_AS(f(zeros({2, 4, 4}, {.dtype = DType::uint8}), {}), DTypeError);
}
