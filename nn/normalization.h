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
/// layer_norm over the last axis. ValueError unless width is positive and eps is not negative.
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
/// rms_norm over the last axis. ValueError as for LayerNorm.
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
