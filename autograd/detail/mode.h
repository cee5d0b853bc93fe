// What this thread's mode is, for node.cpp, engine.cpp and anomaly.cpp: one place, so that an op reads it once.
#pragma once
#include <span>
#include <string>

#include "tutti/autograd/node.h"

namespace tutti::detail {

struct Mode {
  bool recording = true;
  bool rematerialization = true;
  bool anomaly = false;                  // anomaly_mode
  bool infinite = true;                  // it looks for infinities too
  const Node* differentiated = nullptr;  // anomaly_mode: whose gradient function runs
};
extern constinit thread_local Mode mode;

// anomaly.cpp; called in anomaly_mode only (note_place for a profiler's ranges, too).

/// ValueError if one of an operation's results is not finite.
void check_results(const char* op, std::span<const Output> outputs, std::span<const Tensor> inputs);
/// Keeps the path of the module that runs.
void note_place(Node& node);
/// node.backward(saved, dy); ValueError if what it is given or what it gives is not finite.
Grads checked_backward(Node& node, Saved& saved, const Grads& dy);

}  // namespace tutti::detail
