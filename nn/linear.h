// Linear and block-diagonal linear layers.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// How a linear layer starts.
enum class LinearInit {
  fan_in,  ///< weight and bias uniform within 1/sqrt(inputs of the block), as in PyTorch
  xavier,  ///< weight Xavier-uniform (each block on its own), bias 0
  zero,    ///< weight and bias 0
};

struct LinearOptions {
  int64_t in = 0, out = 0;
  bool bias = true;
  LinearInit init = LinearInit::fan_in;
};

/// y = x weight^T + bias; weight [out, in], bias [out].
class Linear : public Callable<Linear> {
 public:
  explicit Linear(LinearOptions options);  ///< ValueError unless in and out are positive
  void children(Visitor& visit) override;
  /// x [.., in] to [.., out].
  Tensor forward(const Tensor& x) const;
  Parameter weight, bias;
};

struct GroupedLinearOptions {
  int64_t in = 0, out = 0, groups = 1;
  bool bias = true;
  LinearInit init = LinearInit::fan_in;
};

/// Block-diagonal: group i maps its contiguous in/G inputs to its contiguous out/G outputs; weight [G, out/G, in/G],
/// bias [out]. The same map as a 1x1 convolution with G groups.
class GroupedLinear : public Callable<GroupedLinear> {
 public:
  explicit GroupedLinear(GroupedLinearOptions options);  ///< ValueError unless groups divides in and out
  void children(Visitor& visit) override;
  /// x [.., in] to [.., out].
  Tensor forward(const Tensor& x) const;
  Parameter weight, bias;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
