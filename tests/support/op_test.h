// op_test: one description of an operation drives its comparison with a plain float64 reference, its gradient against
// central differences, over every instruction set of this CPU (or on the default device, if that is another) x layouts
// x dtypes.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tutti/core/tensor.h"

namespace tutti_test {

/// A plain float64 array, row-major: what references are written with.
struct Array {
  tutti::Dims shape;
  std::vector<double> v;
  Array() = default;
  explicit Array(const tutti::Dims& s, double fill = 0) : shape(s), v(static_cast<size_t>(s.product()), fill) {}
  explicit Array(const tutti::Tensor& t) : shape(t.shape()), v(t.to_vector<double>()) {}
  double& operator[](int64_t i) { return v[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return v[static_cast<size_t>(i)]; }
  int64_t numel() const { return shape.product(); }
};

using Tensors = std::vector<tutti::Tensor>;
using Arrays = std::vector<Array>;

struct OpTest {
  std::string
      kernels{};  ///< the contract's kernels that this covers, separated by spaces ("softmax_forward softmax_backward")
  std::vector<std::vector<tutti::Dims>>
      shapes;  ///< each entry: one shape per input; include odd widths and a zero-size one
  std::function<tutti::Tensor(const Tensors&)> op;
  std::function<Array(const Arrays&)> reference;
  double low = -2, high = 2;                       ///< inputs are uniform in between
  std::function<double(double)> adjust{};          ///< applied to every input value: keep away from kinks and poles
  double tolerance32 = 1e-5, tolerance64 = 1e-12;  ///< |got - want| <= tolerance * max(1, largest |want| of the result)
  bool half = true;  ///< also bfloat16 and float16, forward only (inputs rounded first; 1 % / 0.2 %)
  bool gradient = true;
  double step = 1e-5, gradient_tolerance = 1e-5;  ///< central differences, float64
  std::vector<int> constant{};                    ///< inputs without a gradient
};

/// Runs it; every failure names the case (ISA, layout, dtype, shapes).
void op_test(const std::string& name, const OpTest& test);

/// Deterministic values in [low, high).
tutti::Tensor random_tensor(const tutti::Dims& shape, tutti::DType dtype, uint64_t seed, double low = -1,
                            double high = 1);

enum class Layout { contiguous, transposed, sliced, broadcast };
/// The same values behind other strides (broadcast: the first axis larger than 1 repeats its first entry, with stride
/// 0).
tutti::Tensor with_layout(const tutti::Tensor& x, Layout layout);

/// CHECKs |got - want| <= tolerance * max(1, max |want|) everywhere, NaN and infinities matching, and equal shapes.
void check_close(const tutti::Tensor& got, const Array& want, double tolerance);
/// CHECKs equal shapes and equal bits.
void check_identical(const tutti::Tensor& a, const tutti::Tensor& b);

/// Calls body once per instruction set that this CPU has, with it forced; restores the best. The missing ones are
/// reported by a WARN as skipped. If the default device is not the CPU, once, with the device's name.
void for_each_isa(const std::function<void(const char* name)>& body);

}  // namespace tutti_test
