// Running a program on the library, held against the plain arrays.
#pragma once
#include <optional>
#include <string>

#include "differential/apply.h"

namespace differential {

struct Setting {
  tutti::DType dtype = tutti::DType::float32;
  int isa = 0, threads = 1;
};

/// What went wrong first, or nothing. `bits`, if given, gets every result's and gradient's numbers.
std::optional<std::string> run(const Program& program, const Truth& truth, const Setting& setting,
                               std::vector<double>* bits = nullptr);

/// The program run in every way that its seed chooses (dtypes, instruction sets, threads): the first failure.
std::optional<std::string> check(const Program& program);

/// The program with steps, loss terms and uses of results left out while it still fails in the same way.
Program shrunk(Program program, const std::string& failure);

}  // namespace differential
