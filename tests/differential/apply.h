// Running a program on plain arrays.
#pragma once
#include "differential/program.h"

namespace differential {

/// One step on plain values: checks its result (Unsure if it leaves the comparable range), and keeps book of who wants
/// a gradient and what may be written.
void apply(const Step& step, std::map<int, Plain>& values);

/// What the program should give. The tape must outlive it.
struct Truth {
  struct Result {
    Kind kind;
    Shape shape;
    bool grad;
    std::vector<Lanes> elements;
  };
  explicit Truth(const Program& program);
  Tape tape;
  std::vector<std::vector<Result>> steps;  // of each step: its results; of a step that writes: its target
  std::map<int, Result> last;              // every value, when all is done
  std::map<int, std::vector<Lanes>> gradients;
};

Plain plain_leaf(const Leaf& leaf);

}  // namespace differential
