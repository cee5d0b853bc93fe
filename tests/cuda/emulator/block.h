// What a kernel's functions call: barriers and warp collectives of the block that runs now.
#pragma once
#include <cstddef>

#include "site.h"

namespace emulator {

enum class Vote { none, count, all, any };

/// __syncthreads and its kin. The result of the vote.
int barrier(int predicate, Vote vote, Site site);

/// What the lanes of a warp have brought to a collective. Lanes outside the mask have null pointers.
struct Lanes {
  unsigned mask;
  const void* in[32];
  void* out[32];
  int parameter[32];
  bool has(int lane) const { return lane >= 0 && lane < 32 && (mask >> lane & 1); }
};
using WarpFunction = void (*)(Lanes&);

/// Waits until all lanes of the mask are here; the last one runs `function` for all of them.
void collective(unsigned mask, WarpFunction function, const void* in, void* out, int parameter, Site site);

/// A collective that orders memory, too: what lanes wrote before it, lanes of the mask see after it.
void synchronize_warp(unsigned mask, Site site);

/// Waits for the lanes and orders nothing, as the matrix functions do.
void converge(Site site);

int lane();

/// Ends the launch with a fault that names this block and thread.
[[noreturn]] void fail(const char* what, Site site);

}  // namespace emulator
