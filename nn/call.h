// A module's call: what Module::scope keeps while forward runs. It places errors and graph nodes, and looks over the
// first recorded call for parameters that children() forgot.
#pragma once
#include <memory>
#include <ranges>
#include <type_traits>
#include <vector>

#include "tutti/autograd/anomaly.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

class Module;

class Call final : public tutti::detail::Caller {
 public:
  explicit Call(const Module& module);
  std::string path() const override;
  const Module& module() const { return module_; }

  /// Whether this call is to be looked over: the outermost, recorded, and the first such of its module.
  bool first() const { return watch_ != nullptr; }
  /// Before: what is given from outside is nobody's forgotten member.
  template <class T>
  void given(const T& argument) {
    if constexpr (std::is_convertible_v<const T&, const Tensor&>)
      give(argument);
    else if constexpr (requires { give(argument.mask); })
      give(argument.mask);
    else if constexpr (requires { requires std::is_convertible_v<std::ranges::range_value_t<const T>, Tensor>; })
      for (const auto& x : argument) give(x);
  }
  /// After: warns, once for each type of module, if the result's graph, as far as this call made it, ends in a leaf
  /// that was not given and that no children() below this module names.
  void look_over(const Tensor& result) const;

 private:
  struct Watch {
    uint64_t from;  // number of the first node that is this call's
    std::vector<const Node*> given{};
  };
  void give(const Tensor& x);
  const Module& module_;
  std::unique_ptr<Watch> watch_;  // null, in all calls but the first
};

}  // namespace tutti::nn
#pragma GCC visibility pop
