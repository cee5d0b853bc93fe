#include "tutti/nn/load_state.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "tutti/core/error.h"

namespace tutti::nn {
namespace {

/// What lies between the *: one piece more than there are.
std::vector<std::string_view> pieces(std::string_view pattern) {
  std::vector<std::string_view> list;
  for (size_t star; (star = pattern.find('*')) != pattern.npos; pattern.remove_prefix(star + 1))
    list.push_back(pattern.substr(0, star));
  list.push_back(pattern);
  return list;
}

/// What each * stands for, if the pattern is `name`. Each piece is taken where it first occurs, so nothing is tried
/// twice.
std::optional<std::vector<std::string_view>> match(std::string_view pattern, std::string_view name) {
  const auto parts = pieces(pattern);
  if (!name.starts_with(parts.front())) return std::nullopt;
  name.remove_prefix(parts.front().size());
  std::vector<std::string_view> stars;
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    if (last && !name.ends_with(parts[i])) return std::nullopt;
    const size_t at = last ? name.size() - parts[i].size() : name.find(parts[i]);
    if (at == name.npos) return std::nullopt;
    stars.push_back(name.substr(0, at));
    name.remove_prefix(at + parts[i].size());
  }
  if (!name.empty()) return std::nullopt;
  return stars;
}

}  // namespace

bool name_matches(const std::string& pattern, const std::string& name) { return match(pattern, name).has_value(); }

std::string renamed(const std::vector<Rename>& rules, std::string name) {
  for (const auto& [from, to] : rules) {
    if (std::count(to.begin(), to.end(), '*') > std::count(from.begin(), from.end(), '*'))
      throw ValueError(message("rename: \"", to, "\" has more * than \"", from, "\", which says what they stand for"));
    const auto stars = match(from, name);
    if (!stars) continue;
    const auto parts = pieces(to);
    std::string made(parts[0]);
    for (size_t i = 1; i < parts.size(); ++i) {
      made += (*stars)[i - 1];
      made += parts[i];
    }
    name = std::move(made);
  }
  return name;
}

}  // namespace tutti::nn
