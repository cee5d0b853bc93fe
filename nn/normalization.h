// LayerNorm and RMSNorm over the last axis.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct LayerNormOptions {
  int64_t width = 0;
  double eps = 1e-5;
  bool affine = true;  ///< weight (ones) and bias (zeros)
};
class LayerNorm : public Callable<LayerNorm> {
 public:
  explicit LayerNorm(LayerNormOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x) const;
  Parameter weight, bias;

 private:
  LayerNormOptions options_;
};

struct RMSNormOptions {
  int64_t width = 0;
  double eps = 1e-6;
  bool affine = true;  ///< weight (ones)
};
class RMSNorm : public Callable<RMSNorm> {
 public:
  explicit RMSNorm(RMSNormOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x) const;
  Parameter weight;

 private:
  RMSNormOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
