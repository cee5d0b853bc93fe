// For tests of what only the CPU has: its threads, instruction sets and allocator, operations that a test writes on
// host memory, and bits that a CPU's order of additions made. Run with another default device (TUTTI_DEVICE) they run
// on the CPU all the same, and say so by this.
#pragma once
#include "tutti/core/device.h"

namespace tutti_test {

/// The CPU is the default device for as long as this lives.
class OnCpu {
 public:
  OnCpu() : before_(tutti::default_device()) { tutti::set_default_device(tutti::cpu); }
  ~OnCpu() { tutti::set_default_device(before_); }
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;

 private:
  const tutti::Device before_;
};

}  // namespace tutti_test
