// Module: a plain class with plain members. children() names them; everything else walks it.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/nn/call.h"
#include "tutti/nn/load_state.h"
#include "tutti/nn/parameter.h"

#pragma GCC visibility push(default)
namespace tutti {
class SafetensorsFile;  // core/safetensors_file.h
}

namespace tutti::nn {

class Module;

/// What children() calls, once per member.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void operator()(const std::string& name, Parameter& p) = 0;
  virtual void operator()(const std::string& name, Buffer& b) = 0;
  virtual void operator()(const std::string& name, Module& m) = 0;
  /// "name.0", "name.1", ...
  template <class M>
  void operator()(const std::string& name, std::vector<M>& list) {
    for (size_t i = 0; i < list.size(); ++i) (*this)(name + "." + std::to_string(i), list[i]);
  }
  template <class M, size_t N>
  void operator()(const std::string& name, std::array<M, N>& list) {
    for (size_t i = 0; i < N; ++i) (*this)(name + "." + std::to_string(i), list[i]);
  }
  template <class M>
  void operator()(const std::string& name, std::optional<M>& m) {
    if (m) (*this)(name, *m);
  }
  template <class M>
  void operator()(const std::string& name, std::unique_ptr<M>& m) {
    if (m) (*this)(name, *m);
  }
  /// The alternative that is held; std::monostate means none.
  template <class... M>
  void operator()(const std::string& name, std::variant<M...>& choice) {
    std::visit(
        [&]<class T>(T& held) {
          if constexpr (!std::is_same_v<T, std::monostate>) (*this)(name, held);
        },
        choice);
  }
};

using StateDict = std::map<std::string, Tensor>;

/// A module that was moved from is not whole: calling it, and everything that walks its parameters, is a ValueError
/// until another is assigned to it.
class Module {
 public:
  virtual ~Module() = default;
  /// visit("name", member) for every parameter, buffer and submodule: the one thing that a module must say about
  /// itself.
  virtual void children(Visitor&) {}

  std::vector<std::pair<std::string, Tensor>> named_parameters() const;  ///< "block.attention.qkv.weight", ...
  std::vector<Tensor> parameters() const;                                ///< tied ones once
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;
  int64_t parameter_count() const;  ///< numbers, not tensors

  /// Parameters and buffers by name; they share storage with the module (save or clone them to keep values).
  /// ValueError if two have the same name.
  StateDict state_dict() const;
  /// Copies values in (converted to the module's dtypes), in place, so that optimizers keep hold of the tensors. Of
  /// tied parameters one name is enough. Returns what was missing and unexpected, where the options allow any.
  /// ValueError, and nothing has changed, if names are missing or unexpected, shapes differ, two names become one, or
  /// tied parameters differ in the state; it says which, and what was probably meant (a prefix, a transposed weight).
  LoadReport load_state_dict(const StateDict& state, const LoadOptions& options = {});
  /// The same straight from a file, or a model in several: its tensors are read one at a time, so that loading takes
  /// the largest of them beside the module and no second copy. (A file that cannot be read half-way is an IoError that
  /// leaves some tensors loaded.)
  LoadReport load_state_dict(const SafetensorsFile& file, const LoadOptions& options = {});

  /// Training or evaluation mode, here and in all submodules.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return flags_.training; }
  bool moved_from() const { return flags_.moved_from; }
  void zero_grad();
  /// Moves all parameters and buffers, or converts all floating ones, with the gradients that they hold. In place:
  /// tensors keep their identity, so optimizers keep hold of them. DTypeError unless dtype is floating.
  void to(Device device);
  void to(DType dtype);

  /// Runs body, a call with these arguments; an Error that leaves it learns this module's name. The first call that
  /// records is looked over: a parameter that forward uses and children() does not name is warned of. (Not if an
  /// argument, or the result, is of a type that may hold tensors unseen, nor without arguments.)
  template <class F, class... A>
  decltype(auto) scope(F&& body, const A&... arguments) const {
    Call call(*this);
    try {
      check_usable();
      if constexpr (Watch::possible<std::invoke_result_t<F&>, A...>()) {
        if (!flags_.looked_over.load(std::memory_order_relaxed) && !call.outer() && Watch::recording()) [[unlikely]] {
          Watch watch(*this);
          (watch.given(arguments), ...);
          decltype(auto) result = body();
          if (watch.look_over(result)) flags_.looked_over.store(true, std::memory_order_relaxed);
          return result;
        }
      }
      return body();
    } catch (Error& e) {
      locate(e);
      throw;
    }
  }

 protected:
  Module() = default;
  Module(const Module& other);  ///< what is tied below other will be tied in the copy
  Module(Module&&) = default;
  Module& operator=(const Module& other);
  Module& operator=(Module&&) = default;
  std::string name_of(const void* other) const;  ///< below this module: "blocks.1.attention", or empty

 private:
  friend class Call;
  /// What a module knows about itself. A copy has the same, and is looked over on its own; assignment (`model = best`
  /// after every epoch) is no reason to look a module over again.
  struct Flags {
    bool training = true, moved_from = false;
    std::atomic<bool> looked_over = false;  // const modules may be called from several threads
    Flags() = default;
    Flags(const Flags& other) noexcept : training(other.training), moved_from(other.moved_from) {}
    Flags(Flags&& other) noexcept : Flags(std::as_const(other)) { other.moved_from = true; }
    Flags& operator=(const Flags& other) noexcept {
      training = other.training;
      moved_from = other.moved_from;
      return *this;
    }
    Flags& operator=(Flags&& other) noexcept {
      const Flags taken(std::move(other));  // first: the two may be one
      return *this = taken;
    }
  };
  void locate(Error& e) const;
  void check_usable() const {
    if (flags_.moved_from) [[unlikely]]
      refuse_moved_from();
  }
  [[noreturn]] static void refuse_moved_from();
  mutable Flags flags_;
};

/// Gives a module operator() over its own forward, whatever that takes: `struct Linear : Callable<Linear>`.
template <class Self>
class Callable : public Module {
 public:
  template <class... A>
  decltype(auto) operator()(A&&... arguments) {
    return scope([&]() -> decltype(auto) { return static_cast<Self&>(*this).forward(std::forward<A>(arguments)...); },
                 arguments...);
  }
  /// On a const module, where forward is const.
  template <class... A, class S = Self>
  auto operator()(A&&... arguments) const -> decltype(std::declval<const S&>().forward(std::forward<A>(arguments)...)) {
    return scope(
        [&]() -> decltype(auto) { return static_cast<const S&>(*this).forward(std::forward<A>(arguments)...); },
        arguments...);
  }
};

/// The same for forward(x, options), so that a call can name options in braces: `layer(x, {.causal = true})`; and for
/// forward(x, cache, options), where there is one.
template <class Self, class Options>
class CallableWith : public Callable<Self> {
 public:
  using Callable<Self>::operator();
  Tensor operator()(const Tensor& x, const Options& options) {
    return this->scope([&] { return static_cast<Self&>(*this).forward(x, options); }, x, options);
  }
  template <class Cache>
  Tensor operator()(const Tensor& x, Cache& cache, const Options& options) {
    return this->scope([&] { return static_cast<Self&>(*this).forward(x, cache, options); }, x, cache, options);
  }
};

}  // namespace tutti::nn
#pragma GCC visibility pop
