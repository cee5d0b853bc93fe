#include "tutti/core/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tutti/core/check.h"
#include "tutti/core/detail/host_copy.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

template <class T>
constexpr bool is_half = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

/// Truncates to integers, to the nearest one that exists (NaN to 0), for an ordinary cast would be undefined.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (is_half<From>)
    return convert<To>(static_cast<float>(x));
  else if constexpr (is_half<To> && std::is_integral_v<From>)
    return To::from(static_cast<int64_t>(x));
  else if constexpr (is_half<To>)
    return To::from(x);
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>)
    return x != x                                                   ? To{0}
           : x <= static_cast<From>(std::numeric_limits<To>::min()) ? std::numeric_limits<To>::min()
           : x >= static_cast<From>(std::numeric_limits<To>::max()) ? std::numeric_limits<To>::max()
                                                                    : static_cast<To>(x);
  else
    return static_cast<To>(x);
}

/// ShapeError unless such a tensor can exist; its bytes.
size_t bytes_of(const Dims& shape, DType dtype) {
  for (int64_t n : shape)
    if (n < 0) throw ShapeError(message("a tensor's size cannot be negative: ", shape));
  if (!fits_memory(shape, size_of(dtype))) throw ShapeError(message("a tensor of shape ", shape, " is too large"));
  return static_cast<size_t>(shape.product()) * size_of(dtype);
}

Output output_for(size_t values, const Dims& shape, DType dtype) {
  if (bytes_of(shape, dtype) != values * size_of(dtype))
    throw ShapeError(
        message("Tensor::from: ", values, " values for shape ", shape, " (", shape.product(), " elements)"));
  return output(shape, dtype, cpu);
}

}  // namespace

Output output(const Dims& shape, DType dtype, Device device) {
  const size_t bytes = bytes_of(shape, dtype);
  auto impl = std::make_shared<TensorImpl>();
  impl->shape = shape;
  impl->strides = contiguous_strides(shape);
  impl->dtype = dtype;
  impl->storage = std::make_shared<Storage>(device, bytes);
  return Access::output(std::move(impl));
}

Output Output::view(const Dims& shape, const Dims& strides, int64_t offset) const {
  auto impl = std::make_shared<TensorImpl>(*impl_);
  impl->shape = shape;
  impl->strides = strides;
  impl->offset = offset;
  return Output(std::move(impl));
}

View view(const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset) {
  if (!fits_memory(shape, 1)) throw ShapeError(message("a view of shape ", shape, " is too large"));
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = x.impl()->storage;
  impl->shape = shape;
  impl->strides = strides;
  impl->offset = offset;
  impl->dtype = x.dtype();
  return Access::view(std::move(impl));
}

int normalize_dim(const char* op, int64_t axis, const Tensor& x) {
  const int64_t rank = x.rank() ? x.rank() : 1;
  if (axis < -rank || axis >= rank)
    throw IndexError(message(op, ": axis ", axis, " is out of range for shape ", x.shape(), " (", x.rank(), " axes)"));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Tensor Tensor::from(std::initializer_list<double> values, const Dims& shape, DType dtype, Device device) {
  const Output out = output_for(values.size(), shape, dtype);
  tutti::visit(dtype, [&]<class T>(T) {
    T* p = out.data<T>();
    for (const Number v : values) {
      if (dtype != DType::boolean) check_number("Tensor::from", v, dtype);
      *p++ = v.element<T>(dtype);
    }
  });
  return placed(out, device);
}

template <class T>
Tensor Tensor::from(const T* values, size_t count, const Dims& shape, Device device) {
  const Output out = output_for(count, shape, dtype_of<T>());
  if (count) std::memcpy(out.data(), values, count * sizeof(T));
  return placed(out, device);
}

Tensor Tensor::from(const std::vector<bool>& values, const Dims& shape, Device device) {
  const Output out = output_for(values.size(), shape, DType::boolean);
  std::copy(values.begin(), values.end(), out.data<bool>());
  return placed(out, device);
}

int64_t Tensor::size(int64_t axis) const {
  if (axis < -rank() || axis >= rank())
    throw IndexError(message("size: axis ", axis, " is out of range for shape ", shape(), " (", rank(), " axes)"));
  return impl_->shape[static_cast<int>(axis < 0 ? axis + rank() : axis)];
}

bool Tensor::is_contiguous() const {
  if (numel() == 0) return true;
  int64_t step = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape()[i] != 1 && strides()[i] != step) return false;
    step *= shape()[i];
  }
  return true;
}

void Tensor::check_dtype(DType wanted) const {
  if (dtype() != wanted) throw DTypeError(message("data<", wanted, ">: the tensor is ", dtype()));
}

double Tensor::at(const Dims& index) const {
  if (index.n != rank()) throw IndexError(message("at: ", index.n, " indices ", index, " for shape ", shape()));
  int64_t offset = impl_->offset;
  for (int i = 0; i < index.n; ++i) {
    if (index[i] < 0 || index[i] >= shape()[i])
      throw IndexError(message("at: index ", index[i], " is out of range for axis ", i, " of shape ", shape()));
    offset += index[i] * impl_->strides[i];
  }
  return tutti::visit(dtype(), [&]<class T>(T value) {
    backend(device()).copy(&value, cpu, static_cast<const T*>(impl_->storage->data) + offset, device(), sizeof(T));
    return convert<double>(value);
  });
}

double Tensor::item() const {
  if (numel() != 1) throw ShapeError(message("item: shape ", shape(), " has ", numel(), " elements, not 1"));
  Dims zero = shape();
  for (int i = 0; i < zero.n; ++i) zero[i] = 0;
  return at(zero);
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const HostCopy host(*this);
  std::vector<T> out;
  out.reserve(static_cast<size_t>(numel()));
  tutti::visit(dtype(), [&]<class S>(S) {
    const S* p = reinterpret_cast<const S*>(host.data());
    for (int64_t i = 0; i < numel(); ++i) out.push_back(convert<T>(p[i]));
  });
  return out;
}

void Tensor::undefined() { throw ValueError("the tensor is undefined: it has no value, shape or dtype"); }

template Tensor Tensor::from(const float*, size_t, const Dims&, Device);
template Tensor Tensor::from(const double*, size_t, const Dims&, Device);
template Tensor Tensor::from(const bfloat16*, size_t, const Dims&, Device);
template Tensor Tensor::from(const float16*, size_t, const Dims&, Device);
template Tensor Tensor::from(const int64_t*, size_t, const Dims&, Device);
template Tensor Tensor::from(const int32_t*, size_t, const Dims&, Device);
template Tensor Tensor::from(const uint8_t*, size_t, const Dims&, Device);
template Tensor Tensor::from(const bool*, size_t, const Dims&, Device);
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<bfloat16> Tensor::to_vector() const;
template std::vector<float16> Tensor::to_vector() const;
template std::vector<int64_t> Tensor::to_vector() const;
template std::vector<int32_t> Tensor::to_vector() const;
template std::vector<uint8_t> Tensor::to_vector() const;
template std::vector<bool> Tensor::to_vector() const;

}  // namespace tutti
