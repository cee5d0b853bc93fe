// A CUDA device (an emulated one counts) beside the default one.
#pragma once
#include "support/catch.h"
#include "tutti/core/device.h"

namespace tutti_test {

/// The last CUDA device: not the one that CUDA itself takes for a default, where there are two. Without one the CPU,
/// and a WARN that the test is skipped.
inline tutti::Device other_device() {
  if (const int n = tutti::cuda_device_count()) return tutti::Device::cuda(n - 1);
  WARN("skipped: there is no CUDA device");
  return tutti::cpu;
}

/// A number of repetitions for this run: launching a kernel is much slower than calling one, on an emulated device
/// above all.
inline int64_t sized(int64_t on_cpu, int64_t on_device) {
  return tutti::default_device() == tutti::cpu ? on_cpu : on_device;
}

}  // namespace tutti_test
