// Rematerialisation: a result that is cheap to make again (gelu, layer_norm) is not kept for backward. Who
// saves it keeps its Recipe instead, and gradient functions find its bytes made anew by the same kernel: the same bits.
// An op says so by one more argument of with_grad.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

/// Whether operations on this thread make recipes; they do at first.
bool rematerialization();
/// `const Rematerialization off(false);`: in this scope everything that backward reads is kept.
class Rematerialization {
 public:
  explicit Rematerialization(bool on);
  ~Rematerialization();
  Rematerialization(const Rematerialization&) = delete;
  Rematerialization& operator=(const Rematerialization&) = delete;

 private:
  bool before_;
};

/// A saved tensor's share in a recipe. When the last is given up, what was made again is freed.
class RecipeShare {
 public:
  RecipeShare() = default;
  RecipeShare(const RecipeShare&) = delete;
  RecipeShare& operator=(const RecipeShare&) = delete;
  ~RecipeShare() { reset(); }
  void take(std::shared_ptr<Recipe> recipe);
  void reset() noexcept;
  Recipe* get() const { return recipe_.get(); }

 private:
  std::shared_ptr<Recipe> recipe_;
};

struct SavedTensor {
  static constexpr int constant = -1;
  TensorImpl alias;       // same storage, no node; no storage where a recipe stands for it
  RecipeShare recipe;     // how its bytes are made again
  uint32_t version = 0;   // the storage's, when it was saved
  int input = constant;   // index of the input that it was, or
  int output = constant;  // index of the output that it was; neither: an intermediate
  bool empty() const { return !alias.storage && !recipe.get(); }
  void reset() noexcept {
    alias.storage = nullptr;
    recipe.reset();
  }
  /// The tensor outside the graph. AutogradError, as `op`'s, if it was changed in place since.
  std::shared_ptr<TensorImpl> restored(const char* op) const;
};

/// How the bytes of one storage are made again. The storage knows it (weakly), so that every view of the result finds
/// it; the node that made the result and each SavedTensor that stands for it own it. What the op saved is owned here,
/// and for real: a recipe never needs another one.
struct Recipe : std::enable_shared_from_this<Recipe> {
  explicit Recipe(const char* name) : op(name) {}
  virtual ~Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  /// The result once more, from what was saved.
  virtual Output remake(std::span<const Tensor> saved) const = 0;
  virtual std::span<SavedTensor> saved() = 0;
  /// The result's memory while anybody still has it, else made again, once for all shares. Threads may ask together.
  std::shared_ptr<Storage> storage();

  const char* op;
  std::weak_ptr<Storage> original;
  size_t bytes = 0;                  // the original's
  std::atomic<bool> changed{false};  // in place, since it was made
  std::atomic<int> shares{0};
  std::mutex mutex;
  std::shared_ptr<Storage> again;  // until the last share is given up
};

namespace detail {

template <class R, size_t M>
struct FixedRecipe final : Recipe {
  static_assert(std::is_trivially_copyable_v<R>, "remaking may not capture tensors: list them in `saved`");
  FixedRecipe(const char* name, const R& r) : Recipe(name), run(r) {}
  Output remake(std::span<const Tensor> s) const final { return run(s); }
  std::span<SavedTensor> saved() final { return list; }
  R run;
  std::array<SavedTensor, M> list;
};

}  // namespace detail
}  // namespace tutti
#pragma GCC visibility pop
