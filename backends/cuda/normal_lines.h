// For the kernels of normalisation: a team's line, in registers or read again for each pass, and the power of two that
// brings a line near 1.
#pragma once
#include <cmath>

#include "tutti/backends/cuda/lines.h"

namespace tutti {
namespace {

/// A power of two that brings a line whose largest |x| this is near 1; 1 if that is 0 or not finite.
template <class C>
__device__ C power_of(C largest) {
  if (!(largest > 0 && largest < static_cast<C>(INFINITY))) return 1;
  constexpr int limit = sizeof(C) == 4 ? 126 : 1022;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(C(1), exponent > limit ? -limit : exponent < -limit ? limit : -exponent);
}

/// The line of a team (null: none), times a power of two.
template <class T, class S>
class LineOf {
  using C = compute_t<T>;

 public:
  const Team& team;
  const int64_t width;

  __device__ LineOf(const Team& t, const T* data, int64_t n) : team(t), width(n), line_(data) {
    if constexpr (S::once) Part(team, width, 0).load(line_, C(0), v_);
  }
  /// f(chunk, its elements): Chunk, C[E].
  template <class F>
  __device__ void each_chunk(F&& f) const {
    if constexpr (S::once) {
      f(Part(team, width, 0), v_);
    } else {
      for (int64_t begin = 0; begin < width; begin += team.size * S::E) {
        const Part part(team, width, begin);
        C v[S::E];
        part.load(line_, C(0), v);
        TUTTI_UNROLL
        for (int j = 0; j < S::E; ++j) v[j] *= power_;
        f(part, v);
      }
    }
  }
  __device__ C first() const { return line_ ? load(line_) * power_ : C(0); }
  __device__ C largest() const {
    C most = 0;
    each_chunk([&](const auto&, const auto& v) {
      TUTTI_UNROLL
      for (int j = 0; j < S::E; ++j) most = Larger{}(std::abs(v[j]), most);
    });
    return team.largest(most);
  }
  __device__ void multiply(C power) {
    power_ = power;
    if constexpr (S::once) {
      TUTTI_UNROLL
      for (int j = 0; j < S::E; ++j) v_[j] *= power;
    }
  }

 private:
  using Part = Chunk<S::V, S::E>;
  const T* line_;
  C power_ = 1;
  C v_[S::once ? S::E : 1];
};

template <int V, class T>
bool aligned(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % (sizeof(T) * V) == 0;  // null is
}

}  // namespace
}  // namespace tutti
