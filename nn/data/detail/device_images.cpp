#include "tutti/nn/data/detail/device_images.h"

#include "tutti/autograd/node.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/index.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

namespace tutti::data {
namespace {

Dims per_image(const Images& n) { return {n.batch, 1, 1}; }

/// 0 .. size-1 along `axis` of [1, H, W].
Tensor positions(int64_t size, int axis, DType dtype, Device device) {
  Dims shape{1, 1, 1};
  shape[axis] = size;
  return reshape(arange(0, size, 1, {dtype, device}), shape);
}

Tensor within(const Tensor& at, int64_t size) { return logical_and(ge(at, 0), lt(at, size)); }

/// x [B, C, H, W] at row and column (int64, both broadcast to [B, H, W]) of each image; `fill` outside it.
Tensor read_at(const Tensor& x, const Images& n, const Tensor& row, const Tensor& column, Number fill) {
  const Tensor inside = logical_and(within(row, n.height), within(column, n.width));
  const Tensor place = add(mul(clamp(row, 0, n.height - 1), n.width), clamp(column, 0, n.width - 1));
  const int64_t pixels = n.height * n.width;
  const Tensor index = expand(reshape(place, {n.batch, 1, pixels}), {n.batch, n.channels, pixels});
  const Tensor y = gather(reshape(x, {n.batch, n.channels, pixels}), 2, index);
  return reshape(masked_fill(y, reshape(logical_not(inside), {n.batch, 1, pixels}), fill), x.shape());
}

/// Rounded down; `at` is at least -2.
Tensor floor_of(const Tensor& at) {
  const Tensor whole = to(at, DType::int64);  // towards 0
  return where(gt(to(whole, DType::float64), at), sub(whole, 1), whole);
}

/// Between a and b; a neighbour that weighs nothing is not looked at, whatever it is (an infinity times 0 is NaN).
Tensor mix(const Tensor& a, const Tensor& b, const Tensor& weight) {
  return where(eq(weight, 0), a, where(eq(weight, 1), b, add(mul(sub(1, weight), a), mul(weight, b))));
}

}  // namespace

Tensor shifted(const Tensor& x, const Images& n, const std::vector<int64_t>& across, const std::vector<int64_t>& down,
               Number fill) {
  const no_grad off;
  if (x.numel() == 0) return clone(x);
  const Device device = x.device();
  const Tensor row = sub(positions(n.height, 1, DType::int64, device), Tensor::from(down, per_image(n), device));
  const Tensor column = sub(positions(n.width, 2, DType::int64, device), Tensor::from(across, per_image(n), device));
  return read_at(x, n, row, column, fill);
}

Tensor flipped(const Tensor& x, const Images& n, const std::vector<bool>& mirrored) {
  const no_grad off;
  if (x.numel() == 0) return clone(x);
  const Device device = x.device();
  const Tensor backwards = arange(n.width - 1, -1, -1, {DType::int64, device});
  Dims each = x.shape();
  for (int i = 1; i < each.n; ++i) each[i] = 1;
  return where(Tensor::from(mirrored, each, device), index_select(x, -1, backwards), x);
}

Tensor read_along(const Tensor& x, const Images& n, const std::vector<AffineMap>& maps, double fill) {
  const no_grad off;
  if (x.numel() == 0) return clone(x);
  const Device device = x.device();
  const double middle[2] = {static_cast<double>(n.height - 1) / 2, static_cast<double>(n.width - 1) / 2};
  const Tensor down = sub(positions(n.height, 1, DType::float64, device), middle[0]),
               across = sub(positions(n.width, 2, DType::float64, device), middle[1]);
  const auto of_map = [&](auto&& number) {
    std::vector<double> list;
    for (const AffineMap& map : maps) list.push_back(number(map));
    return Tensor::from(list, per_image(n), device);
  };
  const auto source = [&](int i) {  // in the order of read_plane's sum
    const Tensor turned = add(mul(of_map([i](const AffineMap& map) { return map.m[i][0]; }), down),
                              mul(of_map([i](const AffineMap& map) { return map.m[i][1]; }), across));
    return add(add(turned, of_map([i](const AffineMap& map) { return map.t[i]; })), middle[i]);
  };
  const auto near = [](const Tensor& at, int64_t size) {
    return logical_and(gt(at, -1), lt(at, static_cast<double>(size)));
  };
  const Tensor row = source(0), column = source(1);
  const Tensor far = logical_not(logical_and(near(row, n.height), near(column, n.width)));
  const Tensor r = clamp(row, -2, static_cast<double>(n.height + 1)),
               c = clamp(column, -2, static_cast<double>(n.width + 1));
  const Tensor r0 = floor_of(r), c0 = floor_of(c);
  Dims plane = x.shape();  // [B, 1, H, W] or [B, H, W]
  if (plane.n == 4) plane[1] = 1;
  const Tensor below = reshape(to(sub(r, to(r0, DType::float64)), x.dtype()), plane),
               right = reshape(to(sub(c, to(c0, DType::float64)), x.dtype()), plane);
  const Tensor r1 = add(r0, 1), c1 = add(c0, 1);
  const Tensor upper = mix(read_at(x, n, r0, c0, fill), read_at(x, n, r0, c1, fill), right);
  const Tensor lower = mix(read_at(x, n, r1, c0, fill), read_at(x, n, r1, c1, fill), right);
  return masked_fill(mix(upper, lower, below), reshape(far, plane), fill);
}

}  // namespace tutti::data
