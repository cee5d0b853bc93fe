// Launching a kernel: its arguments as bytes, and a function that calls it with them.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "site.h"

namespace emulator {

struct Launch {
  const void* kernel;
  void (*call)(const void* kernel, const void* arguments);
  const void* arguments;  ///< copied
  size_t bytes;
  dim3 grid, block;
  size_t shared;
};
void launch(const Launch& launch, cudaStream_t stream);

template <class... P>
EMULATOR_SILENT void call(const void* kernel, const void* arguments) {
  std::apply(reinterpret_cast<void (*)(P...)>(const_cast<void*>(kernel)),
             *static_cast<const std::tuple<P...>*>(arguments));
}

}  // namespace emulator

template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream, A&&... arguments) {
  static_assert((std::is_trivially_copyable_v<P> && ...), "a kernel's arguments are copied as bytes");
  static_assert((sizeof(P) + ... + 0) <= 4096, "a kernel's arguments are 4 KB at most");
  const std::tuple<P...> values(static_cast<P>(arguments)...);
  emulator::launch(
      {reinterpret_cast<const void*>(kernel), &emulator::call<P...>, &values, sizeof values, grid, block, shared},
      stream);
}
