#include "tutti/nn/data/dataset.h"

#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/index.h"

namespace tutti::data {

TensorDataset::TensorDataset(Tensor input, Tensor label) : input_(std::move(input)), label_(std::move(label)) {
  if (!input_.defined() || !label_.defined()) throw ValueError("TensorDataset: input or label is undefined");
  for (const auto& [name, x] : {std::pair{"input", &input_}, {"label", &label_}})
    if (x->requires_grad())
      throw AutogradError(message("TensorDataset: ", name, " of shape ", x->shape(),
                                  " requires a gradient, which its batches do not carry; detach() it"));
  if (input_.rank() == 0 || label_.rank() == 0 || input_.size(0) != label_.size(0))
    throw ShapeError(message("TensorDataset: input ", input_.shape(), " and label ", label_.shape(),
                             " do not have the same number of samples (first axis)"));
}

int64_t TensorDataset::size() const { return input_.size(0); }

Batch TensorDataset::get(const std::vector<int64_t>& positions) const {
  for (size_t i = 0; i < positions.size(); ++i)
    if (positions[i] < 0 || positions[i] >= size())
      throw IndexError(message("TensorDataset: position ", positions[i], " (number ", i,
                               " of the batch) is out of range", " for ", size(), " samples"));
  const no_grad off;
  const Tensor index = Tensor::from(positions, {static_cast<int64_t>(positions.size())}, input_.device());
  return {index_select(input_, 0, index), index_select(label_, 0, to(index, label_.device()))};
}

}  // namespace tutti::data
