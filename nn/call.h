// A module's call: what Module::scope keeps while forward runs. It places errors and graph nodes, and looks over the
// first recorded call for parameters that children() forgot.
#pragma once
#include <memory>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/autograd/anomaly.h"
#include "tutti/core/profiler_range.h"

#pragma GCC visibility push(default)
namespace tutti {
struct AttentionOptions;
}

namespace tutti::nn {

class Module;

class Call final : public tutti::detail::Caller {
 public:
  explicit Call(const Module& module) : module_(module), range_([this] { return title(); }) {}
  std::string path() const override;
  const Module& module() const { return module_; }

 private:
  std::string title() const;  ///< the path, or the type of the outermost module
  const Module& module_;
  const ProfilerRange range_;
};

/// Looks a call over for leaves that the module uses and does not name. What is given from outside is nobody's
/// forgotten member, so every argument must be of a type whose tensors can be told.
class Watch {
 public:
  template <class Result, class... Arguments>
  static constexpr bool possible() {
    // No arguments: a body that captured what it was given.
    if constexpr (sizeof...(Arguments) == 0 || std::is_void_v<Result> || std::is_rvalue_reference_v<Result>)
      return false;
    else
      return (known<Arguments>() && ...) && known<std::remove_cvref_t<Result>>();
  }
  static bool recording();  ///< grad_mode(), which lies behind a heavier header
  explicit Watch(const Module& module);
  /// Before.
  template <class T>
  void given(const T& argument) {
    each_tensor(argument, [this](const Tensor& x) { give(x); });
  }
  /// After: warns, once for each type of module, if the results' graph, as far as this call made it, ends in a leaf
  /// that was not given and that no children() below this module names. False if nothing was recorded.
  template <class T>
  bool look_over(const T& result) {
    each_tensor(result, [this](const Tensor& x) { result_of(x); });
    return finish();
  }

 private:
  template <class T>
  static constexpr bool tensor = std::is_convertible_v<const T&, const Tensor&>;  // or a Parameter, a Buffer
  /// Whether each_tensor finds all tensors of a T: a range, a pair, a tuple or an optional of known types, or one that
  /// has none since it is copied bit by bit.
  template <class T>
  static constexpr bool known() {
    if constexpr (tensor<T> || std::is_same_v<T, AttentionOptions> || std::is_arithmetic_v<T> || std::is_enum_v<T>)
      return true;
    else if constexpr (std::ranges::range<const T>)
      return !std::is_same_v<T, std::ranges::range_value_t<const T>> && known<std::ranges::range_value_t<const T>>();
    else if constexpr (requires(const T& x) { *x, x.has_value(); })
      return known<typename T::value_type>();
    else if constexpr (requires { std::tuple_size<T>::value; })
      return all_known<T>(std::make_index_sequence<std::tuple_size_v<T>>());
    else
      return std::is_aggregate_v<T> && std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T>;
  }
  template <class T, size_t... i>
  static constexpr bool all_known(std::index_sequence<i...>) {
    return (known<std::remove_cvref_t<std::tuple_element_t<i, T>>>() && ...);
  }
  template <class T, class F>
  static void each_tensor(const T& x, const F& f) {
    if constexpr (tensor<T>)
      f(x);
    else if constexpr (std::is_same_v<T, AttentionOptions>)
      f(x.mask);
    else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      return;
    else if constexpr (std::ranges::range<const T>)
      for (const auto& item : x) each_tensor(item, f);
    else if constexpr (requires { *x, x.has_value(); }) {
      if (x) each_tensor(*x, f);
    } else if constexpr (requires { std::tuple_size<T>::value; })
      std::apply([&](const auto&... items) { (each_tensor(items, f), ...); }, x);
  }
  void give(const Tensor& x);
  void result_of(const Tensor& x);
  bool finish();
  const Module& module_;
  uint64_t from_;  // number of the first node that is this call's
  std::vector<const Node*> given_;
  std::vector<std::shared_ptr<Node>> results_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
