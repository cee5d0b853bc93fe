// Catch2 of either major version: Debian 12 ships v2 (one header), other systems v3.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
namespace tutti_test {
inline auto Contains(const std::string& text) { return Catch::Matchers::ContainsSubstring(text); }
}  // namespace tutti_test
using tutti_test::Contains;
#else
#include <catch2/catch.hpp>
using Catch::Contains;
#endif
