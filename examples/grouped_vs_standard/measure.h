// Speed and memory of a training step, apart from accuracy.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "grouped_vs_standard/training.h"

namespace comparison {

struct Speed {
  std::vector<double> rates[2];  ///< steps per second of paired blocks: standard, grouped
};

/// Interleaved blocks (A B B A ...) after a warm-up of ten steps each. keep_going(done share) may stop it early.
Speed measure_speed(const std::vector<Arm>& arms, const Protocol& protocol, const Images& images, int64_t blocks,
                    const std::function<bool(double share)>& keep_going);

struct Memory {
  double tensor_bytes = 0;  ///< the allocator's high-water mark over a step: weights, gradients, moments, activations
  double rss_bytes = 0;     ///< peak resident bytes of a process that does nothing else; 0 if unknown
};

/// In this process: the allocator's mark of a step, and the process's peak.
Memory measure_memory(const Arm& arm, const Protocol& protocol);

/// In a process of its own, started as `program memory --arm NAME ...`.
Memory measure_memory_apart(const std::string& arguments);

}  // namespace comparison
