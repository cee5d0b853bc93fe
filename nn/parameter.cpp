#include "tutti/nn/parameter.h"

#include "tutti/autograd/node.h"
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
  const bool fits = to.defined() && from.defined() && to.shape() == from.shape() && to.dtype() == from.dtype() &&
                    to.device() == from.device() && to.requires_grad() == from.requires_grad();
  if (!fits) {
    to = copied(from);
    return;
  }
  const no_grad off;
  copy_(to, from);
}

}  // namespace

Parameter::Parameter(const Parameter& other) : tensor_(copied(other.tensor_)) {}
Parameter& Parameter::operator=(const Parameter& other) {
  assign(tensor_, other.tensor_);
  return *this;
}

Buffer::Buffer(const Buffer& other) : tensor_(copied(other.tensor_)) {}
Buffer& Buffer::operator=(const Buffer& other) {
  assign(tensor_, other.tensor_);
  return *this;
}

}  // namespace tutti::nn
