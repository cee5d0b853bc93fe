// The kernel's side of complaint.h.
#pragma once
#include "tutti/backends/cuda/complaint.h"
#include "tutti/backends/cuda/device.h"

namespace tutti {
namespace {

__device__ inline bool outside(int64_t value, int64_t limit) { return value < 0 || value >= limit; }

/// Notes that the value at this position is bad. Kernels run one after another, so the first to take the complaint is
/// the first that was launched.
__device__ inline void complain(const cuda::Check& check, int64_t position, int64_t value) {
  cuda::Complaint& c = *check.complaint;
  const unsigned long long owner = atomicCAS(&c.check, 0ull, check.number);
  if (owner != 0 && owner != check.number) return;
  atomicExch(&c.op, static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(check.op)));
  atomicExch(&c.what, static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(check.what)));
  atomicExch(&c.limit, static_cast<unsigned long long>(check.limit));
  const unsigned long long rank = ~static_cast<unsigned long long>(position) << 24;
  const auto bits = static_cast<unsigned long long>(value);
  atomicMax(&c.parts[0], rank | bits >> 40);
  atomicMax(&c.parts[1], rank | (bits >> 16 & 0xffffffull));
  atomicMax(&c.parts[2], rank | (bits & 0xffffull));
}

}  // namespace
}  // namespace tutti
