// The operations that tutti-bench times, each with what its sizes ask for at least: the measure of how well it does.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace bench {

using Sizes = std::vector<int64_t>;

/// Arithmetic, and memory if every operand is read once and every result written once. Elementwise operations count as
/// memory alone: how much arithmetic an exponential takes is the kernel's affair.
struct Cost {
  double flop = 0, read = 0, written = 0;  ///< the latter two in bytes
  double bytes() const { return read + written; }
};
inline Cost operator+(const Cost& a, const Cost& b) {
  return {a.flop + b.flop, a.read + b.read, a.written + b.written};
}

struct Work {
  std::vector<tutti::Tensor> inputs;
  std::function<tutti::Tensor(const std::vector<tutti::Tensor>&)> function;
};

struct Operation {
  size_t sizes;  ///< how many it takes at least
  const char* usage;
  std::function<Work(const Sizes&)> make;
  std::function<Cost(const Sizes&)> forward;
  std::function<Cost(const Sizes&)> backward{};  ///< what the gradients of all inputs add; none: it has no gradient
};

const std::map<std::string, Operation>& operations();

/// One operation on certain sizes.
struct Case {
  std::string op;
  Sizes sizes;
  bool backward = false;    ///< also the gradients of all inputs
  bool transposed = false;  ///< the inputs' last two axes lie the other way round in memory
};

/// As `tutti-bench op` takes it: "softmax 4096 1024 --backward".
std::string text(const Case& c);
/// The work on ready inputs. ValueError if the operation is unknown, the sizes are too few, or it has no gradient.
std::function<void()> prepare(const Case& c);
Cost cost(const Case& c);

}  // namespace bench
