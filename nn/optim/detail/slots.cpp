#include "tutti/nn/optim/detail/slots.h"

#include "tutti/core/error.h"
#include "tutti/ops/shape.h"

namespace tutti::optim {

bool SlotList::add(const Tensor& p) {
  Tensor gradient = p.grad();
  if (!gradient.defined()) return false;
  if (slots_.empty()) device_ = p.device();
  if (p.device() != device_)
    throw DeviceError(message(op_, ": parameters must share one device, but are on ", device_, " and ", p.device()));
  // The kernels read both through the parameter's dtype and size.
  if (gradient.dtype() != p.dtype() || gradient.device() != p.device())
    throw DTypeError(message(op_, ": a parameter of shape ", p.shape(), " is ", p.dtype(), " on ", p.device(),
                             ", its gradient ", gradient.dtype(), " on ", gradient.device()));
  if (!(gradient.shape() == p.shape()))
    throw ShapeError(message(op_, ": a parameter of shape ", p.shape(), " has a gradient of shape ", gradient.shape()));
  if (!gradient.is_contiguous()) gradient = contiguous(gradient);
  ParameterSlot slot{};
  slot.begin = total_;
  slot.numel = p.numel();
  slot.dtype = p.dtype();
  slot.gradient = const_cast<void*>(gradient.data());  // written only by the passes that say so
  total_ += slot.numel;
  slots_.push_back(slot);
  parameters_.push_back(p);
  gradients_.push_back(std::move(gradient));
  return true;
}

}  // namespace tutti::optim
