// Checks of layers' options, with one wording: which option, its value, and what would fit.
#pragma once
#include <cstdint>

#pragma GCC visibility push(default)
namespace tutti::nn {

/// ValueError "Linear: in is 0; it must be at least 1".
void check_positive(const char* layer, const char* option, int64_t value);
/// ValueError "Dropout: p is 1.5; it must be between 0 and 1".
void check_probability(const char* layer, const char* option, double value);
/// ValueError "GroupedLinear: groups = 5 does not divide in = 64; of the numbers nearby, 4 and 8 do".
void check_divides(const char* layer, const char* option, int64_t value, const char* whole, int64_t size);

}  // namespace tutti::nn
#pragma GCC visibility pop
