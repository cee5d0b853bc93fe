// For kernel files: conversion of elements, with the CPU's rules.
#pragma once
#include <limits>

#include "tutti/backends/cuda/device.h"

namespace tutti {
namespace {

/// One element in another type, rounded once. Floats become integers by truncation; what does not fit becomes the
/// nearest that does, NaN becomes 0.
template <class To, class From>
__device__ To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_half<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (is_half<To> && std::is_integral_v<From>) {
    return To::from(static_cast<int64_t>(x));
  } else if constexpr (is_half<To>) {
    return To::from(x);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr auto low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    constexpr auto end = static_cast<From>(high / 2 + 1) * 2;  // exact, unlike high itself
    return x != x ? To{0} : x < static_cast<From>(low) ? low : x >= end ? high : static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace
}  // namespace tutti
