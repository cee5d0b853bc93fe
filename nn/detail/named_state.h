// States of optimizers, schedulers and loaders: numbers as tensors by name, and reading them back with errors.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::nn::detail {

using State = std::map<std::string, Tensor>;

Tensor number(int64_t value);                       ///< [] of int64
Tensor number(double value);                        ///< [] of float64
Tensor numbers(const std::vector<double>& values);  ///< [n] of float64

Tensor text(const std::string& value);  ///< [bytes] of uint8

/// Takes a state apart, name by name. Errors are ValueErrors that begin with `op`.
class StateReader {
 public:
  StateReader(const char* op, const State& state) : op_(op), state_(state) {}
  /// The tensor of that name, or an error; dtype and shape are for the caller to look at.
  const Tensor& get(const std::string& name);
  bool contains(const std::string& name) const { return state_.contains(name); }
  int64_t integer(const std::string& name);
  double real(const std::string& name);
  std::vector<double> reals(const std::string& name);
  std::string text(const std::string& name);
  /// An error if there is a name that nobody asked for.
  void end() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const Tensor& get(const std::string& name, DType dtype, int rank);
  const char* op_;
  const State& state_;
  std::set<std::string> asked_;
};

}  // namespace tutti::nn::detail
#pragma GCC visibility pop
