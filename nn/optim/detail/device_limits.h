// Clipping on a device that computes later than the host: its list of gradients, and errors that are found afterwards.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tutti/nn/optim/detail/slots.h"

namespace tutti::optim {

/// What an error says of the gradients of one call.
struct GradientNames {
  struct One {
    int64_t begin;    // in the list of slots
    size_t position;  // in the caller's list
    Dims shape;
    std::string name;  // empty: it has none
    bool operator==(const One&) const = default;
  };
  std::string op;
  std::vector<One> gradients;
  bool operator==(const GradientNames&) const = default;
};

/// One device's. Locked by who uses it, from number() to the last launch.
class DeviceLimits {
 public:
  static DeviceLimits& of(Device device);

  std::recursive_mutex mutex;
  SlotTables tables;
  GradientRefusal* refusal() const { return static_cast<GradientRefusal*>(refusal_.data); }
  /// A new call; if it is refused, that is thrown after the next wait for the device.
  unsigned long long number(GradientNames names);
  /// The same for a call that is made again.
  void again(unsigned long long call, const GradientNames& names);

 private:
  explicit DeviceLimits(Device device);
  void clear();
  void ask();
  Storage refusal_;
  unsigned long long calls_ = 0;
  std::map<unsigned long long, GradientNames> pending_;  // by number: of this call and those after it
  bool asking_ = false;                                  // after_wait has been told
};

}  // namespace tutti::optim
