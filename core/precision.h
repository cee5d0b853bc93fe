// How precisely products are computed, where that is a choice.
#pragma once

#pragma GCC visibility push(default)
namespace tutti {

/// Whether products of float32 matrices on a GPU, and those within attention (head widths up to 256), may round their
/// operands to TF32 (10 bits of mantissa) and so use its tensor cores, which is several times as fast. Sums stay
/// float32. Not at first.
bool allow_tf32();
void set_allow_tf32(bool allow);  ///< for all threads, from now on

}  // namespace tutti
#pragma GCC visibility pop
