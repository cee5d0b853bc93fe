#include "tutti/ops/pool.h"

#include <cmath>

#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/ops/detail/windows.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

/// [N, C, kernel.h, kernel.w, H', W'], padded with `value`.
Tensor pools(const char* op, const Tensor& x, Size2d kernel, const PoolOptions& options, double value) {
  check_floating(op, x);
  const Size2d s = options.stride, p = options.padding;
  const detail::Window w{kernel, {s.h ? s.h : kernel.h, s.w ? s.w : kernel.w}, p, options.dilation};
  w.check(op);
  if (2 * p.h > kernel.h || 2 * p.w > kernel.w)
    throw ValueError(
        message(op, ": padding ", p.h, " x ", p.w, " is more than half of the kernel, ", kernel.h, " x ", kernel.w));
  const Size2d count = w.count(op, x);
  return detail::windows(detail::padded(x, p, value), w, count);
}

}  // namespace

Tensor max_pool2d(const Tensor& x, Size2d kernel, const PoolOptions& options) {
  // A window's elements as the first axis: lines across memory, whose neighbours are compared side by side.
  const Tensor y = permute(pools("max_pool2d", x, kernel, options, -INFINITY), {2, 3, 0, 1, 4, 5});
  return max(reshape(y, {kernel.h * kernel.w, y.size(2), y.size(3), y.size(4), y.size(5)}), 0).values;
}

Tensor avg_pool2d(const Tensor& x, Size2d kernel, const PoolOptions& options) {
  return mean(pools("avg_pool2d", x, kernel, options, 0), {2, 3});
}

}  // namespace tutti
