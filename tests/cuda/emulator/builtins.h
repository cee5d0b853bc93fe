// threadIdx and its kin, barriers, shared memory.
#pragma once
#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include "block.h"
#include "shared_memory.h"
#include "site.h"

#undef __shared__  // a plain one would be one thread's: SHARED() is the only way
#undef __launch_bounds__
#define __launch_bounds__(...)

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

EMULATOR_SILENT inline void __syncthreads(EMULATOR_SITE) { emulator::barrier(0, emulator::Vote::none, site); }
EMULATOR_SILENT inline int __syncthreads_count(int predicate, EMULATOR_SITE) {
  return emulator::barrier(predicate, emulator::Vote::count, site);
}
EMULATOR_SILENT inline int __syncthreads_and(int predicate, EMULATOR_SITE) {
  return emulator::barrier(predicate, emulator::Vote::all, site);
}
EMULATOR_SILENT inline int __syncthreads_or(int predicate, EMULATOR_SITE) {
  return emulator::barrier(predicate, emulator::Vote::any, site);
}

namespace emulator {
void fence();
}
inline void __threadfence() { emulator::fence(); }
inline void __threadfence_block() {}

#define SHARED_ALIGNED(alignment, type, name, ...)                                          \
  typedef type name##_shared __VA_ARGS__;                                                   \
  static emulator::SharedVariable name##_variable(sizeof(name##_shared), alignment, #name); \
  name##_shared& name =                                                                     \
      *static_cast<name##_shared*>(name##_variable.get(emulator::Site::here(__builtin_FILE(), __builtin_LINE())))
#define SHARED(type, name, ...) SHARED_ALIGNED(alignof(type), type, name, __VA_ARGS__)
#define SHARED_DYN_ALIGNED(alignment, type, name) \
  type* name = static_cast<type*>(                \
      emulator::dynamic_shared(alignment, emulator::Site::here(__builtin_FILE(), __builtin_LINE())))
#define SHARED_DYN(type, name) SHARED_DYN_ALIGNED(16, type, name)
