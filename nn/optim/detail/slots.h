// From parameters with gradients to what the fused kernels take: one list, one dispatch.
#pragma once
#include <memory>
#include <vector>

#include "tutti/backends/contract/optimizer.h"
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::optim {

class SlotList {
 public:
  explicit SlotList(const char* op) : op_(op) {}
  /// Adds p; false if it has no gradient. Nothing is written yet. DeviceError if p is on another device than those
  /// before it.
  bool add(const Tensor& p);
  size_t size() const { return slots_.size(); }
  ParameterSlot& operator[](size_t i) { return slots_[i]; }
  const Tensor& parameter(size_t i) const { return parameters_[i]; }
  const Tensor& gradient(size_t i) const { return gradients_[i]; }
  int64_t begin(size_t i) const { return slots_[i].begin; }
  /// The rates of parameter i, for all in order. On the CPU neighbours that have the same share them; elsewhere the
  /// table keeps its size.
  void set_rates(size_t i, const ParameterRates& rates);
  Device device() const { return device_; }

 private:
  friend class SlotTables;
  const char* op_;
  std::vector<ParameterSlot> slots_;
  std::vector<ParameterRates> rates_;
  std::vector<Tensor> parameters_, gradients_;  // contiguous, kept alive for the kernel
  int64_t total_ = 0;
  uint32_t dtypes_ = 0;
  Device device_;
};

/// The list where kernels read it. For the CPU that is the host's own; on another device it stays from one step to the
/// next, and what is the same as before is not sent again.
class SlotTables {
 public:
  ParameterSlots view(const SlotList& list);
  /// For a list in a step that a CudaGraph records: its tables are the graph's. Rates are not sent with it.
  static std::shared_ptr<SlotTables> recorded();
  /// Before a replay: the list's rates as they are now.
  void send_rates(const SlotList& list) { (void)rates_.at(list.device_, list.rates_, true); }

 private:
  template <class Row>
  struct Table {
    std::shared_ptr<Storage> memory;
    std::vector<Row> sent;
    const Row* at(Device device, const std::vector<Row>& rows, bool send);
  };
  Table<ParameterSlot> slots_;
  Table<ParameterRates> rates_;
};

}  // namespace tutti::optim
#pragma GCC visibility pop
