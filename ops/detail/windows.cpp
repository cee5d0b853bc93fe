#include "tutti/ops/detail/windows.h"

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/arithmetic.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/join.h"
#include "tutti/ops/shape.h"

namespace tutti::detail {
namespace {

std::string text(Size2d s) { return message(s.h, " x ", s.w); }

/// How many windows fit a line of n.
int64_t fitting(int64_t n, int64_t size, int64_t stride, int64_t padding, int64_t dilation) {
  const int64_t reach = (size - 1) * dilation + 1, room = n + 2 * padding - reach;
  return room < 0 ? 0 : room / stride + 1;
}

/// Where element (i, k) of every window lies in an image [N, C, H, W] of these strides: [N, C, count.h, count.w].
struct Places {
  Dims shape, strides;
  int64_t offset;
  Places(const Dims& image, const Dims& of, const Window& w, const Dims& count, int64_t i, int64_t k)
      : shape{image[0], image[1], count[0], count[1]},
        strides{of[0], of[1], of[2] * w.stride.h, of[3] * w.stride.w},
        offset(i * w.dilation.h * of[2] + k * w.dilation.w * of[3]) {}
};

}  // namespace

void Window::check(const char* op) const {
  const auto least = [op](const char* name, Size2d s, int64_t low) {
    constexpr int64_t most = int64_t{1} << 30;
    if (s.h < low || s.w < low || s.h > most || s.w > most)
      throw ValueError(message(op, ": ", name, " ", text(s), " is not in [", low, ", 2^30]"));
  };
  least("kernel size", size, 1);
  least("stride", stride, 1);
  least("padding", padding, 0);
  least("dilation", dilation, 1);
}

Size2d Window::count(const char* op, const Tensor& x) const {
  if (x.rank() != 4) throw ShapeError(message(op, ": x of shape ", x.shape(), " is not [N, C, H, W]"));
  const int64_t h = fitting(x.size(2), size.h, stride.h, padding.h, dilation.h);
  const int64_t w = fitting(x.size(3), size.w, stride.w, padding.w, dilation.w);
  if (h == 0 || w == 0)
    throw ShapeError(message(op, ": a kernel of ", text(size), " (dilation ", text(dilation),
                             ") does not fit an image of ", x.size(2), " x ", x.size(3), " with padding ",
                             text(padding)));
  return {h, w};
}

Tensor windows(const Tensor& x, const Window& w, Size2d count) {
  const Dims& s = x.strides();
  const Dims shape{x.size(0), x.size(1), w.size.h, w.size.w, count.h, count.w};
  const Dims strides{s[0], s[1], s[2] * w.dilation.h, s[3] * w.dilation.w, s[2] * w.stride.h, s[3] * w.stride.w};
  return with_grad("windows", view(x, shape, strides, x.impl()->offset), {x},
                   [w](Saved& saved, const Tensor& dy) { return Grads{unite(dy, w, saved.input_shape(0))}; });
}

Tensor unite(const Tensor& y, const Window& w, const Dims& image) {
  const Output x = output(image, y.dtype(), y.device());
  kernel::fill::on(x.device())(row_of(x), 0);
  const Size2d count{y.size(4), y.size(5)};
  {
    const no_grad off;
    const auto add = kernel::arithmetic::on(x.device());
    for (int64_t i = 0; i < w.size.h; ++i)
      for (int64_t k = 0; k < w.size.w; ++k) {
        const Places at(image, x.strides(), w, {count.h, count.w}, i, k);
        const Output part = x.view(at.shape, at.strides, at.offset);
        add(Arithmetic::add, elements(part, Access::tensor(Access::handle(part)), y[{Slice{}, Slice{}, i, k}]));
      }
  }
  return with_grad("unite", x, {y}, [w, count](Saved&, const Tensor& dx) { return Grads{windows(dx, w, count)}; });
}

Tensor padded(const Tensor& x, Size2d padding, double value) {
  if (padding.h == 0 && padding.w == 0) return x;
  const Dims amounts{0, 0, padding.h, padding.w};
  return pad(x, amounts, amounts, value);
}

}  // namespace tutti::detail
