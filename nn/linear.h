// Linear and block-diagonal linear layers.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct LinearOptions {
  int64_t in = 0, out = 0;
  bool bias = true;
};

/// y = x weight^T + bias; weight [out, in] and bias [out] start uniform within 1/sqrt(in), as in PyTorch.
class Linear : public Callable<Linear> {
 public:
  explicit Linear(LinearOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x) const;
  Parameter weight, bias;
};

struct GroupedLinearOptions {
  int64_t in = 0, out = 0, groups = 1;
  bool bias = true;
};

/// Block-diagonal: group i maps its contiguous in/G inputs to its contiguous out/G outputs; weight [G, out/G, in/G].
/// Starts uniform within 1/sqrt(in/G). ValueError unless groups divides in and out.
class GroupedLinear : public Callable<GroupedLinear> {
 public:
  explicit GroupedLinear(GroupedLinearOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x) const;
  Parameter weight, bias;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
