#include "report.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recorder.h"
#include "sanitizer.h"

namespace emulator {
namespace {

struct State {
  std::string first;
  bool asked = false;
  const char* signal_fault = nullptr;  // set by signal handlers, made a text when somebody asks
  const void* signal_pc = nullptr;
};
State& state() {
  static State& one = *new State;  // outlives every static destructor that may still free device memory
  return one;
}

void collect() {
  State& s = state();
  if (!s.signal_fault) return;
  const char* fault = s.signal_fault;
  s.signal_fault = nullptr;
  note(std::string(fault) + " at " + source_of(s.signal_pc));
}

[[maybe_unused]] const int at_exit = std::atexit([] {
  collect();
  if (state().first.empty() || state().asked) return;
  std::fprintf(stderr, "CUDA emulator: a fault that nobody asked for: %s\n", state().first.c_str());
  std::fflush(nullptr);
  _exit(70);
});

Config from_environment() {
  Config c;
  if (const char* order = std::getenv("TUTTI_EMULATOR_ORDER")) {
    const std::string name = order;
    c.order = name == "forward" ? Order::forward : name == "reverse" ? Order::reverse : Order::random;
    if (c.order == Order::random) c.seed = std::strtoull(order, nullptr, 10);
  }
  if (const char* eager = std::getenv("TUTTI_EMULATOR_EAGER")) c.lazy = std::strcmp(eager, "1") != 0;
  if (const char* devices = std::getenv("TUTTI_EMULATOR_DEVICES")) c.devices = std::clamp(std::atoi(devices), 0, 8);
  return c;
}

}  // namespace

const char* build() { return recorder ? "recorded" : EMULATOR_ASAN ? "sanitized" : "plain"; }

std::recursive_mutex& mutex() {
  static auto& one = *new std::recursive_mutex;
  return one;
}
Config& config() {
  static Config& one = *new Config(from_environment());
  return one;
}
Counters& counters() {
  static Counters& one = *new Counters;
  return one;
}

void note(const std::string& fault) {
  State& s = state();
  if (!s.first.empty()) return;
  s.first = fault;
  s.asked = false;
}
void note_fault_at(const char* fault, const void* pc) {
  State& s = state();
  if (s.signal_fault) return;
  s.signal_fault = fault;
  s.signal_pc = pc;
}
std::string report() {
  const Lock lock(mutex());
  collect();
  state().asked = true;
  return state().first;
}
void clear_report() {
  const Lock lock(mutex());
  state().signal_fault = nullptr;
  state().first.clear();
}

std::string text(Site site) { return std::string(site.file) + ":" + std::to_string(site.line); }

std::string source_of(const void* pc) {
  Dl_info info;
  char line[512];
  if (!dladdr(pc, &info) || !info.dli_fname) {
    std::snprintf(line, sizeof line, "address %p", pc);
    return line;
  }
  // The address is a return address, or close to one: one less is inside the call.
  const size_t offset =
      static_cast<size_t>(static_cast<const char*>(pc) - static_cast<const char*>(info.dli_fbase)) - 1;
  std::snprintf(line, sizeof line, "addr2line -e '%s' 0x%zx 2>/dev/null", info.dli_fname, offset);
  std::string result;
  if (FILE* pipe = popen(line, "r")) {
    if (std::fgets(line, sizeof line, pipe)) result = line;
    pclose(pipe);
  }
  result = result.substr(0, result.find_first_of(" \n"));  // "x.cu:12 (discriminator 1)"
  if (!result.empty() && result[0] != '?') return result;
  std::snprintf(line, sizeof line, "%s+0x%zx", info.dli_fname, offset);
  return line;
}

}  // namespace emulator
