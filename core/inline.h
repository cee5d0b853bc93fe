// The one attribute that headers shared with kernel files need.
#pragma once

/// Inlined even at -O2 and so never emitted as a shared symbol: kernel files are compiled once per instruction set, and
/// of an inline function the linker keeps one copy for everyone, perhaps the one that this CPU cannot run.
#define TUTTI_INLINE inline __attribute__((always_inline))
