// Errors: one type with kinds, and the path of the module in which the failing call was made (filled in by nn::Module).
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tutti/core/device.h"
#include "tutti/core/dims.h"
#include "tutti/core/dtype.h"

#pragma GCC visibility push(default)
namespace tutti {

class Error : public std::runtime_error {
 public:
  Error(const char* kind, std::string message);
  const char* what() const noexcept override { return text_.c_str(); }
  const char* kind() const noexcept { return kind_; }  ///< "ShapeError", ...
  /// "encoder.blocks.1.attention", or empty outside modules.
  const std::string& module_path() const noexcept { return path_; }

  // For nn::Module only: `where` is the module that the exception is leaving; `name` its name in its parent, once
  // known.
  const void* leaving() const noexcept { return leaving_; }
  void leave(const void* where) noexcept { leaving_ = where; }
  void prepend(const std::string& name);

 private:
  const char* kind_;
  std::string message_, path_, text_;
  const void* leaving_ = nullptr;
};

struct ShapeError : Error {
  explicit ShapeError(std::string m) : Error("ShapeError", std::move(m)) {}
};
struct DTypeError : Error {
  explicit DTypeError(std::string m) : Error("DTypeError", std::move(m)) {}
};
struct DeviceError : Error {
  explicit DeviceError(std::string m) : Error("DeviceError", std::move(m)) {}
};
struct IndexError : Error {  ///< an axis or an index out of range
  explicit IndexError(std::string m) : Error("IndexError", std::move(m)) {}
};
struct ValueError : Error {  ///< an option or a number outside its domain
  explicit ValueError(std::string m) : Error("ValueError", std::move(m)) {}
};
struct IoError : Error {  ///< a file that cannot be read, written or trusted
  explicit IoError(std::string m) : Error("IoError", std::move(m)) {}
};
struct MemoryError : Error {  ///< out of memory; names the size asked for
  explicit MemoryError(std::string m) : Error("MemoryError", std::move(m)) {}
};
struct AutogradError : Error {
  explicit AutogradError(std::string m) : Error("AutogradError", std::move(m)) {}
};

namespace detail {
void append(std::string& to, std::string_view x);
void append(std::string& to, const Dims& x);
void append(std::string& to, DType x);
void append(std::string& to, Device x);
void append(std::string& to, double x);  // shortest form that reads back: 0.1, 3, 1e+20
void append(std::string& to, float x);
void append(std::string& to, long long x);
void append(std::string& to, unsigned long long x);
template <class T>
void append_any(std::string& to, const T& x) {
  if constexpr (std::is_same_v<T, bool>)
    append(to, x ? "true" : "false");
  else if constexpr (std::is_same_v<T, char>)
    append(to, std::string_view(&x, 1));
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    append(to, static_cast<long long>(x));
  else if constexpr (std::is_integral_v<T>)
    append(to, static_cast<unsigned long long>(x));
  else
    append(to, x);
}
}  // namespace detail

/// message("add: shapes ", a, " and ", b): strings, numbers, Dims, DType and Device, one after another.
template <class... A>
std::string message(const A&... parts) {
  std::string s;
  (detail::append_any(s, parts), ...);
  return s;
}

}  // namespace tutti
#pragma GCC visibility pop
