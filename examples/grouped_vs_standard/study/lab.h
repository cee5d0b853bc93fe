// The lab: where claims ask for results. What has been measured before comes from the store; what has not is noted,
// made side by side in several processes, stored, and the claim is asked again.
#pragma once
#include <any>
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

struct LabOptions {
  std::string folder{};            ///< results are kept here, one file each, written atomically
  bool quick = false;              ///< fewer seeds
  std::string commit = "unknown";  ///< of the program, kept with each result: a report says which an earlier one made
  std::string machine{};           ///< part of what exclusive cells are the result of: threads, instruction set
};

class Lab {
 public:
  explicit Lab(LabOptions options);

  /// k, or about a third of it with --quick (at least 2).
  int64_t seeds(int64_t k) const;
  bool quick() const { return options_.quick; }

  /// The setting's outcomes with seeds first .. first + k - 1. While some are missing: blank ones.
  std::vector<Outcome> train(const Setting& setting, int64_t k, uint64_t first = 1);

  /// The result of `work`, an object. While it is missing: an empty object. `what` names it in the store.
  nlohmann::json measure(const std::string& what, const nlohmann::json& key,
                         const std::function<nlohmann::json()>& work, double cost = 5, Run run = Run::shared);

  /// What `make` computes from stored results, kept under `key` while this lab lives: a later pass, and other claims
  /// that ask for the same, need not compute it again. Only to be called while complete().
  template <class T, class Make>
  const T& once(const std::string& key, const Make& make) {
    std::any& kept = computed_[key];
    if (!kept.has_value()) kept = T(make());
    return std::any_cast<const T&>(kept);
  }

  /// True while everything asked for so far was there: what depends on results must not ask further before.
  bool complete() const { return missing_.empty(); }
  const std::map<std::string, Cell>& missing() const { return missing_; }
  void start_pass() { missing_.clear(); }

  /// Makes what is missing: shared cells on `workers` processes of one thread, then exclusive ones on `threads`
  /// threads. Prints progress with the time left. IoError if cells failed, naming them; what was made is kept.
  void run_missing(int workers, int threads);

  /// Seconds that the stored cells took, of those asked for in this pass.
  double seconds() const { return seconds_; }
  /// How many of them each commit of the program made.
  const std::map<std::string, int>& commits() const { return commits_; }

 private:
  nlohmann::json ask(Cell cell);
  std::string path_of(const nlohmann::json& key) const;
  LabOptions options_;
  std::map<std::string, Cell> missing_;  // by file, so that several claims may ask for one cell
  std::map<std::string, nlohmann::json> read_;
  std::map<std::string, std::any> computed_;
  double seconds_ = 0;
  std::map<std::string, int> commits_;
};

/// A number of a measured object; NaN while it is missing.
double number(const nlohmann::json& object, const std::string& name);

}  // namespace comparison
