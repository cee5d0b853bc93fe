#include "tutti/nn/attention/sparsity.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/core/philox.h"
#include "tutti/ops/copy.h"

namespace tutti::nn {
namespace {

/// Of the pattern's fixed part.
bool visits(const SparsityOptions& o, int64_t i, int64_t j) {
  const bool near = std::abs(i - j) <= (o.window == SparsityOptions::unset ? 1 : o.window);
  switch (o.pattern) {
    case Sparsity::block:
      return i == j;
    case Sparsity::strided:
      return near || (i - j) % o.stride == 0;
    case Sparsity::global_window:
    case Sparsity::big_bird:
      return near || i < o.global || j < o.global;
    default:
      return true;
  }
}

/// `count` more blocks of row i: a Fisher-Yates shuffle of those that are left, as far as needed. Draw m of row i is
/// word m of the random tensor (seed, i).
void add_random(std::vector<bool>& layout, int64_t i, int64_t n, int64_t count, uint64_t seed) {
  std::vector<int64_t> left;
  for (int64_t j = 0; j < n; ++j)
    if (!layout[static_cast<size_t>(i * n + j)]) left.push_back(j);
  for (size_t m = 0; m < left.size() && static_cast<int64_t>(m) < count; ++m) {
    const uint64_t word = philox({seed, static_cast<uint64_t>(i)}, m / 4).v[m % 4];
    std::swap(left[m], left[m + static_cast<size_t>(word * (left.size() - m) >> 32)]);
    layout[static_cast<size_t>(i * n + left[m])] = true;
  }
}

}  // namespace

void check_sparsity(const char* layer, const SparsityOptions& o) {
  const auto at_least = [layer](const char* option, int64_t value, int64_t least) {
    if (value < least)
      throw ValueError(message(layer, ": sparsity.", option, " is ", value, "; it must be at least ", least));
  };
  if (o.pattern == Sparsity::dense) return;
  const bool given = o.window != SparsityOptions::unset;
  if (o.pattern == Sparsity::sliding_window) {
    if (!given)
      throw ValueError(message(layer, ": sparsity.window is not set; sliding_window needs it, in tokens: with 128 a ",
                               "token sees those at a distance below 128"));
    return at_least("window", o.window, 1);
  }
  at_least("block", o.block, 1);
  if (o.pattern == Sparsity::block) return;
  if (given) at_least("window", o.window, 0);
  if (o.pattern == Sparsity::strided) return at_least("stride", o.stride, 1);
  at_least("global", o.global, 0);
  if (o.pattern == Sparsity::big_bird) at_least("random", o.random, 0);
}

Tensor sparsity_layout(const SparsityOptions& o, int64_t tokens, Device device) {
  constexpr const char* name = "sparsity_layout";
  check_sparsity(name, o);
  if (tokens < 0) throw ValueError(message(name, ": tokens is ", tokens, "; it must be at least 0"));
  if (o.pattern == Sparsity::dense || o.pattern == Sparsity::sliding_window) return {};
  const int64_t n = tokens / o.block + (tokens % o.block != 0);
  std::vector<bool> layout(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) layout[static_cast<size_t>(i * n + j)] = visits(o, i, j);
    if (o.pattern == Sparsity::big_bird) add_random(layout, i, n, o.random, o.seed);
  }
  return Tensor::from(layout, {n, n}, device);
}

AttentionOptions with_sparsity(const char* layer, const SparsityOptions& o, int64_t tokens, Device device,
                               AttentionOptions call) {
  check_sparsity(layer, o);
  if (o.pattern == Sparsity::dense) return call;
  if (o.pattern == Sparsity::sliding_window) {
    if (call.window == 0 || o.window < call.window) call.window = o.window;
    return call;
  }
  if (call.layout.defined())
    throw ValueError(message(layer, ": a layout in a call; the layer has one of its own by its option sparsity"));
  if (call.block != 0)
    throw ValueError(
        message(layer, ": block = ", call.block, " in a call; the layer's option sparsity has block = ", o.block));
  call.layout = sparsity_layout(o, tokens, device);
  call.block = o.block;
  return call;
}

}  // namespace tutti::nn
