#include "tutti/autograd/recipe.h"

#include <vector>

#include "tutti/autograd/detail/mode.h"
#include "tutti/core/error.h"

namespace tutti {

bool rematerialization() { return detail::mode.rematerialization; }
Rematerialization::Rematerialization(bool on) : before_(detail::mode.rematerialization) {
  detail::mode.rematerialization = on;
}
Rematerialization::~Rematerialization() { detail::mode.rematerialization = before_; }

void RecipeShare::take(std::shared_ptr<Recipe> recipe) {
  reset();
  recipe_ = std::move(recipe);
  recipe_->shares.fetch_add(1, std::memory_order_relaxed);
}

void RecipeShare::reset() noexcept {
  if (!recipe_) return;
  std::shared_ptr<Storage> freed;  // after the lock
  {
    const std::lock_guard lock(recipe_->mutex);
    if (recipe_->shares.fetch_sub(1, std::memory_order_relaxed) == 1) freed = std::move(recipe_->again);
  }
  recipe_ = nullptr;
}

std::shared_ptr<TensorImpl> SavedTensor::restored(const char* op) const {
  const bool changed = recipe.get() ? recipe.get()->changed.load(std::memory_order_relaxed)
                                    : alias.storage->version.load(std::memory_order_relaxed) != version;
  if (changed)
    throw AutogradError(message(op, ": a tensor saved for its gradient (shape ", alias.shape,
                                ") was changed in place before backward"));
  auto impl = std::make_shared<TensorImpl>(alias);
  if (recipe.get()) impl->storage = recipe.get()->storage();
  return impl;
}

std::shared_ptr<Storage> Recipe::storage() {
  if (auto alive = original.lock()) return alive;
  const std::lock_guard lock(mutex);
  if (again) return again;
  const no_grad off;
  std::vector<Tensor> inputs;
  for (const SavedTensor& s : saved()) inputs.push_back(s.empty() ? Tensor() : Access::tensor(s.restored(op)));
  const Output made = remake(inputs);
  if (made.impl()->storage->bytes != bytes)
    throw AutogradError(message(op, ": remade for backward, the result has ", made.impl()->storage->bytes,
                                " bytes and not the ", bytes, " that it had"));
  made.impl()->storage->recipe = weak_from_this();
  again = made.impl()->storage;
  return again;
}

}  // namespace tutti
