// A number beside tensors: an argument of full, add, masked_fill, eq ... It stays what it was written as, and becomes
// an element here and nowhere else.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "tutti/core/dtype.h"

#pragma GCC visibility push(default)
namespace tutti {

/// A floating number, or an integer of 64 bits, which a double need not hold. Made without a cast from any number, a
/// bool, or an unscoped enumerator; not from a pointer.
class Number {
 public:
  template <std::floating_point T>
  constexpr Number(T v) : real_(static_cast<double>(v)) {}
  template <std::integral T>
  constexpr Number(T v) : real_(static_cast<double>(v)), integer_(v <= T{0} || static_cast<uint64_t>(v) <= INT64_MAX) {
    if (integer_) whole_ = static_cast<int64_t>(v);
  }
  template <class T>
  requires(std::is_enum_v<T>&& std::is_convertible_v<T, int64_t>) constexpr Number(T v)
      : Number(static_cast<int64_t>(v)) {}

  constexpr bool is_integer() const { return integer_; }  ///< was written as an integer
  constexpr double real() const { return real_; }         ///< the nearest double
  constexpr int64_t whole() const { return integer_ ? whole_ : static_cast<int64_t>(real_); }  ///< if it fits int64
  /// Whether an integer dtype has this very value (bool: 0 and 1); true for floating dtypes, which round.
  bool fits(DType dtype) const;

  /// As T: float, double, or an integer that it fits.
  template <class T>
  TUTTI_INLINE constexpr T as() const {
    if constexpr (std::floating_point<T>)
      return integer_ ? static_cast<T>(whole_) : static_cast<T>(real_);
    else
      return static_cast<T>(whole());
  }
  /// The element of a dtype that T stores, rounded once; bool: whether it is not 0.
  template <class T>
  TUTTI_INLINE constexpr T element(DType dtype) const {
    if constexpr (std::same_as<T, bfloat16> || std::same_as<T, float16>)
      return integer_ ? T::from(whole_) : T::from(real_);
    else if constexpr (std::integral<T>)
      return dtype == DType::boolean ? static_cast<T>(real_ < 0 || real_ > 0 || real_ != real_) : as<T>();
    else
      return as<T>();
  }
  /// The element of a dtype, in the type C that it is computed in (float for the half types).
  template <class C>
  TUTTI_INLINE constexpr C computed(DType dtype) const {
    if constexpr (std::same_as<C, float>) {
      if (dtype == DType::bfloat16) return static_cast<float>(element<bfloat16>(dtype));
      if (dtype == DType::float16) return static_cast<float>(element<float16>(dtype));
    }
    return element<C>(dtype);
  }

 private:
  friend void append(std::string& to, const Number& n);  // for message(): as it was written
  double real_;
  int64_t whole_ = 0;
  bool integer_ = false;
};

}  // namespace tutti
#pragma GCC visibility pop
