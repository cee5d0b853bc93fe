// The lab: where claims ask for results. What has been measured before comes from the store; what has not is noted,
// made side by side in several processes, stored, and the claim is asked again.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "grouped_vs_standard/study/train.h"

namespace comparison {

/// How a cell is made.
enum class Run {
  shared,     ///< on one thread, beside others
  exclusive,  ///< alone on the machine: times
};

/// One result to be made.
struct Cell {
  nlohmann::json key;  ///< what it is the result of; kept beside it
  std::function<nlohmann::json()> work;
  double cost = 1;  ///< about how long it takes, in seconds
  Run run = Run::shared;
};

class Lab {
 public:
  /// Results are kept in `folder`, one file each, written atomically. quick: fewer seeds.
  Lab(std::string folder, bool quick);

  /// k, or about a third of it with --quick (at least 2).
  int64_t seeds(int64_t k) const;
  bool quick() const { return quick_; }

  /// The setting's outcomes with seeds first .. first + k - 1. While some are missing: blank ones.
  std::vector<Outcome> train(const Setting& setting, int64_t k, uint64_t first = 1);

  /// The result of `work`, an object. While it is missing: an empty object. `what` names it in the store.
  nlohmann::json measure(const std::string& what, const nlohmann::json& key,
                         const std::function<nlohmann::json()>& work, double cost = 5, Run run = Run::shared);

  /// True while everything asked for so far was there: what depends on results must not ask further before.
  bool complete() const { return missing_.empty(); }
  const std::map<std::string, Cell>& missing() const { return missing_; }
  void start_pass() { missing_.clear(); }

  /// Makes what is missing: shared cells on `workers` processes of one thread, then exclusive ones on `threads`
  /// threads. Prints progress with the time left. IoError if cells failed, naming them; what was made is kept.
  void run_missing(int workers, int threads);

  /// Seconds that the stored cells took, of those asked for in this pass.
  double seconds() const { return seconds_; }

 private:
  nlohmann::json ask(Cell cell);
  std::string path_of(const nlohmann::json& key) const;
  std::string folder_;
  bool quick_;
  std::map<std::string, Cell> missing_;  // by file, so that several claims may ask for one cell
  std::map<std::string, nlohmann::json> read_;
  double seconds_ = 0;
};

/// A number of a measured object; NaN while it is missing.
double number(const nlohmann::json& object, const std::string& name);

}  // namespace comparison
