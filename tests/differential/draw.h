// Drawing programs: random choices among the values that a program has so far, and new leaves where none fits.
#pragma once
#include <functional>

#include "differential/program.h"

namespace differential {

class Draw {
 public:
  explicit Draw(uint64_t seed, bool big);

  int64_t below(int64_t n);  ///< 0 .. n-1
  bool chance(double p) { return uniform() < p; }
  double number(double low, double high);  ///< a multiple of 1/64: every dtype holds it
  Shape shape(int max_rank = 4);           ///< sometimes with a size of 0 or 1
  int64_t axis(int rank);                  ///< from either end; rank 0 has 0 and -1
  bool cheap(int64_t operations) const { return operations <= (big ? 150000 : 3000); }

  using Test = std::function<bool(const Plain&)>;
  /// A value of this kind that passes; else, or at times, a new leaf of a random shape if `fresh`. -1: none.
  int pick(Kind kind, const Test& test = {}, bool fresh = true);
  int real(const Test& test = {}) { return pick(Kind::real, test); }
  /// A real value whose elements all lie in [low, high], if need be a new one.
  int within(double low, double high);
  /// A value of exactly this shape: one that is there, or a new leaf.
  int shaped(Kind kind, const Shape& shape, double low = -2, double high = 2);
  /// A value that broadcasts with x's shape (to_x: to it) and holds numbers in [low, high].
  int partner(int x, Kind kind, bool to_x = false, double low = -2, double high = 2);
  /// A new leaf; integers in [low, high).
  int leaf(Kind kind, const Shape& shape, double low = -2, double high = 2);
  const Plain& operator[](int id) const { return values.at(id); }

  Program program;
  std::map<int, Plain> values;
  const bool big;

 private:
  double uniform();
  uint64_t next();
  uint64_t state_;
};

/// A random program of about `steps` steps.
Program random_program(uint64_t seed, int steps, bool big);

}  // namespace differential
