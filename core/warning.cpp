#include "tutti/core/warning.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

namespace tutti {
namespace {

struct State {
  std::mutex lock;
  WarningHandler handler;
  std::set<std::string> topics;
};
State& state() {
  static State* s = new State;  // never destroyed: other threads may still warn when the program ends
  return *s;
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) {
  const std::lock_guard guard(state().lock);
  return std::exchange(state().handler, std::move(handler));
}

void warn(const std::string& text) {
  WarningHandler handler;
  {
    const std::lock_guard guard(state().lock);
    handler = state().handler;
  }
  if (handler)  // outside the lock: it may warn itself
    handler(text);
  else
    std::fprintf(stderr, "tutti: warning: %s\n", text.c_str());
}

void warn_once(const std::string& topic, const std::string& text) {
  {
    const std::lock_guard guard(state().lock);
    if (!state().topics.insert(topic).second) return;
  }
  warn(text);
}

void forget_warnings() {
  const std::lock_guard guard(state().lock);
  state().topics.clear();
}

}  // namespace tutti
