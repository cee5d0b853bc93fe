// Random programs on the library and on plain arrays: values, gradients, errors, bits.
//   TUTTI_PROGRAMS=10000000   that many operations instead of 100000
//   TUTTI_PROGRAM=123         only the program of this seed (with the other one: from this seed on)
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "differential/draw.h"
#include "differential/run.h"
#include "support/catch.h"

using namespace differential;

namespace {

long setting(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::atol(value) : otherwise;
}
Program program_of(uint64_t seed) {
  const bool big = seed % 256 == 255;
  return random_program(seed, big ? 5 : 20, big);
}

}  // namespace

TEST_CASE("random programs give what plain arrays give") {
  const long wanted = setting("TUTTI_PROGRAMS", 100000), only = setting("TUTTI_PROGRAM", -1);
  const bool more = std::getenv("TUTTI_PROGRAMS") != nullptr;
  std::map<const Operation*, long> taken, refused;
  long steps = 0, programs = 0, failures = 0, unsure = 0;
  for (uint64_t seed = static_cast<uint64_t>(std::max(only, 0L)); steps < wanted && failures < 10; ++seed) {
    INFO("program " << seed);  // for a crash
    const Program program = program_of(seed);
    for (const Step& s : program.steps) ++(s.malformed ? refused : taken)[s.operation];
    steps += static_cast<long>(program.steps.size());
    ++programs;
    std::optional<std::string> failure;
    try {
      failure = check(program);
    } catch (const Unsure&) {  // sure enough when it was drawn, with other noise
      ++unsure;
    }
    if (failure) {
      const Program small = shrunk(program, *failure);
      INFO(*failure);
      INFO("shrunk: " << check(small).value_or("passes when run again"));
      INFO(listing(small));
      CHECK(!failure);
      ++failures;
    }
    if (only >= 0 && !more) break;
  }
  if (only >= 0 && !more) return;
  CHECK(unsure <= programs / 100);
  std::map<std::string, long> calls;
  for (const Operation* o : operations()) {
    INFO(o->name);
    CHECK(taken[o] >= steps / 20000);
    calls[o->name] += taken[o];
  }
  if (more) {
    for (const auto& [name, n] : calls) std::cout << name << " " << n << "\n";
    long thrown = 0;
    for (const auto& [o, n] : refused) thrown += n;
    std::cout << programs << " programs, " << steps << " operations, " << thrown << " of them malformed; " << unsure
              << " programs not sure\n";
  }
}
