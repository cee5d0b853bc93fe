// Batch normalisation of images.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct BatchNorm2dOptions {
  int64_t channels = 0;
  double eps = 1e-5;
  double momentum = 0.1;  ///< the share of a batch in the running statistics
  bool affine = true;     ///< weight (ones) and bias (zeros)
};

/// (x - mean) / sqrt(var + eps) weight + bias for each channel (Ioffe & Szegedy 2015). In training mean and variance
/// are the batch's (divisor n), and running_mean and running_var move towards them (the variance with divisor n - 1, as
/// in PyTorch); in evaluation they are the running ones. A forward pass that is done twice (checkpoint) moves them
/// twice.
class BatchNorm2d : public Callable<BatchNorm2d> {
 public:
  /// ValueError unless channels is positive, eps not negative and momentum between 0 and 1.
  explicit BatchNorm2d(BatchNorm2dOptions options);
  void children(Visitor& visit) override;
  /// x [N, C, H, W]. ValueError in training if a channel has one element only: it has no variance.
  Tensor forward(const Tensor& x) const;
  Parameter weight, bias;
  Buffer running_mean, running_var;
  Buffer num_batches_tracked;  ///< int64; how many batches have been seen in training

 private:
  BatchNorm2dOptions options_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
