// Error kinds, how messages are put together, and module paths.
#include "tutti/core/error.h"

#include <cmath>
#include <limits>

#include "support/catch.h"

using namespace tutti;

TEST_CASE("message joins strings, numbers, shapes, dtypes and devices") {
  CHECK(message() == "");
  CHECK(message("a", std::string("b"), std::string_view("c")) == "abc");
  CHECK(message(1, " ", int64_t{-5}, " ", size_t{7}, " ", uint8_t{200}) == "1 -5 7 200");
  CHECK(message(std::numeric_limits<int64_t>::min()) == "-9223372036854775808");
  CHECK(message(std::numeric_limits<uint64_t>::max()) == "18446744073709551615");
  CHECK(message(0.1, " ", 3.0, " ", 1e20, " ", -INFINITY, " ", std::nan("")) == "0.1 3 1e+20 -inf nan");
  CHECK(message(0.1f) == "0.1");
  CHECK(message(true, " ", false) == "true false");
  CHECK(message(Dims{2, 3}, " ", Dims{}) == "[2, 3] []");
  CHECK(message(DType::bfloat16, " ", DType::boolean) == "bfloat16 bool");
  CHECK(message(cpu, " ", Device{DeviceType::cuda, 2}) == "cpu cuda:2");
}

TEST_CASE("errors have kinds") {
  const auto check = [](const auto& e, const std::string& kind) {
    CHECK(e.kind() == kind);
    CHECK(e.what() == std::string("text"));
    CHECK(e.module_path().empty());
    const std::runtime_error& base = e;
    CHECK(base.what() == std::string("text"));
  };
  check(ShapeError("text"), "ShapeError");
  check(DTypeError("text"), "DTypeError");
  check(DeviceError("text"), "DeviceError");
  check(IndexError("text"), "IndexError");
  check(ValueError("text"), "ValueError");
  check(IoError("text"), "IoError");
  check(MemoryError("text"), "MemoryError");
  check(AutogradError("text"), "AutogradError");
}

TEST_CASE("an error collects the path of modules that it leaves") {
  ShapeError e("linear: bad shape");
  e.prepend("query");
  CHECK(e.module_path() == "query");
  CHECK(e.what() == std::string("in query: linear: bad shape"));
  e.prepend("attention");
  CHECK(e.module_path() == "attention.query");
  CHECK(e.what() == std::string("in attention.query: linear: bad shape"));
}
