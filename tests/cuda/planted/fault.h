// A planted fault: a function that is wrong in one way, or right; and which builds of the emulator must say so, in
// which words.
#pragma once
#include <vector>

namespace planted {

/// It depends on the instructions that the compiler picks.
inline constexpr const char* perhaps = "";

struct Fault {
  const char* name;
  bool (*run)(bool right);  ///< whether the numbers came out as they should
  // What the build says of the wrong one; null: it does not see it. "wrong result": it says nothing, and the numbers
  // show it.
  const char* plain;      ///< in at least one of five thread orders
  const char* sanitized;  ///< address and undefined
  const char* recorded;
};

std::vector<Fault> memory_faults(), order_faults(), warp_faults(), host_faults();

}  // namespace planted
