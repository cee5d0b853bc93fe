#include "tutti/nn/detail/load.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "tutti/autograd/node.h"
#include "tutti/core/detail/host_copy.h"
#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"
#include "tutti/nn/detail/load_differences.h"
#include "tutti/ops/copy.h"

namespace tutti::nn::detail {
namespace {

using tutti::detail::printable;

/// One offered tensor under the name that the module knows.
struct Found {
  std::string original;
  const Offer* offer;
};

std::map<std::string, Found> rename(const Offers& offers, const std::vector<Rename>& rules) {
  std::map<std::string, Found> found;
  for (const auto& [original, offer] : offers) {
    const std::string name = renamed(rules, original);
    const auto [it, first] = found.emplace(name, Found{original, &offer});
    if (!first)
      throw ValueError(message("load_state_dict: rename makes both ", printable(it->second.original), " and ",
                               printable(original), " into ", printable(name)));
  }
  return found;
}

bool allowed(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return name_matches(pattern, name); });
}

Tensor fitted(const Offer& offer, const Tensor& to) {
  return tutti::to(tutti::to(offer.fetch(), to.device()), to.dtype());
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const HostCopy x(a), y(b);
  return x.bytes() == y.bytes() && std::memcmp(x.data(), y.data(), x.bytes()) == 0;
}

/// A tensor of the module and where its value is. Of tied names, all that the state has.
struct Goal {
  Tensor to;
  std::vector<std::pair<std::string, const Offer*>> from;
};

Tensor value_of(const Goal& goal) {
  const Tensor value = fitted(*goal.from[0].second, goal.to);
  for (size_t i = 1; i < goal.from.size(); ++i)
    if (!same_bits(value, fitted(*goal.from[i].second, goal.to)))
      throw ValueError(message("load_state_dict: ", goal.from[0].first, " and ", goal.from[i].first,
                               " are one tensor in the module (tied), but differ in the state"));
  return value;
}

}  // namespace

LoadReport load(const std::map<std::string, Tensor>& mine, const Offers& offers, const LoadOptions& options,
                bool in_memory) {
  const auto found = rename(offers, options.rename);
  LoadReport report;
  Differences wrong;

  std::vector<Goal> goals;
  std::map<const TensorImpl*, size_t> goal_of;
  for (const auto& [name, t] : mine) {
    const auto it = found.find(name);
    if (it == found.end()) continue;
    const Offer& offer = *it->second.offer;
    if (!(offer.shape == t.shape())) {
      wrong.shapes.push_back({name, t.shape(), offer.shape});
    } else if (!offer.unreadable.empty()) {
      wrong.unreadable.push_back(message(printable(it->second.original), ": ", offer.unreadable));
    }
    const auto [place, first] = goal_of.emplace(t.impl(), goals.size());
    if (first) goals.push_back({t, {}});
    goals[place->second].from.emplace_back(name, &offer);
  }
  for (const auto& [name, t] : mine)
    if (!found.contains(name) && !goal_of.contains(t.impl())) {
      report.missing.push_back(name);
      if (options.strict && !allowed(options.allow_missing, name)) wrong.missing.push_back(name);
    }
  for (const auto& [name, f] : found)
    if (!mine.contains(name)) {
      report.unexpected.push_back(f.original);
      if (options.strict && !allowed(options.allow_unexpected, name)) wrong.unexpected.push_back(name);
    }
  if (wrong.any()) throw ValueError("load_state_dict: the state does not fit the module" + describe(wrong));
  std::sort(report.unexpected.begin(), report.unexpected.end());

  const no_grad off;
  if (!in_memory) {
    for (const Goal& goal : goals)
      if (goal.from.size() > 1) value_of(goal);  // an error before anything is written
    for (const Goal& goal : goals) copy_(goal.to, value_of({goal.to, {goal.from[0]}}));
    return report;
  }
  // First everything that can fail or that reads what is about to be overwritten.
  std::set<const Storage*> written;
  for (const Goal& goal : goals) written.insert(goal.to.impl()->storage.get());
  std::vector<Tensor> values;
  for (const Goal& goal : goals) {
    const Tensor value = value_of(goal);
    values.push_back(written.contains(value.impl()->storage.get()) ? clone(value) : value);
  }
  for (size_t i = 0; i < goals.size(); ++i) copy_(goals[i].to, values[i]);
  return report;
}

}  // namespace tutti::nn::detail
