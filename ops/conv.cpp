// conv2d and its two gradients: three functions, each linear in two tensors, of which the derivatives are the other
// two.
#include "tutti/ops/conv.h"

#include <algorithm>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/copy.h"
#include "tutti/backends/contract/create.h"
#include "tutti/backends/contract/gemm.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/detail/windows.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

struct Conv {
  detail::Window window;
  int64_t groups;
};

/// The sizes of one convolution.
struct Sizes {
  Size2d count;                                   // of windows
  int64_t images, channels, groups, rows, inner;  // rows, inner: of a group's weight as a matrix
  int64_t places;                                 // windows of an image
  int64_t at_once;                                // images whose windows are laid out together

  Sizes(const Dims& x, const Dims& weight, const Dims& y, const Conv& c, Device device)
      : count(y[2], y[3]),
        images(x[0]),
        channels(x[1]),
        groups(c.groups),
        rows(weight[0] / c.groups),
        inner(weight[1] * weight[2] * weight[3]),
        places(y[2] * y[3]) {
    const int64_t room = device.type == DeviceType::cpu ? int64_t{1} << 19 : int64_t{1} << 26;  // elements
    at_once = std::max<int64_t>(1, room / std::max<int64_t>(1, groups * inner * places));
  }
  /// f(first image, how many) for some images at a time.
  template <class F>
  void each(const F& f) const {
    for (int64_t i = 0; i < images; i += at_once) f(i, std::min(at_once, images - i));
  }
  Dims batch(int64_t n) const { return {n, groups}; }
};

/// The windows of images first ... as matrices [n, groups, inner, places]; a view, where they lie like that in x.
Tensor columns(const Tensor& x, const Conv& c, const Sizes& s, int64_t first, int64_t n) {
  const Tensor some = detail::padded(x[Slice{first, first + n}], c.window.padding);
  return reshape(detail::windows(some, c.window, s.count), {n, s.groups, s.inner, s.places});
}
/// weight as matrices [groups, rows, inner].
Tensor matrices(const Tensor& weight, const Sizes& s) { return reshape(weight, {s.groups, s.rows, s.inner}); }
/// Images first ... of y or its gradient as matrices [n, groups, rows, places].
Tensor planes(const Tensor& dy, const Sizes& s, int64_t first, int64_t n) {
  return reshape(dy[Slice{first, first + n}], {n, s.groups, s.rows, s.places});
}
/// Contiguous memory from image number `first` on, as `shape`.
Output part(const Output& y, int64_t first, const Dims& shape) {
  return y.view(shape, contiguous_strides(shape), first * y.strides()[0]);
}
void multiply(const Tensor& a, const Tensor& b, const Output& c, const Dims& batch, bool add_up = false,
              bool accumulate = false) {
  kernel::Product p{matrix(a, batch), matrix(b, batch), matrix(c), batch, nullptr, {}, accumulate};
  if (add_up) p.c.batch_strides = {0, p.c.batch_strides[0]};
  kernel::gemm::on(a.device())(p);
}
void fill_zeros(const Output& y) { kernel::fill::on(y.device())(row_of(y), 0); }

Tensor convolve(const Tensor& x, const Tensor& weight, const Conv& c, const Dims& y);
Tensor gradient_of_x(const Tensor& dy, const Tensor& weight, const Conv& c, const Dims& x);
Tensor gradient_of_weight(const Tensor& x, const Tensor& dy, const Conv& c, const Dims& weight);

/// y, of this shape.
Tensor convolve(const Tensor& x, const Tensor& weight, const Conv& c, const Dims& shape) {
  const Output y = output(shape, x.dtype(), x.device());
  const Sizes s(x.shape(), weight.shape(), shape, c, x.device());
  {
    const no_grad off;
    s.each([&](int64_t first, int64_t n) {
      multiply(matrices(weight, s), columns(x, c, s, first, n), part(y, first, {n, s.groups, s.rows, s.places}),
               s.batch(n));
    });
  }
  return with_grad("conv2d", y, {x, weight}, {Keep(x, weight.requires_grad()), Keep(weight, x.requires_grad())},
                   [c](Saved& v, const Tensor& dy) {
                     return Grads{v.wants(0) ? gradient_of_x(dy, v[1], c, v.input_shape(0)) : Tensor(),
                                  v.wants(1) ? gradient_of_weight(v[0], dy, c, v.input_shape(1)) : Tensor()};
                   });
}

Tensor gradient_of_x(const Tensor& dy, const Tensor& weight, const Conv& c, const Dims& shape) {
  const Output dx = output(shape, dy.dtype(), dy.device());
  const Sizes s(shape, weight.shape(), dy.shape(), c, dy.device());
  const Size2d p = c.window.padding, k = c.window.size;
  {
    const no_grad off;
    const Tensor turned = transpose(matrices(weight, s), -1, -2);
    s.each([&](int64_t first, int64_t n) {
      const Output columns = output({n, s.groups, s.inner, s.places}, dy.dtype(), dy.device());
      multiply(turned, planes(dy, s, first, n), columns, s.batch(n));
      const Tensor laid_out = reshape(no_gradient(columns), {n, s.channels, k.h, k.w, s.count.h, s.count.w});
      const Tensor whole = detail::unite(laid_out, c.window, {n, shape[1], shape[2] + 2 * p.h, shape[3] + 2 * p.w});
      const Tensor image = whole[{ellipsis, Slice{p.h, p.h + shape[2]}, Slice{p.w, p.w + shape[3]}}];
      kernel::copy::on(dx.device())(elements(part(dx, first, image.shape()), image));
    });
  }
  return with_grad("conv2d_backward", dx, {dy, weight},
                   {Keep(dy, weight.requires_grad()), Keep(weight, dy.requires_grad())},
                   [c](Saved& v, const Tensor& d) {
                     return Grads{v.wants(0) ? convolve(d, v[1], c, v.input_shape(0)) : Tensor(),
                                  v.wants(1) ? gradient_of_weight(d, v[0], c, v.input_shape(1)) : Tensor()};
                   });
}

Tensor gradient_of_weight(const Tensor& x, const Tensor& dy, const Conv& c, const Dims& shape) {
  const Output dw = output(shape, dy.dtype(), dy.device());
  const Sizes s(x.shape(), shape, dy.shape(), c, dy.device());
  const Output sum = dw.view({s.groups, s.rows, s.inner}, contiguous_strides({s.groups, s.rows, s.inner}), 0);
  if (s.images == 0) fill_zeros(dw);
  {
    const no_grad off;
    s.each([&](int64_t first, int64_t n) {
      multiply(planes(dy, s, first, n), transpose(columns(x, c, s, first, n), -1, -2), sum, s.batch(n),
               /*add_up=*/true, /*accumulate=*/first > 0);
    });
  }
  return with_grad("conv2d_backward", dw, {x, dy}, {Keep(x, dy.requires_grad()), Keep(dy, x.requires_grad())},
                   [c](Saved& v, const Tensor& d) {
                     return Grads{v.wants(0) ? gradient_of_x(v[1], d, c, v.input_shape(0)) : Tensor(),
                                  v.wants(1) ? convolve(v[0], d, c, v.input_shape(1)) : Tensor()};
                   });
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  check_same("conv2d", x, weight, "x", "weight");
  check_floating("conv2d", x);
  if (weight.rank() != 4)
    throw ShapeError(message("conv2d: weight of shape ", weight.shape(), " is not [O, C / groups, KH, KW]"));
  const Conv c{{{weight.size(2), weight.size(3)}, options.stride, options.padding, options.dilation}, options.groups};
  c.window.check("conv2d");
  const Size2d count = c.window.count("conv2d", x);
  if (c.groups < 1 || x.size(1) % c.groups || weight.size(0) % c.groups || weight.size(1) * c.groups != x.size(1))
    throw ShapeError(message("conv2d: x ", x.shape(), " and weight ", weight.shape(),
                             " do not fit with groups = ", c.groups, " (weight is [O, C / groups, KH, KW])"));
  if (bias.defined()) {
    check_same("conv2d", x, bias, "x", "bias");
    if (!(bias.shape() == Dims{weight.size(0)}))
      throw ShapeError(message("conv2d: bias of shape ", bias.shape(), " is not [", weight.size(0), "]"));
  }
  if (size_of(x.dtype()) == 2) {
    const auto wide = [](const Tensor& t) { return t.defined() ? to(t, DType::float32) : t; };
    const Tensor y = conv2d(wide(x), wide(weight), wide(bias), options);
    return to(y, x.dtype());
  }
  const Tensor y = convolve(x, weight, c, {x.size(0), weight.size(0), count.h, count.w});
  return bias.defined() ? add(y, reshape(bias, {bias.size(0), 1, 1})) : y;
}

}  // namespace tutti
