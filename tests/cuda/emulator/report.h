// Inside the emulator: faults, and the counters behind emulator.h.
#pragma once
#include <mutex>
#include <string>

#include "emulator.h"
#include "site.h"

namespace emulator {

/// One lock for everything: the calls of the runtime, and the kernels that run in them.
std::recursive_mutex& mutex();
using Lock = std::lock_guard<std::recursive_mutex>;

/// Keeps the first fault. The host goes on.
void note(const std::string& fault);
/// For signal handlers, which may not allocate: a text that lives for ever, and the address of the code.
void note_fault_at(const char* fault, const void* pc);
/// "file.cu:12", or the address where that cannot be had.
std::string source_of(const void* pc);
std::string text(Site site);

}  // namespace emulator
