// A random order: a sort by random keys, so that devices that sort in parallel can agree with it.
#include <algorithm>
#include <utility>
#include <vector>

#include "tutti/backends/contract/random.h"
#include "tutti/core/philox.h"

namespace tutti {

template <>
void kernel::random_permutation::run<target::any_cpu>(Rows y, DrawKey draw) {
  const RandomKey key = draw.now();
  std::vector<std::pair<uint64_t, int64_t>> keyed(static_cast<size_t>(y.width));
  for (int64_t i = 0; i < y.width; ++i) {
    const Philox4 block = philox(key, static_cast<uint64_t>(i) / 2);
    const int at = i % 2 ? 2 : 0;
    keyed[static_cast<size_t>(i)] = {uint64_t{block.v[at]} << 32 | block.v[at + 1], i};
  }
  std::sort(keyed.begin(), keyed.end());
  auto* out = static_cast<int64_t*>(y.data);
  for (const auto& [order, i] : keyed) *out++ = i;
}

}  // namespace tutti
