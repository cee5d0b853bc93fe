#include "tutti/nn/call.h"

#include <cxxabi.h>

#include <cstdlib>
#include <set>
#include <typeinfo>

#include "tutti/autograd/node.h"
#include "tutti/core/warning.h"
#include "tutti/nn/module.h"

namespace tutti::nn {
namespace {

/// "tutti::nn::Linear", as the compiler spells it.
std::string type_name(const Module& module) {
  int status = 0;
  char* text = abi::__cxa_demangle(typeid(module).name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : typeid(module).name();
  std::free(text);
  return name;
}

}  // namespace

// Modules are the only callers that there are.
std::string Call::path() const {
  if (!outer()) return {};
  const auto& parent = static_cast<const Call&>(*outer());
  const std::string before = parent.path(), name = parent.module_.name_of(&module_);
  return before.empty() || name.empty() ? before + name : before + "." + name;
}

std::string Call::title() const {
  std::string where = path();
  return where.empty() ? type_name(module_) : where;
}

bool Watch::recording() { return grad_mode(); }

Watch::Watch(const Module& module) : module_(module), from_(tutti::detail::next_sequence()) {}

void Watch::give(const Tensor& x) {
  if (x.defined() && x.requires_grad()) given_.push_back(x.impl()->node.get());
}

void Watch::result_of(const Tensor& x) {
  if (x.defined() && x.requires_grad()) results_.push_back(x.impl()->node);
}

bool Watch::finish() {
  if (results_.empty()) return false;  // another time, when something is trained
  std::set<const Node*> seen(given_.begin(), given_.end());
  for (const auto& [name, p] : module_.named_parameters()) seen.insert(p.impl()->node.get());
  std::vector<std::shared_ptr<Node>> stack;
  const auto visit = [&](std::shared_ptr<Node> node, const char* op) {
    if (!node || !seen.insert(node.get()).second) return;
    if (node->is_leaf()) {
      const std::string type = type_name(module_);
      const Dims& shape = static_cast<const Leaf&>(*node).shape;
      warn_once("children " + type,
                message(type, ": forward uses a tensor of shape ", shape, " that requires a gradient (in ", op,
                        ") and that children() does not name: unless that is meant, parameters(), state_dict() and "
                        "to() do not reach it"));
    } else if (node->sequence >= from_) {
      stack.push_back(std::move(node));
    }
  };
  for (auto& node : results_) visit(std::move(node), "the result");
  while (!stack.empty()) {
    const std::shared_ptr<Node> node = std::move(stack.back());
    stack.pop_back();
    for (int i = 0; i < node->edge_count; ++i) visit(node->edges[i].target(), node->op);
  }
  return true;
}

}  // namespace tutti::nn
