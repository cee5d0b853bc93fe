// anomaly_mode: which operation, in which module, first gave a NaN or an infinity.
#pragma once
#include <string>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

struct AnomalyOptions {
  bool infinite = true;  ///< infinities too; false: NaN alone, for models that use -inf on purpose (masks)
};

/// `const anomaly_mode on;`: in this scope, on this thread, the first operation whose result is not finite throws a
/// ValueError that names it, the element and the module: "in block.ffn: log: the result of shape [2, 3] is NaN at
/// [0, 1], the inputs are finite". So does backward, for gradients, with the path of the module in which the operation
/// ran, if it ran in anomaly_mode too. Slow, and meant for looking for a fault; costs nothing while off. Results that
/// have no gradient (comparisons, random numbers, copy_) are not looked at, nor those of operations inside a gradient
/// function. Inside checkpoint, paths begin at the function's own modules.
class anomaly_mode {
 public:
  explicit anomaly_mode(AnomalyOptions options = {});
  ~anomaly_mode();
  anomaly_mode(const anomaly_mode&) = delete;
  anomaly_mode& operator=(const anomaly_mode&) = delete;

 private:
  bool before_;
  AnomalyOptions options_before_;
};
/// The same without a scope, on this thread.
void set_anomaly_mode(bool on, AnomalyOptions options = {});
bool in_anomaly_mode();

/// Where a tensor has its first value that is no number; `what` is null if all are finite.
struct NotFinite {
  const char* what = nullptr;  ///< "NaN" or "infinite"
  Dims at{};
};
/// The first NaN, or if there is none and `infinite`, the first infinity. Integers have neither. Defined in ops/.
NotFinite find_not_finite(const Tensor& x, bool infinite = true);

namespace detail {

/// A call that is under way on this thread: modules put one on the stack, so that what happens inside can be placed.
class Caller {
 public:
  Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  const Caller* outer() const { return outer_; }
  static const Caller* current();
  /// "block.attention", from the outermost module; empty in that module itself.
  virtual std::string path() const = 0;

 protected:
  ~Caller();

 private:
  const Caller* outer_;
};

}  // namespace detail
}  // namespace tutti
#pragma GCC visibility pop
