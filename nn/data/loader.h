// Loader: a dataset in batches, shuffled, transformed, and prepared in the background.
#pragma once
#include <memory>

#include "tutti/nn/data/dataset.h"
#include "tutti/nn/data/transforms.h"

#pragma GCC visibility push(default)
namespace tutti::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;
  uint64_t seed = 0;     ///< of the shuffle and the transform; each pass over the loader is another epoch of it
  Transform transform{};  ///< of the inputs; may be empty
  int64_t prefetch = 2;  ///< batches prepared ahead by one background thread; 0: none
};

/// `for (auto& [images, labels] : loader)` is one epoch. The order depends on (seed, epoch) alone.
class Loader {
 public:
  explicit Loader(const Dataset& dataset, LoaderOptions options = {});  ///< the dataset must outlive it
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  class Iterator;
  Iterator begin();  ///< starts the next epoch
  Iterator end();
  int64_t size() const;  ///< batches in an epoch
  int64_t epoch() const;
  void set_epoch(int64_t epoch);  ///< the next begin() is this one

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
  Impl* impl_ = nullptr;  // null: the end
  Batch batch_;
};

}  // namespace tutti::data
#pragma GCC visibility pop
