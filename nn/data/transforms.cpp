#include "tutti/nn/data/transforms.h"

#include <algorithm>
#include <cstring>

#include "tutti/autograd/with_grad.h"
#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/core/philox.h"
#include "tutti/nn/data/detail/device_images.h"
#include "tutti/nn/option.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/shape.h"

namespace tutti::data {
namespace {

/// Uniform in [-most, most]; `word` is 32 random bits.
int64_t offset_of(uint32_t word, int64_t most) {
  return static_cast<int64_t>((uint64_t{word} * static_cast<uint64_t>(2 * most + 1)) >> 32) - most;
}

/// One image's plane moved by (dx, dy): y[r][c] = x[r - dy][c - dx].
template <class T>
void shift_plane(const T* x, T* y, int64_t height, int64_t width, int64_t dx, int64_t dy, T fill) {
  const int64_t kept = std::max<int64_t>(0, width - std::abs(dx));
  const int64_t from = std::max<int64_t>(0, -dx), to = std::max<int64_t>(0, dx);
  for (int64_t r = 0; r < height; ++r, y += width) {
    const int64_t source = r - dy;
    if (kept == 0 || source < 0 || source >= height) {
      std::fill_n(y, width, fill);
      continue;
    }
    std::fill_n(y, std::min(to, width), fill);
    std::memcpy(y + to, x + source * width + from, static_cast<size_t>(kept) * sizeof(T));
    std::fill(y + to + kept, y + width, fill);
  }
}

}  // namespace

Transform normalize(double mean, double stddev) {
  if (!(stddev > 0)) throw ValueError(message("normalize: stddev is ", stddev, "; it must be positive"));
  return [mean, stddev](const Tensor& x, RandomKey) {
    return mul(sub(is_floating(x.dtype()) ? x : to(x, DType::float32), mean), 1 / stddev);
  };
}

Transform random_shift(int64_t pixels, double fill) {
  constexpr int64_t most = (int64_t{1} << 31) - 1;  // what 32 random bits can choose from
  if (pixels > most) throw ValueError(message("random_shift: pixels is ", pixels, "; it must be at most ", most));
  if (pixels < 0) throw ValueError(message("random_shift: pixels is ", pixels, "; it must not be negative"));
  return [pixels, fill](const Tensor& batch, RandomKey key) {
    const Images n = images_of("random_shift", batch);
    check_number("random_shift", fill, batch.dtype());
    std::vector<int64_t> across, down;
    for (int64_t i = 0; i < n.batch; ++i) {
      const Philox4 r = philox(key, static_cast<uint64_t>(i));
      across.push_back(offset_of(r.v[0], pixels));
      down.push_back(offset_of(r.v[1], pixels));
    }
    if (batch.device() != cpu) return shifted(batch, n, across, down, fill);
    const Tensor x = contiguous(batch);
    Output y = output_like(x);
    tutti::visit(x.dtype(), [&]<class T>(T) {
      const T blank = Number(fill).element<T>(x.dtype());
      const int64_t plane = n.height * n.width;
      const T* from = x.data<T>();
      T* to = y.data<T>();
      for (size_t i = 0; i < across.size(); ++i)
        for (int64_t c = 0; c < n.channels; ++c, from += plane, to += plane)
          shift_plane(from, to, n.height, n.width, across[i], down[i], blank);
    });
    return no_gradient(y);
  };
}

Transform random_flip(double p) {
  nn::check_probability("random_flip", "p", p);
  return [p](const Tensor& batch, RandomKey key) {
    const Images n = images_of("random_flip", batch);
    std::vector<bool> mirrored;
    for (int64_t i = 0; i < n.batch; ++i) mirrored.push_back(uniform01(philox(key, static_cast<uint64_t>(i)).v[0]) < p);
    if (batch.device() != cpu) return flipped(batch, n, mirrored);
    const Tensor x = contiguous(batch);
    Output y = output_like(x);
    tutti::visit(x.dtype(), [&]<class T>(T) {
      const int64_t rows = n.channels * n.height;
      const T* from = x.data<T>();
      T* to = y.data<T>();
      for (const bool mirror : mirrored) {
        for (int64_t r = 0; r < rows; ++r, from += n.width, to += n.width) {
          if (mirror)
            std::reverse_copy(from, from + n.width, to);
          else
            std::copy_n(from, n.width, to);
        }
      }
    });
    return no_gradient(y);
  };
}

Transform compose(std::vector<Transform> transforms) {
  for (const Transform& t : transforms)
    if (!t) throw ValueError("compose: a transform is empty");
  return [list = std::move(transforms)](const Tensor& batch, RandomKey key) {
    Tensor x = batch;
    for (size_t i = 0; i < list.size(); ++i)  // seeds far apart: the generator mixes them
      x = list[i](x, {key.seed + (i + 1) * uint64_t{0x9E3779B97F4A7C15}, key.stream});
    return x;
  };
}

}  // namespace tutti::data
