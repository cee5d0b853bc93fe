// Tensor: a shared handle to a strided view of a storage, and its place in the gradient graph. What reads and makes
// tensors without gradients is here; the differentiable functions are in ops/, the graph is in autograd/.
#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "tutti/core/dims.h"
#include "tutti/core/dtype.h"
#include "tutti/core/storage.h"
#include "tutti/core/tensor_index.h"

#pragma GCC visibility push(default)
namespace tutti {

struct Node;  // autograd/node.h

/// What a backward pass leaves behind.
struct BackwardOptions {
  bool retain_graph = false;  ///< keep saved tensors, so that backward can run again
  bool create_graph = false;  ///< record the gradient's own graph (for second derivatives); implies retain_graph
};

/// What a Tensor is a handle to.
struct TensorImpl {
  std::shared_ptr<Storage> storage;
  Dims shape, strides;  // strides and offset in elements
  int64_t offset = 0;
  DType dtype = DType::float32;
  uint32_t output_index = 0;   // which output of `node` this is
  std::shared_ptr<Node> node;  // null: no gradient wanted
};

/// A handle to a strided view of a storage, cheap to copy; copies are the same tensor.
class Tensor {
 public:
  Tensor() = default;  ///< undefined: no value at all
  // A result is no place to assign to: `x[0] = y` would only change a handle (copy_(x[0], y) writes x).
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  ~Tensor() = default;

  /// A contiguous tensor with these values in row-major order, on the default device unless said otherwise. ShapeError
  /// if the counts differ. `Tensor::from({1, 2, 3, 4}, {2, 2})` is float32. ValueError on a number that is not a value
  /// of an integer dtype (1.5 or 300 of uint8); bool: whether it is not 0.
  static Tensor from(std::initializer_list<double> values, const Dims& shape, DType dtype = DType::float32,
                     Device device = default_device());
  /// The same from a vector, a span or an array; the dtype is the element type: float, double, bfloat16, float16,
  /// int64_t, int32_t, uint8_t or bool.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Dims& shape, Device device = default_device()) {
    return from(values.data(), values.size(), shape, device);
  }
  static Tensor from(const std::vector<bool>& values, const Dims& shape, Device device = default_device());
  template <class T>
  static Tensor from(std::span<T> values, const Dims& shape, Device device = default_device()) {
    return from<std::remove_const_t<T>>(values.data(), values.size(), shape, device);
  }
  template <class T>
  static Tensor from(const T* values, size_t count, const Dims& shape, Device device = default_device());

  bool defined() const { return impl_ != nullptr; }
  // From here on everything is a ValueError on an undefined tensor.
  const Dims& shape() const { return get().shape; }
  const Dims& strides() const { return get().strides; }
  int64_t size(int64_t axis) const;  ///< negative counts from the end; IndexError out of range
  int rank() const { return get().shape.n; }
  int64_t numel() const { return get().shape.product(); }
  DType dtype() const { return get().dtype; }
  Device device() const { return get().storage->device; }
  bool is_contiguous() const;  ///< row-major without gaps

  /// The first element's address on the tensor's device.
  const void* data() const {
    const TensorImpl& t = get();
    return static_cast<const char*>(t.storage->data) + static_cast<size_t>(t.offset) * size_of(t.dtype);
  }
  /// The same, typed; DTypeError if T is not the tensor's element type.
  template <class T>
  const T* data() const {
    check_dtype(dtype_of<T>());
    return static_cast<const T*>(data());
  }
  /// One element, as a double. IndexError names a bad index. Copies from the device: for tests and printing.
  double at(const Dims& index) const;
  /// The only element; ShapeError if there are more.
  double item() const;
  /// All elements in row-major order, converted to T (any element type; integers truncate and saturate, NaN gives 0).
  template <class T>
  std::vector<T> to_vector() const;

  /// A part as a view that carries gradients, by position, Slice or ellipsis for each axis from the first on; axes that
  /// are not named are kept: x[{0, Slice{1, 3}}] and x[0], as NumPy's x[0, 1:3] and x[0]. Defined in ops/. IndexError
  /// for a position out of range, too many indices or two ellipses, ValueError unless steps are positive.
  Tensor operator[](std::initializer_list<TensorIndex> index) const;
  Tensor operator[](const TensorIndex& index) const { return (*this)[std::initializer_list<TensorIndex>{index}]; }

  // The gradient graph: defined in autograd/.
  bool requires_grad() const { return get().node != nullptr; }
  /// Makes this a leaf whose grad() backward fills. AutogradError on integers and on results of operations.
  Tensor& requires_grad_(bool on = true);
  /// The accumulated gradient of a leaf; undefined if there is none yet.
  Tensor grad() const;
  /// Replaces it (undefined: drops it). AutogradError unless this is a leaf; ShapeError, DTypeError or DeviceError if
  /// the gradient does not fit.
  void set_grad(const Tensor& gradient) const;
  void zero_grad() const;  ///< drops the gradient
  /// The same storage outside the graph.
  Tensor detach() const;
  /// Adds d(this)/d(leaf) to every leaf's grad(). This must be a scalar.
  void backward(BackwardOptions options = {}) const;
  /// The same for any shape, from the gradient with respect to this tensor.
  void backward(const Tensor& gradient, BackwardOptions options = {}) const;
  /// hook(gradient) runs when the gradient of this tensor is complete; a defined result replaces it.
  void register_hook(std::function<Tensor(const Tensor&)> hook) const;

  TensorImpl* impl() const { return impl_.get(); }

 private:
  friend class Output;
  friend class View;
  friend struct Access;
  explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  const TensorImpl& get() const {
    if (!impl_) undefined();
    return *impl_;
  }
  [[noreturn]] static void undefined();
  void check_dtype(DType wanted) const;
  std::shared_ptr<TensorImpl> impl_;
};

/// Memory that a kernel writes. Not a Tensor: with_grad, no_gradient or gradient_unavailable (autograd/with_grad.h)
/// turn it into one, so that a gradient cannot be forgotten; in_place makes one from an existing tensor.
class Output {
 public:
  const Dims& shape() const { return impl_->shape; }
  const Dims& strides() const { return impl_->strides; }
  int64_t numel() const { return impl_->shape.product(); }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->storage->device; }
  void* data() const {
    return static_cast<char*>(impl_->storage->data) + static_cast<size_t>(impl_->offset) * size_of(dtype());
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(data());
  }
  TensorImpl* impl() const { return impl_.get(); }
  /// The same memory under another shape, from `offset` elements after the storage's start: for writing a part.
  Output view(const Dims& shape, const Dims& strides, int64_t offset) const;

 private:
  friend struct Access;
  explicit Output(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<TensorImpl> impl_;
};

/// Another look at a tensor's storage. Not yet a Tensor: with_grad or no_gradient turn it into one.
class View {
 public:
  TensorImpl* impl() const { return impl_.get(); }

 private:
  friend struct Access;
  explicit View(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<TensorImpl> impl_;
};

/// New memory, contiguous, uninitialised. ShapeError on a negative size or one whose bytes overflow.
Output output(const Dims& shape, DType dtype, Device device);
inline Output output_like(const Tensor& x) { return output(x.shape(), x.dtype(), x.device()); }
/// The raw view (offset counted from the storage's start, in elements); ops/shape.h has the ones that users call.
View view(const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset);

/// One axis or count where a list would do too. A braced list is never one: `sum(x, {})` and `split(x, {3})` are lists.
template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// `axis` as 0 ≤ axis < rank (negative counts from the end); IndexError naming op, axis and shape. A 0-d tensor has
/// axis 0 and -1, as in PyTorch.
int normalize_dim(const char* op, int64_t axis, const Tensor& x);

/// For autograd/ and ops/: makes handles from their implementation.
struct Access {
  static Tensor tensor(std::shared_ptr<TensorImpl> impl) { return Tensor(std::move(impl)); }
  static Output output(std::shared_ptr<TensorImpl> impl) { return Output(std::move(impl)); }
  static View view(std::shared_ptr<TensorImpl> impl) { return View(std::move(impl)); }
  static const std::shared_ptr<TensorImpl>& handle(const Tensor& x) { return x.impl_; }
  static const std::shared_ptr<TensorImpl>& handle(const Output& x) { return x.impl_; }
  static const std::shared_ptr<TensorImpl>& handle(const View& x) { return x.impl_; }
};

}  // namespace tutti
#pragma GCC visibility pop
