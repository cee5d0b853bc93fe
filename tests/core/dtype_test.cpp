// Element types, and the conversions of the half-precision ones against double arithmetic, exhaustively.
#include "tutti/core/dtype.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "support/catch.h"

using namespace tutti;

namespace {

/// The value of a bit pattern with `mantissa` mantissa bits and `exponent` exponent bits, by the book.
double value_of(uint32_t bits, int mantissa, int exponent) {
  const int bias = (1 << (exponent - 1)) - 1;
  const auto e = static_cast<int>(bits >> mantissa & ((1u << exponent) - 1));
  const auto m = static_cast<double>(bits & ((1u << mantissa) - 1));
  const double sign = bits >> (mantissa + exponent) & 1 ? -1 : 1;
  if (e == (1 << exponent) - 1) return m != 0 ? NAN : sign * INFINITY;
  if (e == 0) return sign * std::ldexp(m, 1 - bias - mantissa);
  return sign * std::ldexp(1 + std::ldexp(m, -mantissa), e - bias);
}

/// Every number, and what lies between two neighbours: exactly half way it goes to the even one, else to the nearer.
template <class Half>
void check(int mantissa, int exponent) {
  const uint32_t infinity = ((1u << exponent) - 1) << mantissa;
  size_t wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float f = static_cast<float>(Half{static_cast<uint16_t>(bits)});
    const double want = value_of(bits, mantissa, exponent);
    if (std::isnan(want)) {
      wrong += !std::isnan(f) || !std::isnan(static_cast<float>(Half::from(f)));
      continue;
    }
    wrong += static_cast<double>(f) != want || std::signbit(f) != std::signbit(want);
    wrong += Half::from(f).bits != bits;

    const uint32_t magnitude = bits & 0x7fff, sign = bits & 0x8000;
    if (magnitude >= infinity) continue;
    // The next number away from zero: for the largest, what would follow if the exponent went on.
    const double next = magnitude + 1 == infinity ? (sign ? -1 : 1) * std::ldexp(1.0, (1 << (exponent - 1)))
                                                  : value_of(bits + 1, mantissa, exponent);
    const auto half = static_cast<float>((want + next) / 2);
    if (static_cast<double>(half) != (want + next) / 2) continue;  // below float's own subnormals
    const uint32_t even = bits & 1 ? bits + 1 : bits;
    wrong += Half::from(half).bits != even;
    wrong += Half::from(std::nextafter(half, 0.0f)).bits != bits;
    wrong += Half::from(std::nextafter(half, sign ? -INFINITY : INFINITY)).bits != bits + 1;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("float16 converts exactly and rounds to nearest even") {
  check<float16>(10, 5);
  CHECK(float16::from(1e6f).bits == 0x7c00);
  CHECK(float16::from(-INFINITY).bits == 0xfc00);
  CHECK(float16::from(65519.0f).bits == 0x7bff);
  CHECK(float16::from(65520.0f).bits == 0x7c00);
  CHECK(float16::from(1e-30f).bits == 0);
  CHECK(float16::from(-1e-30f).bits == 0x8000);
  CHECK(std::isnan(static_cast<float>(float16::from(NAN))));
}

TEST_CASE("bfloat16 converts exactly and rounds to nearest even") {
  check<bfloat16>(7, 8);
  CHECK(bfloat16::from(INFINITY).bits == 0x7f80);
  CHECK(bfloat16::from(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(bfloat16::from(NAN).bits == 0x7fc0);
  CHECK(bfloat16::from(-NAN).bits == 0x7fc0);
}

TEST_CASE("dtypes know their size, name and type") {
  const struct {
    DType dtype;
    size_t size;
    std::string name;
    bool floating;
  } all[] = {{DType::float32, 4, "float32", true},   {DType::float64, 8, "float64", true},
             {DType::bfloat16, 2, "bfloat16", true}, {DType::float16, 2, "float16", true},
             {DType::int64, 8, "int64", false},      {DType::int32, 4, "int32", false},
             {DType::uint8, 1, "uint8", false},      {DType::boolean, 1, "bool", false}};
  for (const auto& d : all) {
    CHECK(size_of(d.dtype) == d.size);
    CHECK(name_of(d.dtype) == d.name);
    CHECK(is_floating(d.dtype) == d.floating);
    CHECK(tutti::visit(d.dtype, []<class T>(T) { return dtype_of<T>(); }) == d.dtype);
    CHECK(tutti::visit(d.dtype, []<class T>(T) { return sizeof(T); }) == d.size);
  }
}

TEST_CASE("doubles and integers become half types in one rounding") {
  // Half way between neighbours, and a hair to each side that float32 does not see.
  const auto check = []<class Half>(Half) {
    size_t wrong = 0;
    for (uint32_t bits = 0; bits < (std::is_same_v<Half, float16> ? 0x7bffu : 0x7f7fu); ++bits) {
      const auto value = [](uint32_t b) {
        return static_cast<double>(static_cast<float>(Half{static_cast<uint16_t>(b)}));
      };
      const double low = value(bits), high = value(bits + 1), half = low + (high - low) / 2;
      wrong += Half::from(low).bits != bits;
      wrong += Half::from(half).bits != (bits & 1 ? bits + 1 : bits);
      wrong += Half::from(std::nextafter(half, 0.0)).bits != bits;
      wrong += Half::from(std::nextafter(half, INFINITY)).bits != bits + 1;
      wrong += Half::from(-std::nextafter(half, INFINITY)).bits != (0x8000 | (bits + 1));
    }
    CHECK(wrong == 0);
    CHECK(std::isinf(static_cast<float>(Half::from(1e300))));
    CHECK(Half::from(-1e-300).bits == 0x8000);
    CHECK(std::isnan(static_cast<float>(Half::from(std::nan("")))));
  };
  check(float16{});
  check(bfloat16{});
  CHECK(bfloat16::from((int64_t{257} << 40) + 1).bits == bfloat16::from(0x1.02p48).bits);
  CHECK(bfloat16::from((int64_t{257} << 40)).bits == bfloat16::from(0x1p48).bits);  // even
  CHECK(bfloat16::from(-(int64_t{257} << 54) - 1).bits == bfloat16::from(-0x1.02p62).bits);
  CHECK(bfloat16::from(INT64_MIN).bits == bfloat16::from(-0x1p63).bits);
  CHECK(float16::from(int64_t{2049}).bits == float16::from(2048.f).bits);
}
