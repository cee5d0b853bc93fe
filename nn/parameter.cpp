#include "tutti/nn/parameter.h"

#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
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

void assign(Tensor& to, const Tensor& from) {
  if (Access::handle(to) == Access::handle(from)) return;
  if (!to.defined() || !from.defined() || !(to.shape() == from.shape())) {
    to = copied(from);
    return;
  }
  const no_grad off;
  if (to.dtype() == from.dtype() && to.device() == from.device())
    copy_(to, from);
  else
    replace(to, clone(from));
  to.requires_grad_(from.requires_grad());
}

}  // namespace

Parameter::Parameter(const Parameter& other) : tensor_(copied(other.tensor_)) {}
Parameter& Parameter::operator=(const Parameter& other) {
  assign(tensor_, other.tensor_);
  return *this;
}

Buffer::Buffer(Tensor t) : tensor_(std::move(t)) {
  if (tensor_.defined() && tensor_.requires_grad())
    throw AutogradError(message("Buffer: the tensor of shape ", tensor_.shape(),
                                " requires a gradient, which nothing would use; detach() it, or make it a Parameter"));
}
Buffer::Buffer(const Buffer& other) : tensor_(copied(other.tensor_)) {}
Buffer& Buffer::operator=(const Buffer& other) {
  assign(tensor_, other.tensor_);
  return *this;
}

}  // namespace tutti::nn
