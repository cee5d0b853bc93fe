#include "tutti/core/tensor.h"

#include <cstring>

#include "tutti/core/error.h"

namespace tutti {
namespace {

/// f(element offset) for every element in row-major order.
template <class F>
void for_each_offset(const TensorImpl& t, F&& f) {
  const int64_t count = t.shape.product();
  Dims index = t.shape;
  for (int i = 0; i < index.n; ++i) index[i] = 0;
  int64_t at = t.offset;
  for (int64_t k = 0; k < count; ++k) {
    f(at);
    for (int i = t.shape.n - 1; i >= 0; --i) {
      at += t.strides[i];
      if (++index[i] < t.shape[i]) break;
      at -= index[i] * t.strides[i];
      index[i] = 0;
    }
  }
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<From, bfloat16> || std::is_same_v<From, float16>)
    return static_cast<To>(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

/// A copy of the bytes of the whole storage in host memory, or the storage's own where it is the CPU's.
const char* host_bytes(const Storage& s, std::vector<char>& copy) {
  if (s.device == cpu) return static_cast<const char*>(s.data);
  copy.resize(s.bytes);
  backend(s.device).copy(copy.data(), cpu, s.data, s.device, s.bytes);
  return copy.data();
}

void check_count(size_t values, const Dims& shape) {
  if (static_cast<int64_t>(values) != shape.product())
    throw ShapeError(
        message("Tensor::from: ", values, " values for shape ", shape, " (", shape.product(), " elements)"));
}

}  // namespace

Output output(const Dims& shape, DType dtype, Device device) {
  size_t bytes = size_of(dtype);
  for (int64_t n : shape) {
    if (n < 0) throw ShapeError(message("a tensor's size cannot be negative: ", shape));
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(n), &bytes) || bytes > size_t{1} << 62)
      throw ShapeError(message("a tensor of shape ", shape, " is too large"));
  }
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

Tensor Tensor::from(std::initializer_list<double> values, const Dims& shape, DType dtype) {
  check_count(values.size(), shape);
  Output out = output(shape, dtype, cpu);
  tutti::visit(dtype, [&]<class T>(T) {
    T* p = out.data<T>();
    for (double v : values) {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        *p++ = T::from(static_cast<float>(v));
      else
        *p++ = static_cast<T>(v);
    }
  });
  return Tensor(Access::handle(out));
}

template <class T>
Tensor Tensor::from(const std::vector<T>& values, const Dims& shape) {
  check_count(values.size(), shape);
  Output out = output(shape, dtype_of<T>(), cpu);
  if constexpr (std::is_same_v<T, bool>)
    std::copy(values.begin(), values.end(), out.data<bool>());
  else if (!values.empty())
    std::memcpy(out.data(), values.data(), values.size() * sizeof(T));
  return Tensor(Access::handle(out));
}
template Tensor Tensor::from(const std::vector<float>&, const Dims&);
template Tensor Tensor::from(const std::vector<double>&, const Dims&);
template Tensor Tensor::from(const std::vector<int64_t>&, const Dims&);
template Tensor Tensor::from(const std::vector<int32_t>&, const Dims&);
template Tensor Tensor::from(const std::vector<uint8_t>&, const Dims&);
template Tensor Tensor::from(const std::vector<bool>&, const Dims&);

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
  std::vector<T> out;
  if (numel() == 0) return out;
  out.reserve(static_cast<size_t>(numel()));
  std::vector<char> copy;
  const char* bytes = host_bytes(*impl_->storage, copy);
  tutti::visit(dtype(), [&]<class S>(S) {
    for_each_offset(*impl_, [&](int64_t at) { out.push_back(convert<T>(reinterpret_cast<const S*>(bytes)[at])); });
  });
  return out;
}
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<int64_t> Tensor::to_vector() const;
template std::vector<int32_t> Tensor::to_vector() const;
template std::vector<uint8_t> Tensor::to_vector() const;

}  // namespace tutti
