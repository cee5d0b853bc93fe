// Bytes to try a reader with: any at all, and valid files with something changed.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fuzz {

class Mutator {
 public:
  Mutator(std::vector<std::string> valid, uint64_t seed) : valid_(std::move(valid)), random_(seed) {}
  /// The next input: one in four is made of random bytes, the others are damaged copies of valid files.
  std::string next();

 private:
  size_t below(size_t n) { return n ? static_cast<size_t>(random_() % n) : 0; }
  const std::string& any() { return valid_[below(valid_.size())]; }
  std::string noise();
  void change(std::string& s);
  void length_field(std::string& s);
  void decimal(std::string& s);

  std::vector<std::string> valid_;
  std::mt19937_64 random_;
};

}  // namespace fuzz
