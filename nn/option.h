// Checks of layers' options, with one wording: which option, its value, and what would fit.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#pragma GCC visibility push(default)
namespace tutti::nn {

/// ValueError "Linear: in is 0; it must be at least 1".
void check_positive(const char* layer, const char* option, int64_t value);
/// ValueError "Dropout: p is 1.5; it must be between 0 and 1".
void check_probability(const char* layer, const char* option, double value);
/// ValueError "GroupedLinear: groups = 5 does not divide in = 64; of the numbers nearby, 4 and 8 do".
void check_divides(const char* layer, const char* option, int64_t value, const char* whole, int64_t size);
/// What else a number must satisfy to be advised: "; of the numbers nearby that fit groups = 4, 4 and 8 do".
struct Advisable {
  std::string such_as;  ///< "fit groups = 4"
  std::function<bool(int64_t)> fits;
};
void check_divides(const char* layer, const char* option, int64_t value, const char* whole, int64_t size,
                   const Advisable& advisable);
/// ValueError "Layer: inner_dim = 30 is no multiple of groups = 4; of the numbers nearby, 28 and 32 are". Multiples of
/// `step`, itself a multiple of `size`, are advised.
void check_multiple(const char* layer, const char* option, int64_t value, const char* part, int64_t size, int64_t step);
/// ValueError "LayerNorm: eps is -1; it must be finite and not negative".
void check_eps(const char* layer, const char* option, double value);

}  // namespace tutti::nn
#pragma GCC visibility pop
