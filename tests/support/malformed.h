// A table of malformed calls: each must throw one error, of exactly this kind and text.
#pragma once
#include <string>
#include <vector>

#include "support/catch.h"
#include "tutti/tutti.h"

namespace tutti_test {

/// What the calls are made with.
struct Given {
  tutti::Tensor none;  // undefined
  tutti::Tensor scalar = tutti::full({}, 1), x = tutti::zeros({2, 3}), weight = tutti::zeros({5, 2});
  tutti::Tensor q = tutti::zeros({1, 2, 3, 4});
  tutti::Tensor indices = tutti::arange(3), two = tutti::arange(2);
  tutti::Tensor flags = tutti::ones({2}, {.dtype = tutti::DType::boolean}), greater = tutti::gt(x, 0.0);
  tutti::Tensor leaf = tutti::zeros({2, 3}).requires_grad_();
};

struct Malformed {
  void (*call)(const Given& g);
  const char *kind, *text;
};

void check_malformed(const std::vector<Malformed>& calls);

/// Writes a file in the working directory (removed when the program ends) and returns its name.
std::string file(const char* name, const std::string& bytes);

}  // namespace tutti_test
