#include "tutti/autograd/gradcheck.h"

#include <cmath>

#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;  // several results, for gradgradcheck

Tensor from_values(const std::vector<double>& values, const Dims& shape, Device device) {
  Output y = output(shape, DType::float64, device);
  backend(device).copy(y.data(), device, values.data(), cpu, values.size() * sizeof(double));
  return no_gradient(y);
}

/// Fixed weights in [-1, 1), by splitmix64: no operation is needed to make them, so none is trusted.
Tensor weights_like(const Tensor& y) {
  std::vector<double> values(static_cast<size_t>(y.numel()));
  uint64_t state = 7;
  for (double& v : values) {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    v = static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
  }
  return from_values(values, y.shape(), y.device());
}

Dims index_of(int64_t element, const Dims& shape) {
  Dims index = shape;
  for (int i = shape.n - 1; i >= 0; --i) {
    index[i] = element % shape[i];
    element /= shape[i];
  }
  return index;
}

/// sum(results · weights), in float64 on the CPU. An undefined result (no gradient reached that input) counts as 0.
double weighted_sum(const Tensors& results, const Tensors& weights) {
  double total = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || !weights[i].defined()) continue;
    const auto y = results[i].to_vector<double>(), w = weights[i].to_vector<double>();
    for (size_t k = 0; k < y.size(); ++k) total += y[k] * w[k];
  }
  return total;
}

struct Check {
  const char* name;
  const Function& f;
  const GradcheckOptions& options;

  void run(const Tensors& inputs) const {
    const enable_grad on;
    Tensors wanted;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
      if (inputs[i].dtype() != DType::float64)
        throw DTypeError(message(name, ": input ", i, " is ", inputs[i].dtype(), ", not float64"));
      wanted.push_back(inputs[i]);
    }
    if (wanted.empty()) throw ValueError(message(name, ": no input requires a gradient"));

    Tensors y, dy, weights;
    for (const Tensor& result : f(inputs)) {
      const bool counts = result.defined() && result.requires_grad();
      if (counts && result.dtype() != DType::float64)
        throw DTypeError(message(name, ": the result is ", result.dtype(), ", not float64"));
      weights.push_back(counts ? weights_like(result) : Tensor());
      if (!counts) continue;
      y.push_back(result);
      dy.push_back(weights.back());
    }
    if (y.empty())
      throw AutogradError(message(name, ": the result does not depend on an input that requires a gradient"));
    const Tensors gradients = grad(y, wanted, dy);

    for (size_t i = 0, next = 0; i < inputs.size(); ++i)
      if (inputs[i].defined() && inputs[i].requires_grad()) compare(inputs, i, gradients[next++], weights);
  }

  void compare(const Tensors& inputs, size_t which, const Tensor& gradient, const Tensors& weights) const {
    const Tensor& x = inputs[which];
    auto values = x.to_vector<double>();
    const auto got = gradient.defined() ? gradient.to_vector<double>() : std::vector<double>(values.size());
    Tensors moved = inputs;
    const auto value_at = [&](size_t element, double v) {
      const double before = std::exchange(values[element], v);
      moved[which] = from_values(values, x.shape(), x.device());
      moved[which].requires_grad_();  // for gradgradcheck
      values[element] = before;
      return weighted_sum(f(moved), weights);
    };
    for (size_t k = 0; k < values.size(); ++k) {
      const double above = value_at(k, values[k] + options.step), below = value_at(k, values[k] - options.step);
      if (k == 0 && value_at(k, values[k] + options.step) != above)
        throw AutogradError(message(name, ": the function gives other values when called again with the same inputs"));
      const double want = (above - below) / (2 * options.step);
      if (!(std::abs(got[k] - want) <= options.absolute + options.relative * std::abs(want)))
        throw AutogradError(message(name, ": input ", which, ", element ", index_of(static_cast<int64_t>(k), x.shape()),
                                    ": the gradient is ", got[k], ", the central difference ", want));
    }
  }
};

}  // namespace

bool gradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, GradcheckOptions options) {
  const Function one = [&](const Tensors& x) { return Tensors{f(x)}; };
  Check{"gradcheck", one, options}.run(inputs);
  return true;
}

bool gradgradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, GradcheckOptions options) {
  Tensor y;
  {
    const enable_grad on;
    y = f(inputs);
  }
  if (!y.defined() || !y.requires_grad())
    throw AutogradError("gradgradcheck: the result does not depend on an input that requires a gradient");
  // The gradient as a function of the inputs and of one more: the output's gradient.
  const Function gradient = [&](const Tensors& all) {
    const enable_grad on;
    const Tensors x(all.begin(), all.end() - 1);
    Tensors wanted;
    for (const Tensor& t : x)
      if (t.defined() && t.requires_grad()) wanted.push_back(t);
    return tutti::grad({f(x)}, wanted, {all.back()}, {.create_graph = true});
  };
  Tensors all = inputs;
  all.push_back(weights_like(y));
  all.back().requires_grad_();
  Check{"gradgradcheck", gradient, options}.run(all);
  return true;
}

}  // namespace tutti
