#include "tutti/nn/parameter.h"

#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/nn/detail/copied_ties.h"
#include "tutti/ops/copy.h"

namespace tutti::nn {
namespace {

Tensor copied(const Tensor& from) {
  if (!from.defined()) return {};
  const no_grad off;
  Tensor t = clone(from);
  if (from.requires_grad()) t.requires_grad_();
  return t;
}

/// Into the tensor that is there; false if it does not fit.
bool assigned(const Tensor& to, const Tensor& from) {
  if (Access::handle(to) == Access::handle(from)) return true;
  if (!to.defined() || !from.defined() || !(to.shape() == from.shape())) return false;
  const no_grad off;
  if (to.dtype() == from.dtype() && to.device() == from.device())
    copy_(to, from);
  else
    replace(to, clone(from));
  Tensor(to).requires_grad_(from.requires_grad());
  return true;
}

}  // namespace

Parameter::Parameter(const Parameter& other) : tensor_(detail::copy_of(other, copied)) {}
Parameter& Parameter::operator=(const Parameter& other) {
  if (assigned(tensor_, other.tensor_))
    detail::note_copy(other, tensor_);
  else
    tensor_ = detail::copy_of(other, copied);
  return *this;
}
void Parameter::tie(const Parameter& other) {
  tensor_ = other.tensor_;
  detail::note_tie();
}

Buffer::Buffer(Tensor t) : tensor_(std::move(t)) {
  if (tensor_.defined() && tensor_.requires_grad())
    throw AutogradError(message("Buffer: the tensor of shape ", tensor_.shape(),
                                " requires a gradient, which nothing would use; detach() it, or make it a Parameter"));
}
Buffer::Buffer(const Buffer& other) : tensor_(copied(other.tensor_)) {}
Buffer& Buffer::operator=(const Buffer& other) {
  if (!assigned(tensor_, other.tensor_)) tensor_ = copied(other.tensor_);
  return *this;
}

}  // namespace tutti::nn
