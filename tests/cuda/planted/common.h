// For the planted faults: 128 numbers on the device, and what a right kernel makes of them.
#pragma once
#include <utility>
#include <vector>

#include "cuda/device_array.h"
#include "fault.h"
#include "tutti/backends/cuda/compat.h"

namespace planted {
namespace {

using tutti_test::DeviceArray;
using tutti_test::ok;
using tutti_test::StreamOwner;

inline std::vector<float> numbers(int n) {
  std::vector<float> v;
  for (int i = 0; i < n; ++i) v.push_back(static_cast<float>(i + 1));
  return v;
}
/// What a neighbour in the same group has: y[i] = x[i + 1], the last one x of the first.
inline std::vector<float> rotated(const std::vector<float>& x, int group) {
  std::vector<float> y = x;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t g = static_cast<size_t>(group), first = i / g * g;
    y[i] = x[first + (i - first + 1) % g];
  }
  return y;
}

struct Setup {
  StreamOwner stream;
  std::vector<float> host;
  DeviceArray<float> x, y;
  explicit Setup(int n) : host(numbers(n)), x(host, stream), y(static_cast<size_t>(n)) { stream.wait(); }
  std::vector<float> result() const { return y.to_host(stream); }
};

/// The kernel's right or wrong form by a run-time switch.
template <class... P, class... A>
void start(bool right, std::pair<void (*)(P...), void (*)(P...)> right_and_wrong, unsigned blocks, unsigned threads,
           size_t shared, cudaStream_t stream, A&&... arguments) {
  launch(right ? right_and_wrong.first : right_and_wrong.second, dim3(blocks), dim3(threads), shared, stream,
         static_cast<A&&>(arguments)...);
  cudaPeekAtLastError();
}
#define BOTH(kernel) std::pair(&kernel<true>, &kernel<false>)

}  // namespace
}  // namespace planted
