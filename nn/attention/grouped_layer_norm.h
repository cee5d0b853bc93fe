// LayerNorm over each group of channels on its own.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct GroupedLayerNormOptions {
  int64_t width = 0;   ///< of all groups together
  int64_t groups = 1;  ///< G, divides width; 1 is LayerNorm
  double eps = 1e-5;
};

/// For each group of width/G contiguous channels: (x - mean) / sqrt(var + eps), mean and (biased) variance over the
/// group at one position (Ba et al. 2016), then weight and bias for each channel. ValueError unless groups divides
/// width into groups of at least two channels (of one, nothing would be left) and eps is not negative.
class GroupedLayerNorm : public Callable<GroupedLayerNorm> {
 public:
  explicit GroupedLayerNorm(GroupedLayerNormOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x) const;                   ///< x [.., width] to the same shape
  Tensor one_group(const Tensor& x, int64_t group) const;  ///< of one group's channels alone: x [.., width/G]
  Parameter weight, bias;                                  ///< [width]: ones, zeros

 private:
  GroupedLayerNormOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
