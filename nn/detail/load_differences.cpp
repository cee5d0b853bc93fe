#include "tutti/nn/detail/load_differences.h"

#include <map>
#include <set>

#include "tutti/core/detail/near_name.h"
#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"

namespace tutti::nn::detail {
namespace {

using tutti::detail::near_name;
using tutti::detail::printable;

constexpr size_t shown = 4;  // of each kind

/// A line for each of the first few, and how many more there are.
template <class Item, class Line>
void list(std::string& text, const char* kind, const std::vector<Item>& items, Line&& line) {
  const size_t n = items.size() > shown + 1 ? shown : items.size();  // "1 more" is as long as its name
  for (size_t i = 0; i < n; ++i) text += message("\n  ", kind, ": ", line(items[i]));
  if (n < items.size()) text += message("\n  ", kind, ": ", items.size() - n, " more");
}

/// What `longer` names have in front of `shorter` ones, where that explains most of the latter.
std::string common_prefix(const std::vector<std::string>& longer, const std::vector<std::string>& shorter) {
  const std::set<std::string> ends(shorter.begin(), shorter.end());
  std::map<std::string, size_t> count;
  for (const std::string& name : longer)
    for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
      if (ends.contains(name.substr(dot + 1))) ++count[name.substr(0, dot + 1)];
  std::string best;
  size_t most = 0;
  for (const auto& [prefix, n] : count)
    if (n > most) {
      most = n;
      best = prefix;
    }
  return 2 * most > shorter.size() ? best : std::string();
}

bool transposed(const Dims& a, const Dims& b) { return a.n == 2 && b.n == 2 && a[0] == b[1] && a[1] == b[0]; }

}  // namespace

std::string describe(const Differences& d) {
  std::string text;
  const std::string extra = common_prefix(d.unexpected, d.missing), lacks = common_prefix(d.missing, d.unexpected);
  if (!extra.empty())
    text += message("\n  the state's names begin with \"", printable(extra), "\": .rename = {{\"", printable(extra),
                    "*\", \"*\"}} takes that off");
  else if (!lacks.empty())
    text += message("\n  the module's names begin with \"", printable(lacks), "\": .rename = {{\"*\", \"",
                    printable(lacks), "*\"}} puts that in front of the state's");
  list(text, "missing", d.missing, [&](const std::string& name) {
    const std::string near = extra.empty() && lacks.empty() ? near_name(name, d.unexpected) : "";
    return printable(name) + (near.empty() ? "" : message(" (the state has ", printable(near), ")"));
  });
  list(text, "unexpected", d.unexpected, [](const std::string& name) { return printable(name); });
  list(text, "shape", d.shapes, [](const Differences::OtherShape& s) {
    return message(printable(s.name), " is ", s.module, ", the state has ", s.state,
                   transposed(s.module, s.state) ? ", its transpose" : "");
  });
  list(text, "unreadable", d.unreadable, [](const std::string& line) { return line; });
  return text;
}

}  // namespace tutti::nn::detail
