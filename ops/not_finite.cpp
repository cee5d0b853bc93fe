// find_not_finite (autograd/anomaly.h): for anomaly_mode and for errors that name the element.
#include <cmath>

#include "tutti/autograd/anomaly.h"
#include "tutti/autograd/node.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/unary.h"

namespace tutti {

NotFinite find_not_finite(const Tensor& x, bool infinite) {
  if (!is_floating(x.dtype()) || x.numel() == 0) return {};
  const no_grad off;
  const Tensor size = abs(x);
  const auto place = static_cast<int64_t>(argmax(size).item());  // a NaN beats everything, the first of equals wins
  Dims at = x.shape();
  int64_t rest = place;
  for (int i = at.n - 1; i >= 0; --i) {
    const int64_t n = at[i];
    at[i] = rest % n;
    rest /= n;
  }
  const double value = size.at(at);
  if (std::isnan(value)) return {"NaN", at};
  if (infinite && std::isinf(value)) return {"infinite", at};
  return {};
}

}  // namespace tutti
