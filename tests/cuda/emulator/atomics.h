// Atomic operations, for the types that the toolkit has them for (sm_80), and the fence.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "site.h"

namespace emulator {

/// Tells the access recorder.
void touch_atomically(const void* p, size_t bytes, const void* pc);

template <class T, class F>
EMULATOR_SILENT T read_modify_write(T* p, F f, const void* pc) {
  touch_atomically(p, sizeof(T), pc);
  const T old = *p;
  *p = f(old);
  return old;
}
template <class T, class... One>
concept one_of = (std::same_as<T, One> || ...);
using Long = unsigned long long;
template <class T>
concept Word = one_of<T, int, unsigned, Long>;
template <class T>
concept Ordered = Word<T> || std::same_as<T, long long>;
template <class T>
concept Addable = Word<T> || one_of<T, float, double, __half, __half2, __nv_bfloat16, __nv_bfloat162>;

}  // namespace emulator

// Out of line in every build: the return address is the kernel's line.
#define EMULATOR_ATOMIC(name, Types, expression)                                              \
  template <emulator::Types T>                                                                \
  EMULATOR_SILENT __attribute__((noinline)) T name(T* p, std::type_identity_t<T> v) {         \
    return emulator::read_modify_write(                                                       \
        p, [v](T old) -> T { return expression; }, __builtin_return_address(0));              \
  }                                                                                           \
  template <emulator::Types T>                                                                \
  EMULATOR_SILENT __attribute__((noinline)) T name##_block(T* p, std::type_identity_t<T> v) { \
    return emulator::read_modify_write(                                                       \
        p, [v](T old) -> T { return expression; }, __builtin_return_address(0));              \
  }
EMULATOR_ATOMIC(atomicAdd, Addable, old + v)
EMULATOR_ATOMIC(atomicMin, Ordered, v < old ? v : old)
EMULATOR_ATOMIC(atomicMax, Ordered, v > old ? v : old)
EMULATOR_ATOMIC(atomicAnd, Word, old& v)
EMULATOR_ATOMIC(atomicOr, Word, old | v)
EMULATOR_ATOMIC(atomicXor, Word, old ^ v)
#undef EMULATOR_ATOMIC

template <class T>
requires emulator::one_of<T, int, unsigned> EMULATOR_SILENT __attribute__((noinline)) T atomicSub(
    T* p, std::type_identity_t<T> v) {
  return emulator::read_modify_write(
      p, [v](T old) { return old - v; }, __builtin_return_address(0));
}
template <class T>
requires emulator::one_of<T, int, unsigned, emulator::Long, float> EMULATOR_SILENT __attribute__((noinline)) T
atomicExch(T* p, std::type_identity_t<T> v) {
  return emulator::read_modify_write(
      p, [v](T) { return v; }, __builtin_return_address(0));
}
template <class T>
requires emulator::one_of<T, int, unsigned, emulator::Long, unsigned short> EMULATOR_SILENT __attribute__((noinline)) T
atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return emulator::read_modify_write(
      p, [=](T old) { return old == expected ? v : old; }, __builtin_return_address(0));
}
EMULATOR_SILENT __attribute__((noinline)) inline unsigned atomicInc(unsigned* p, unsigned limit) {
  return emulator::read_modify_write(
      p, [=](unsigned old) { return old >= limit ? 0u : old + 1; }, __builtin_return_address(0));
}
EMULATOR_SILENT __attribute__((noinline)) inline unsigned atomicDec(unsigned* p, unsigned limit) {
  return emulator::read_modify_write(
      p, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; }, __builtin_return_address(0));
}
