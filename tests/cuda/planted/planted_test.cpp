// Each planted fault in a process of its own: the builds that must catch it do, in the words of the table, and its
// right twin is not accused by any, in any thread order.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>
#include <string>

#include "cuda/emulator/emulator.h"
#include "fault.h"
#include "support/catch.h"

using planted::Fault;

namespace {

const std::string build = emulator::build();

std::vector<Fault> all_faults() {
  std::vector<Fault> all;
  for (const auto& some :
       {planted::memory_faults(), planted::order_faults(), planted::warp_faults(), planted::host_faults()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}
const char* words_of(const Fault& fault) {
  return build == "plain" ? fault.plain : build == "sanitized" ? fault.sanitized : fault.recorded;
}

struct Order {
  emulator::Order order;
  uint64_t seed;
};
std::vector<Order> orders() {
  using O = emulator::Order;
  if (build != "plain") return {{O::forward, 1}};
  return {{O::forward, 1}, {O::reverse, 1}, {O::random, 1}, {O::random, 2}, {O::random, 3}};
}

/// All that a process which runs it says: the emulator's report, an error, a sanitizer's text, its death. "": nothing
/// is wrong.
std::string verdict(const Fault& fault, bool right, Order order) {
  int ends[2];
  if (pipe(ends)) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    emulator::config().order = order.order;
    emulator::config().seed = order.seed;
    std::string said;
    try {
      if (!fault.run(right)) said = "wrong result";
    } catch (const std::exception& e) {
      said = e.what();
    }
    if (const std::string report = emulator::report(); !report.empty()) said = report + "; " + said;
    (void)!write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char part[4096];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) said.append(part, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) said += "; killed by signal " + std::to_string(WTERMSIG(status));
  return said;
}

}  // namespace

TEST_CASE("each planted fault is caught by some build", "[cuda]") {
  std::set<std::string> names;
  for (const Fault& fault : all_faults()) {
    CAPTURE(fault.name);
    CHECK((fault.plain || fault.sanitized || fault.recorded));
    CHECK(names.insert(fault.name).second);
  }
  CHECK(names.size() >= 25);
}

TEST_CASE("this build catches the planted faults that the table says it does", "[cuda]") {
  for (const Fault& fault : all_faults()) {
    std::string said;
    for (const Order order : orders()) said += verdict(fault, false, order) + "\n";
    CAPTURE(build, fault.name, said);
    const char* const words = words_of(fault);
    // A table that promises too little is out of date, too.
    CHECK((words ? said.find(words) != std::string::npos : said.find_first_not_of('\n') == std::string::npos));
  }
}

TEST_CASE("the right twins are accused of nothing", "[cuda]") {
  for (const Fault& fault : all_faults())
    for (const Order order : orders()) {
      const std::string said = verdict(fault, true, order);
      CAPTURE(build, fault.name, static_cast<int>(order.order), order.seed, said);
      CHECK(said.empty());
    }
}
