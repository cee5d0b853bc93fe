// Datasets: samples by position, and batches of them.
#pragma once
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::data {

/// One sample, or (stacked along a new first axis) a batch: data.input and data.label, unpackable as [images, labels].
struct Batch {
  Tensor input, label;
};

/// A source of samples. get() may be called from a loader's own thread, one call at a time.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// The samples at these positions, stacked. IndexError out of range.
  virtual Batch get(const std::vector<int64_t>& positions) const = 0;
};

/// Tensors in memory: sample i is row i of both.
class TensorDataset : public Dataset {
 public:
  /// ShapeError if their first sizes differ; AutogradError if one requires a gradient.
  TensorDataset(Tensor input, Tensor label);
  int64_t size() const override;
  Batch get(const std::vector<int64_t>& positions) const override;
  const Tensor& input() const { return input_; }
  const Tensor& label() const { return label_; }

 private:
  Tensor input_, label_;
};

}  // namespace tutti::data
#pragma GCC visibility pop
