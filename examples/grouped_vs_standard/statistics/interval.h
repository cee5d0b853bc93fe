// An estimate and how sure it is: what every part of the comparison passes on.
#pragma once

namespace comparison {

struct Interval {
  double value = 0, low = 0, high = 0;  ///< the estimate and its 95 % interval
};

}  // namespace comparison
