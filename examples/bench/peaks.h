// The machine's roofline (Williams, Waterman & Patterson 2009), measured with the threads and the instruction set in
// use.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/operations.h"

namespace bench {

/// Bytes per second where operands take this many bytes in all: small ones come from a cache.
struct Bandwidth {
  double bytes = 0, read = 0, copy = 0, triad = 0;
};

/// All are the most that was seen: what disturbs a measurement makes it slower.
struct Peaks {
  double flops = 0;                   ///< multiply-adds in float32; 0 without a measurement (on a GPU)
  std::vector<Bandwidth> bandwidths;  ///< by rising bytes
};

/// Adds one measurement to what was seen, of about `seconds` for each number; with `quick`, small operands alone.
void measure(Peaks& peaks, double seconds, bool quick);

/// What bounds it, and the least seconds it could take: the longer of its arithmetic at the peak and its bytes at the
/// bandwidth for so many. Copy's or triad's bandwidth, or reading's where little is written.
struct Roof {
  bool arithmetic = false;
  double seconds = 0;  ///< 0: nothing has to be done, or the peaks are unknown
};
Roof roof(const Peaks& peaks, const Cost& cost);

/// As lines for a person.
std::string text(const Peaks& peaks);

}  // namespace bench
