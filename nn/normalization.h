// LayerNorm and RMSNorm over the last axis, and either of them.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct LayerNormOptions {
  int64_t width = 0;
  double eps = 1e-5;
  bool affine = true;  ///< weight (ones) and, unless it is switched off, bias (zeros)
  bool bias = true;
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

enum class NormKind { layer, rms };
struct NormOptions {
  int64_t width = 0;
  NormKind kind = NormKind::layer;
  double eps = 1e-5;
  bool bias = true;  ///< of a LayerNorm
};
/// The norm of a block, which its options choose: computes and names its parameters as LayerNorm or RMSNorm does.
class Norm : public Callable<Norm> {
 public:
  explicit Norm(NormOptions options);
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x) const;
  Parameter weight, bias;
  const NormOptions& options() const { return options_; }

 private:
  NormOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
