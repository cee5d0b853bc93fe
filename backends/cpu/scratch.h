// For kernel files: scratch memory as an array.
#pragma once
#include <cstdint>

#include "tutti/core/scratch.h"

namespace tutti {
namespace {

/// n uninitialised elements of T, 64-byte aligned.
template <class T>
class Buffer {
 public:
  TUTTI_INLINE explicit Buffer(int64_t n) : memory_(static_cast<size_t>(n) * sizeof(T)) {}
  TUTTI_INLINE T* data() const { return static_cast<T*>(memory_.data()); }

 private:
  Scratch memory_;
};

}  // namespace
}  // namespace tutti
