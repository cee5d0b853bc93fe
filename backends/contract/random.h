// Kernels that draw random numbers, and dropout. Element i depends on key.now() and i alone (core/philox.h): y is
// always new and contiguous, given as one row.
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/backends/contract/view.h"
#include "tutti/core/generator.h"

namespace tutti::kernel {

/// Uniform in [0, 1): the top 24 bits of word i (float32), 11 (float16), 8 (bfloat16), or 53 of words 2i and 2i + 1
/// (float64). So every value is exact in its dtype and 1 never comes out.
struct random_uniform : Kernel<random_uniform> {
  template <class Target>
  static void run(Rows y, DrawKey key);
};

/// Standard normal (core/box_muller.h): elements 2i and 2i + 1 share a pair of uniforms.
struct random_normal : Kernel<random_normal> {
  template <class Target>
  static void run(Rows y, DrawKey key);
};

/// low + floor(u * range / 2^64), where u is words 2i (high) and 2i + 1: 1 <= range, of any dtype that holds it.
struct random_integer : Kernel<random_integer> {
  template <class Target>
  static void run(Rows y, DrawKey key, int64_t low, uint64_t range);
};

/// 1 where word i < threshold, else 0. A probability p is the threshold p * 2^32.
struct random_bernoulli : Kernel<random_bernoulli> {
  template <class Target>
  static void run(Rows y, DrawKey key, uint32_t threshold);
};

/// The numbers 0 .. n-1 (int64) in the order of 64-bit keys (words 2i and 2i + 1), equal keys in ascending order.
struct random_permutation : Kernel<random_permutation, Gap::none, /*per_isa=*/false> {
  template <class Target>
  static void run(Rows y, DrawKey key);
};

/// out[i] = word i < threshold ? 0 : in[i] * scale, i counting in row-major order whatever the strides of the input;
/// the output is contiguous.
struct dropout : Kernel<dropout> {
  template <class Target>
  static void run(const Elements<1>& e, DrawKey key, uint32_t threshold, double scale);
};

}  // namespace tutti::kernel
