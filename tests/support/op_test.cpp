#include "support/op_test.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/kernel.h"
#include "tutti/core/detail/host_copy.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"

using namespace tutti;

namespace tutti_test {
namespace {

const char* name_of(Layout l) {
  const char* const names[] = {"contiguous", "transposed", "sliced", "broadcast"};
  return names[static_cast<int>(l)];
}

/// splitmix64: values that depend on nothing of ours.
double uniform(uint64_t seed, uint64_t i) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + (i + 1) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

Tensor from_values(const std::vector<double>& values, const Dims& shape, DType dtype) {
  const Output y = output(shape, dtype, cpu);
  tutti::visit(dtype, [&]<class T>(T) {
    T* p = y.data<T>();
    for (double v : values) {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        *p++ = T::from(v);
      else
        *p++ = static_cast<T>(v);
    }
  });
  return placed(y, default_device());
}

struct Case {
  const OpTest& test;
  const std::vector<Dims>& shapes;
  Layout layout;
  DType dtype;

  Tensors inputs() const {
    Tensors list;
    for (size_t i = 0; i < shapes.size(); ++i) {
      std::vector<double> values(static_cast<size_t>(shapes[i].product()));
      for (size_t k = 0; k < values.size(); ++k) {
        double v = test.low + (test.high - test.low) * uniform(17 + i, k);
        if (test.adjust) v = test.adjust(v);
        values[k] = static_cast<float>(v);  // the same numbers in float32 and float64
      }
      list.push_back(with_layout(from_values(values, shapes[i], dtype), layout));
    }
    return list;
  }
  bool constant(size_t i) const {
    return std::find(test.constant.begin(), test.constant.end(), static_cast<int>(i)) != test.constant.end();
  }
  Tensors leaves() const {
    Tensors x = inputs();
    for (size_t i = 0; i < x.size(); ++i)
      if (!constant(i)) x[i].requires_grad_();
    return x;
  }
};

Arrays arrays(const Tensors& x) {
  Arrays list;
  for (const Tensor& t : x) list.emplace_back(t);
  return list;
}

/// sum(result * weights)
double weighted(const std::vector<double>& v, const std::vector<double>& weights) {
  double s = 0;
  for (size_t i = 0; i < v.size(); ++i) s += v[i] * weights[i];
  return s;
}

void check_gradients(const Case& c) {
  Tensors x = c.leaves();
  const Tensor y = c.test.op(x);
  std::vector<double> weights(static_cast<size_t>(y.numel()));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(uniform(91, i) * 2 - 1);
  const Tensor dy = from_values(weights, y.shape(), c.dtype);
  Tensors wanted;
  for (size_t i = 0; i < x.size(); ++i)
    if (!c.constant(i)) wanted.push_back(x[i]);
  const auto gradients = grad({y}, wanted, {dy}, {.retain_graph = true});

  // A gradient behind other strides is the same gradient.
  for (Layout l : {Layout::transposed, Layout::sliced}) {
    INFO("output gradient " << name_of(l));
    const auto again = grad({y}, wanted, {with_layout(dy, l)}, {.retain_graph = true});
    for (size_t i = 0; i < wanted.size(); ++i)
      check_close(again[i], Array(gradients[i]), c.dtype == DType::float64 ? 1e-12 : 1e-5);
  }
  // So is one of stride 0, as sum() gives.
  const Tensor one = from_values({0.5}, {}, c.dtype);
  Dims zero = y.shape();
  for (int i = 0; i < zero.n; ++i) zero[i] = 0;
  const auto from_scalar = grad({y}, wanted, {no_gradient(view(one, y.shape(), zero, 0))}, {.retain_graph = true});
  const auto from_full = grad({y}, wanted, {from_values(std::vector<double>(weights.size(), 0.5), y.shape(), c.dtype)});
  for (size_t i = 0; i < wanted.size(); ++i) {
    INFO("output gradient of stride 0");
    check_close(from_scalar[i], Array(from_full[i]), c.dtype == DType::float64 ? 1e-12 : 1e-5);
  }

  // Central differences in float64, whatever dtype the gradient is in: of the operation, or on a device, where
  // thousands of small launches take minutes, of its reference.
  const bool of_reference = default_device() != cpu;
  Case exact{c.test, c.shapes, c.layout, DType::float64};
  const no_grad off;
  size_t which = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (c.constant(i)) continue;
    INFO("gradient of input " << i << " with shape " << to_string(x[i].shape()));
    REQUIRE(gradients[which].defined());
    REQUIRE(gradients[which].shape() == x[i].shape());
    Tensors moved = exact.inputs();
    Arrays moved_arrays = arrays(moved);
    const Array base(moved[i]);
    Array numeric(base.shape);
    for (int64_t k = 0; k < base.numel(); ++k) {
      double values[2];
      for (int side = 0; side < 2; ++side) {
        Array shifted = base;
        shifted[k] += (side ? -1 : 1) * c.test.step;
        if (of_reference) {
          moved_arrays[i] = shifted;
          values[side] = weighted(c.test.reference(moved_arrays).v, weights);
          continue;
        }
        moved[i] = from_values(shifted.v, base.shape, DType::float64);
        values[side] = weighted(c.test.op(moved).to_vector<double>(), weights);
      }
      numeric[k] = (values[0] - values[1]) / (2 * c.test.step);
    }
    check_close(gradients[which], numeric,
                c.dtype == DType::float64 ? c.test.gradient_tolerance
                                          : std::max(c.test.gradient_tolerance, 10 * c.test.tolerance32));
    ++which;
  }
}

std::string describe(const Case& c, const char* isa) {
  std::string s = message(isa, ", ", name_of(c.layout), ", ", c.dtype, ", shapes");
  for (const Dims& d : c.shapes) s += " " + to_string(d);
  return s;
}

void run(const std::string& name, const Case& c, const char* isa) {
  INFO(name << ": " << describe(c, isa));
  const Tensors x = c.inputs();
  const double tolerance = c.dtype == DType::float64    ? c.test.tolerance64
                           : c.dtype == DType::float32  ? c.test.tolerance32
                           : c.dtype == DType::bfloat16 ? 1e-2
                                                        : 2e-3;
  check_close(c.test.op(x), c.test.reference(arrays(x)), tolerance);
  if (c.test.gradient && (c.dtype == DType::float32 || c.dtype == DType::float64)) check_gradients(c);
}

}  // namespace

Tensor random_tensor(const Dims& shape, DType dtype, uint64_t seed, double low, double high) {
  std::vector<double> values(static_cast<size_t>(shape.product()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = low + (high - low) * uniform(seed, i);
  return from_values(values, shape, dtype);
}

Tensor with_layout(const Tensor& x, Layout layout) {
  const int n = x.rank();
  if (layout == Layout::contiguous || n == 0) return x;
  const auto values = x.to_vector<double>();
  const Dims shape = x.shape(), row_major = contiguous_strides(shape);
  Dims strides = row_major;
  Dims room = shape;  // shape of the storage
  int64_t offset = 0;
  if (layout == Layout::transposed) {  // axes in reverse order in memory
    int64_t step = 1;
    for (int i = 0; i < n; ++i) {
      strides[i] = step;
      step *= shape[i];
    }
  } else if (layout == Layout::sliced) {  // every second element of a larger one, from the second on
    for (int i = 0; i < n; ++i) room[i] = shape[i] + 2;
    room[n - 1] = 2 * shape[n - 1] + 3;
    const Dims s = contiguous_strides(room);
    for (int i = 0; i < n; ++i) {
      strides[i] = s[i];
      offset += s[i];
    }
    strides[n - 1] = 2;
  } else {
    for (int i = 0; i < n; ++i)
      if (shape[i] > 1) {
        strides[i] = 0;
        break;
      }
  }
  std::vector<double> memory(static_cast<size_t>(std::max<int64_t>(1, room.product())), std::nan(""));
  for (int64_t k = static_cast<int64_t>(values.size()) - 1; k >= 0;
       --k) {  // backwards: the first of repeated entries stays
    int64_t at = offset;
    for (int i = 0; i < n; ++i) at += (k / row_major[i]) % shape[i] * strides[i];
    memory[static_cast<size_t>(at)] = values[static_cast<size_t>(k)];
  }
  if (!is_floating(x.dtype()))
    for (double& v : memory) v = v != v ? 0 : v;
  const Tensor storage = from_values(memory, {static_cast<int64_t>(memory.size())}, x.dtype());
  return no_gradient(view(storage, shape, strides, offset));
}

void check_close(const Tensor& got, const Array& want, double tolerance) {
  REQUIRE(got.defined());
  INFO("got shape " << to_string(got.shape()) << ", want " << to_string(want.shape));
  REQUIRE(got.shape() == want.shape);
  const auto v = got.to_vector<double>();
  double largest = 1;
  for (double w : want.v)
    if (std::isfinite(w)) largest = std::max(largest, std::abs(w));
  size_t worst = 0;
  double error = -1;
  for (size_t i = 0; i < v.size(); ++i) {
    const double w = want.v[i];
    double e = std::abs(v[i] - w);
    if (std::isnan(w))
      e = std::isnan(v[i]) ? 0 : INFINITY;
    else if (std::isinf(w))
      e = v[i] == w ? 0 : INFINITY;
    else if (std::isnan(v[i]))
      e = INFINITY;
    if (e > error) {
      error = e;
      worst = i;
    }
  }
  if (error <= tolerance * largest) return;
  if (v.empty()) return;
  INFO("element " << worst << ": got " << v[worst] << ", want " << want.v[worst] << ", tolerance "
                  << tolerance * largest);
  CHECK(error <= tolerance * largest);
}

void check_identical(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  REQUIRE(a.dtype() == b.dtype());
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  REQUIRE((x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0));
}

void for_each_isa(const std::function<void(const char*)>& body) {
  if (default_device() != cpu) return body(to_string(default_device()).c_str());
  const int best = isa::level();
  for (int i = 0; i < static_cast<int>(isa::names.size()); ++i) {
    const char* name = isa::names[static_cast<size_t>(i)];
    if (i > isa::supported()) {
      WARN("skipped: this CPU lacks " << name);
      continue;
    }
    isa::force(i);
    try {
      body(name);
    } catch (...) {
      isa::force(best);
      throw;
    }
  }
  isa::force(best);
}

void op_test(const std::string& name, const OpTest& test) {
  for_each_isa([&](const char* isa) {
    for (const auto& shapes : test.shapes)
      for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced, Layout::broadcast})
        for (DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
          const bool is_half = dtype == DType::bfloat16 || dtype == DType::float16;
          if (is_half && !test.half) continue;
          run(name, {test, shapes, layout, dtype}, isa);
        }
  });
  SUCCEED(name);
}

}  // namespace tutti_test
