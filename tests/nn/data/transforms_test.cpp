// Transforms of image batches.
#include "tutti/nn/data/transforms.h"

#include <set>

#include "support/devices.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

Tensor pictures(const Dims& shape, DType dtype = DType::float32) {
  return reshape(arange(1, static_cast<double>(shape.product()) + 1, 1, {.dtype = dtype}), shape);
}

/// (dx, dy) for which y is x moved, by trying them all.
std::vector<std::pair<int, int>> moves(const Array& x, const Array& y, int64_t image, int reach, double fill) {
  const int64_t h = x.shape[x.shape.n - 2], w = x.shape[x.shape.n - 1];
  const int64_t planes = x.numel() / x.shape[0] / (h * w), base = image * planes * h * w;
  std::vector<std::pair<int, int>> found;
  for (int dx = -reach; dx <= reach; ++dx)
    for (int dy = -reach; dy <= reach; ++dy) {
      bool same = true;
      for (int64_t c = 0; c < planes && same; ++c)
        for (int64_t r = 0; r < h && same; ++r)
          for (int64_t k = 0; k < w && same; ++k) {
            const int64_t sr = r - dy, sk = k - dx;
            const bool inside = sr >= 0 && sr < h && sk >= 0 && sk < w;
            same = y[base + (c * h + r) * w + k] == (inside ? x[base + (c * h + sr) * w + sk] : fill);
          }
      if (same) found.emplace_back(dx, dy);
    }
  return found;
}

}  // namespace

TEST_CASE("normalize: any dtype, any shape") {
  const auto f = data::normalize(2, 4);
  check_close(f(Tensor::from({2, 6, -2}, {3}), {}), Array(Tensor::from({0, 1, -1}, {3})), 1e-7);
  const Tensor y = f(Tensor::from({2, 255}, {1, 2}, DType::uint8), {});
  CHECK(y.dtype() == DType::float32);
  CHECK(y.at({0, 1}) == 63.25);
  REQUIRE_THROWS_WITH(data::normalize(0, 0), "normalize: stddev is 0; it must be positive");
}

TEST_CASE("random_shift: each image moves as a whole, by every offset, repeatably") {
  const auto f = data::random_shift(2, -1);
  const int64_t images = sized(300, 160);
  for (const Dims& shape : {Dims{images, 5, 7}, Dims{images, 2, 5, 7}})
    for (DType dtype : {DType::float32, DType::float64, DType::int32}) {
      const Tensor x = pictures(shape, dtype), y = f(x, {7, 9});
      CHECK(y.dtype() == dtype);
      std::set<std::pair<int, int>> seen;
      const Array before(x), after(y);
      for (int64_t i = 0; i < images; ++i) {
        const auto found = moves(before, after, i, 2, -1);
        REQUIRE(found.size() == 1);
        seen.insert(found[0]);
      }
      CHECK(seen.size() == 25);
      check_identical(y, f(x, {7, 9}));
      check_identical(y, f(with_layout(x, Layout::transposed), {7, 9}));
    }
  const Tensor small = pictures({1, 2, 2});  // shifts larger than the picture
  for (uint64_t s = 0; s < static_cast<uint64_t>(sized(50, 10)); ++s)
    CHECK(moves(Array(small), Array(data::random_shift(5)(small, {s, 0})), 0, 5, 0).size() >= 1);
  check_identical(data::random_shift(0)(small, {}), small);
  CHECK(f(zeros({0, 3, 3}), {}).numel() == 0);
  REQUIRE_THROWS_WITH(data::random_shift(-1), "random_shift: pixels is -1; it must not be negative");
  REQUIRE_THROWS_WITH(f(zeros({4, 4}), {}), "random_shift: shape [4, 4] is neither [B, H, W] nor [B, C, H, W]");
  REQUIRE_THROWS_WITH(f(Tensor(), {}), "random_shift: the batch is undefined");
}

TEST_CASE("random_flip: mirrors whole images with the probability asked for") {
  const Tensor x = pictures({1000, 2, 3});
  const Array before(x), after(data::random_flip(0.3)(x, {1, 2}));
  int flipped = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const bool mirrored = after[i * 6] != before[i * 6];
    flipped += mirrored;
    for (int64_t k = 0; k < 6; ++k) CHECK(after[i * 6 + k] == before[i * 6 + (mirrored ? k / 3 * 3 + 2 - k % 3 : k)]);
  }
  CHECK(flipped > 240);
  CHECK(flipped < 360);
  check_identical(data::random_flip(0)(x, {}), x);
  CHECK(data::random_flip(1)(x, {}).at({999, 1, 0}) == x.at({999, 1, 2}));
  CHECK(data::random_flip(1)(pictures({2, 1, 2, 3}, DType::uint8), {}).at({1, 0, 1, 2}) == 10);
  REQUIRE_THROWS_WITH(data::random_flip(1.5), "random_flip: p is 1.5; it must be between 0 and 1");
  REQUIRE_THROWS_AS(data::random_flip()(zeros({2}), {}), ShapeError);
}

TEST_CASE("random_shift: numbers that nothing can be done with") {
  const Tensor bytes = pictures({2, 1, 2, 3}, DType::uint8);
  REQUIRE_THROWS_WITH(data::random_shift(1, 256)(bytes, {}),
                      "random_shift: 256 is not a value of uint8; convert with to(x, dtype)");
  REQUIRE_THROWS_WITH(data::random_shift(int64_t{1} << 31),
                      "random_shift: pixels is 2147483648; it must be at most 2147483647");
  CHECK(data::random_shift((int64_t{1} << 31) - 1, 9)(bytes, {}).at({0, 0, 0, 0}) == 9);
}

TEST_CASE("compose: in order, each with a key of its own") {
  const auto twice = data::compose({data::normalize(0, 0.5), data::normalize(1, 1)});
  CHECK(twice(Tensor::from({3}, {1}), {}).item() == 5);
  std::vector<RandomKey> keys;
  const data::Transform note = [&](const Tensor& x, RandomKey key) {
    keys.push_back(key);
    return x;
  };
  data::compose({note, note})(zeros({1}), {5, 6});
  CHECK(keys[0].seed != keys[1].seed);
  CHECK(keys[0].stream == 6);
  check_identical(data::compose({})(ones({2}), {}), ones({2}));
  REQUIRE_THROWS_WITH(data::compose({nullptr}), "compose: a transform is empty");
}
