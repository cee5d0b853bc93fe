// What load_state_dict takes and returns: names of elsewhere, and which may be missing or left over.
#pragma once
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace tutti::nn {

/// A rule for names: `from` is a whole name in which each * stands for any characters (as few as fit, also none); the
/// n-th * of `to` is what the n-th of `from` stood for. {"encoder.layer.*.output.*", "blocks.*.ffn.down.*"}; and
/// {"model.*", "*"} takes a prefix off.
struct Rename {
  std::string from, to;
};

/// How load_state_dict takes a state.
struct LoadOptions {
  bool strict = true;  ///< false: everything may be missing or unexpected (shapes must always agree)
  /// From the state's names to the module's. All rules in this order, each on what the one before it made.
  std::vector<Rename> rename{};
  /// Names, of the module and of the renamed state, with * as above: what may be missing or left over all the same.
  std::vector<std::string> allow_missing{}, allow_unexpected{};
};

/// What was not loaded, in order.
struct LoadReport {
  std::vector<std::string> missing;     ///< names of the module: these tensors keep their values
  std::vector<std::string> unexpected;  ///< names of the state, as they are there
};

/// Whether a pattern with * (as of Rename) is `name`.
bool name_matches(const std::string& pattern, const std::string& name);
/// The name that the rules make of `name`, itself if none fits. ValueError if a `to` has more * than its `from`.
std::string renamed(const std::vector<Rename>& rules, std::string name);

}  // namespace tutti::nn
#pragma GCC visibility pop
