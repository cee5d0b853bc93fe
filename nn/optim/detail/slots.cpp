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
