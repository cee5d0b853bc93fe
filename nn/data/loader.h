// Loader: a dataset in batches, shuffled, transformed, and prepared in the background.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tutti/nn/data/dataset.h"
#include "tutti/nn/data/transforms.h"

#pragma GCC visibility push(default)
namespace tutti::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  ///< leave out a last batch that is not full
  uint64_t seed = 0;       ///< of the shuffle and the transform; each pass over the loader is another epoch of it
  Transform transform{};   ///< of the inputs; may be empty
  int64_t prefetch = 2;    ///< batches prepared ahead by one background thread; 0: none
  /// Where batches are wanted; none: where the dataset and the transform leave them. They are copied to a GPU from
  /// pinned memory while it computes, as far ahead as `prefetch` says.
  std::optional<Device> device{};
};

/// `for (auto& [images, labels] : loader)` is one epoch. The order and what the transform draws depend on (seed, epoch)
/// alone. An exception of the dataset or the transform reaches the loop, in its place in the order. Leaving the loop
/// early is fine. One epoch at a time: an iterator of an earlier one throws ValueError.
class Loader {
 public:
  /// The dataset must outlive it. ValueError unless batch_size >= 1 and prefetch >= 0.
  explicit Loader(const Dataset& dataset, LoaderOptions options = {});
  Loader(const Dataset&&, LoaderOptions = {}) = delete;  ///< a temporary would be gone when the loop begins
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  class Iterator;
  Iterator begin() &;  ///< starts the next epoch
  Iterator end() &;
  int64_t size() const;           ///< batches in an epoch
  int64_t epoch() const;          ///< of the next begin(): 0 at first
  void set_epoch(int64_t epoch);  ///< to repeat one, or to continue a run
  /// Where another run goes on: in the loop the epoch under way and how many of its batches were handed out, else the
  /// next epoch; with what the order depends on.
  std::map<std::string, Tensor> state_dict() const;
  /// The next begin() goes on from there: with the rest of an epoch, perhaps none, the same batches as ever.
  /// ValueError, and nothing has changed, if something is missing or unexpected, or if it is amid an epoch and the data
  /// set's size, the seed or an option that orders the batches is another now.
  void load_state_dict(const std::map<std::string, Tensor>& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class Loader::Iterator {
 public:
  Batch& operator*();
  Iterator& operator++();
  bool operator!=(const Iterator& other) const;

 private:
  friend class Loader;
  Impl* impl_ = nullptr;             // null: the end
  std::shared_ptr<const int> pass_;  // of its begin(); alone in holding it
  Batch batch_;
};

}  // namespace tutti::data
#pragma GCC visibility pop
