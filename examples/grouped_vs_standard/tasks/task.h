// Tasks: a data set as every experiment takes it, made by name from a small description.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tutti/core/tensor.h"

namespace comparison {

/// x: the first axis is samples, in the form that the task's `tokens_of` takes; y: int64 [N].
struct Split {
  tutti::Tensor x, y;
};

struct Sample {
  Split train, test;
};

/// Everything that decides a task's numbers, apart from the seed.
struct TaskSpec {
  std::string name;       ///< "fashion", "planted", ...: README.md here has the table
  std::string variant{};  ///< what the task has several of ("in", "across", "augmented"); empty: its default
  int64_t train = 0;      ///< training samples; 0 here and below: the task's default
  int64_t test = 0;       ///< test samples, the first ones; 0: all
  int64_t patch = 0;      ///< side of an image's patch in pixels
  int64_t length = 0;     ///< tokens, where a task has a choice
  bool shuffled = false;  ///< pixels or time steps in another order, one permutation for all samples and seeds
  /// Test on samples set apart from the training part instead of the test set: for tuning only.
  bool validation = false;

  bool operator==(const TaskSpec&) const = default;
};

/// The spec as one line that differs whenever the spec does: "planted/in train 2500 validation".
std::string key(const TaskSpec& spec);

struct Task {
  TaskSpec spec;       ///< with the defaults filled in
  int64_t tokens = 0;  ///< T
  int64_t inputs = 0;  ///< numbers in a token; 0 where tokens are symbols
  int64_t classes = 0;
  int64_t symbols = 0;  ///< > 0: tokens are int64 in [0, symbols)
  /// Inputs of the first modality, where a token holds two side by side; 0: it does not.
  int64_t first_part = 0;
  /// This seed's training samples (or its split) and the test samples; the same for every arm, thread count and
  /// machine.
  std::function<Sample(uint64_t seed)> sample{};
  /// A batch of x to [B, T, inputs] float32, or int64 [B, T]. training: with the task's augmentation, if it has one;
  /// what that draws depends on the batch alone, so that arms which see the same batches see the same augmentation.
  std::function<tutti::Tensor(const tutti::Tensor& x, bool training)> tokens_of{};
  std::string source{};  ///< one line for the report: data, licence, size
  /// Per test sample, where a task has two sorts of them: 1 if it asks for a relation between objects.
  std::vector<uint8_t> relational{};
};

/// The task of this spec; made once, then shared. Safe to call from several threads. ValueError naming the tasks that
/// exist, or what in the spec does not fit its task; IoError naming the Debian package whose file is missing.
std::shared_ptr<const Task> make_task(const TaskSpec& spec);

}  // namespace comparison
