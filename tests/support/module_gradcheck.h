// gradcheck of a module's inputs and of all its parameters at once.
#pragma once
#include <functional>

#include "tutti/autograd/gradcheck.h"
#include "tutti/nn/module.h"

namespace tutti_test {

/// Makes the module use these tensors as its parameters, in the order of parameters().
class UseAsParameters : public tutti::nn::Visitor {
 public:
  explicit UseAsParameters(const tutti::Tensor* first) : next_(first) {}
  using Visitor::operator();
  void operator()(const std::string&, tutti::nn::Parameter& p) override {
    if (p.defined()) p = tutti::nn::Parameter(*next_++);
  }
  void operator()(const std::string&, tutti::nn::Buffer&) override {}
  void operator()(const std::string&, tutti::nn::Module& m) override { m.children(*this); }

 private:
  const tutti::Tensor* next_;
};

/// f(inputs), which calls the module, against central differences in the inputs and in every parameter (float64); with
/// `second` also the gradient's own gradient.
inline bool gradcheck_module(tutti::nn::Module& module,
                             const std::function<tutti::Tensor(const std::vector<tutti::Tensor>&)>& f,
                             const std::vector<tutti::Tensor>& inputs, bool second = false) {
  std::vector<tutti::Tensor> all = inputs;
  for (const tutti::Tensor& p : module.parameters()) all.push_back(p);
  const auto call = [&](const std::vector<tutti::Tensor>& x) {
    UseAsParameters use(x.data() + inputs.size());
    module.children(use);
    return f({x.begin(), x.begin() + static_cast<std::ptrdiff_t>(inputs.size())});
  };
  return tutti::gradcheck(call, all) && (!second || tutti::gradgradcheck(call, all));
}

}  // namespace tutti_test
