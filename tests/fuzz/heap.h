// What the program takes from the C++ heap: this folder's program counts every new and delete (heap_test.cpp).
#pragma once
#include <cstddef>

namespace fuzz {

size_t heap_current();  ///< bytes in use
size_t heap_peak();     ///< the most that was in use since reset_heap_peak()
void reset_heap_peak();

}  // namespace fuzz
