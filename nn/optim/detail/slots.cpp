#include "tutti/nn/optim/detail/slots.h"

#include <optional>

#include "tutti/core/cuda_graph.h"
#include "tutti/core/detail/private_pool.h"
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
  constexpr int64_t alignment = ParameterSlots::alignment;
  if (device_ != cpu) total_ = (total_ + alignment - 1) / alignment * alignment;
  ParameterSlot slot{};
  slot.begin = total_;
  slot.numel = p.numel();
  slot.dtype = p.dtype();
  slot.gradient = const_cast<void*>(gradient.data());  // written only by the passes that say so
  total_ += slot.numel;
  dtypes_ |= uint32_t{1} << static_cast<int>(slot.dtype);
  slots_.push_back(slot);
  parameters_.push_back(p);
  gradients_.push_back(std::move(gradient));
  return true;
}

void SlotList::set_rates(size_t i, const ParameterRates& rates) {
  if (i == 0) rates_.clear();
  if (i == 0 || device_ != cpu || !(rates_.back() == rates)) rates_.push_back(rates);
  slots_[i].rates = static_cast<int32_t>(rates_.size() - 1);
}

template <class Row>
const Row* SlotTables::Table<Row>::at(Device device, const std::vector<Row>& rows, bool send) {
  if (device == cpu) return rows.data();
  const size_t bytes = rows.size() * sizeof(Row);
  const bool here = memory && memory->device == device && memory->bytes >= bytes;
  if (here && sent == rows) return static_cast<const Row*>(memory->data);
  sent.clear();  // nothing is known to be there if what follows throws
  if (!here) memory = std::make_shared<Storage>(device, bytes);
  if (send) {
    backend(device).copy(memory->data, device, rows.data(), cpu, bytes);
    sent = rows;
  }
  return static_cast<const Row*>(memory->data);
}

ParameterSlots SlotTables::view(const SlotList& list) {
  const ParameterSlot* slots = slots_.at(list.device_, list.slots_, true);
  const bool recording = Recording::current() != nullptr;
  // Rates are sent between replays: into memory that no other part of the recorded step writes.
  std::optional<memory::PrivatePool::Scope> outside;
  if (recording) outside.emplace(nullptr);
  const ParameterRates* rates = rates_.at(list.device_, list.rates_, !recording);
  return {slots, rates, static_cast<int64_t>(list.slots_.size()), list.total_, list.dtypes_};
}

std::shared_ptr<SlotTables> SlotTables::recorded() {
  auto tables = std::make_shared<SlotTables>();
  Recording::current()->keep(tables);
  return tables;
}

}  // namespace tutti::optim
