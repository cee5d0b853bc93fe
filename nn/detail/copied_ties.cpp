#include "tutti/nn/detail/copied_ties.h"

#include <atomic>
#include <map>
#include <set>

#include "tutti/nn/module.h"

namespace tutti::nn::detail {
namespace {

std::atomic<bool> any_ties = false;

/// A copy under way: what is still to be copied, by address (never looked at again: it may be gone if the copy failed).
struct CopyUnderWay {
  std::set<const Module*> modules;
  std::set<const Parameter*> tied;
  std::map<const TensorImpl*, std::weak_ptr<TensorImpl>> copies;
};
thread_local CopyUnderWay under_way;

/// Everything below a module.
struct LookOver final : Visitor {
  std::set<const Module*> modules;
  std::map<const TensorImpl*, std::set<const Parameter*>> parameters;
  using Visitor::operator();
  void operator()(const std::string&, Parameter& p) override {
    if (p.defined()) parameters[p.tensor().impl()].insert(&p);
  }
  void operator()(const std::string&, Buffer&) override {}
  void operator()(const std::string&, Module& m) override {
    modules.insert(&m);
    m.children(*this);
  }
};

}  // namespace

void note_tie() { any_ties.store(true, std::memory_order_relaxed); }

void begin_copy(const Module& from) {
  if (!any_ties.load(std::memory_order_relaxed)) return;
  if (under_way.modules.erase(&from) > 0) return;  // a part of what is being copied
  LookOver below;
  const_cast<Module&>(from).children(below);  // which visitors may change; this one does not
  under_way = {};
  for (const auto& [tensor, owners] : below.parameters)
    if (owners.size() > 1) under_way.tied.insert(owners.begin(), owners.end());
  if (!under_way.tied.empty()) under_way.modules = std::move(below.modules);
}

Tensor copy_of(const Parameter& from, Tensor (*make)(const Tensor&)) {
  const Tensor& original = from.tensor();
  if (under_way.tied.erase(&from) == 0) return make(original);
  auto& copy = under_way.copies[original.impl()];
  if (auto made = copy.lock()) return Access::tensor(std::move(made));
  const Tensor made = make(original);
  copy = Access::handle(made);
  return made;
}

void note_copy(const Parameter& from, const Tensor& to) {
  if (under_way.tied.erase(&from) > 0) under_way.copies[from.tensor().impl()] = Access::handle(to);
}

}  // namespace tutti::nn::detail
