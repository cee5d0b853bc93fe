// What a run of `tutti-bench kernels` measured: to print, to store, and to compare with another run.
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/peaks.h"

namespace bench {

struct Measured {
  std::string name;  ///< text() of the case
  Cost cost;
  std::vector<double> seconds{};  ///< of one execution; one number per round
};

struct Record {
  std::string environment, machine, commit;  ///< instruction set and threads; the CPU; what was measured
  Peaks peaks;
  std::vector<Measured> cases;
};

std::string machine_name();  ///< the CPU's, "unknown" where the system does not say

nlohmann::ordered_json to_json(const Record& r);
/// IoError, beginning with the file's name, where it cannot be read or is none of ours.
Record read_record(const std::string& path);

/// A median and its distribution-free interval from order statistics: the j-th lowest and the j-th highest sample, for
/// the greatest j that still covers the median with 95 % (Conover 1999, chapter 3.2); below six samples, the range.
struct Median {
  double value = 0, low = 0, high = 0;
  double coverage = 0;  ///< by the binomial distribution
};
Median median(std::vector<double> samples);

/// The table: milliseconds, rates, and the share of the roof.
std::string table(const Record& r);
/// Old time over new, line by line. A line is flagged where the intervals of the two medians do not meet.
std::string comparison(const Record& before, const Record& now);

}  // namespace bench
