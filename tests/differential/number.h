// Numbers of the plain interpreter: float64 on a tape of their own, one node per scalar operation, so that gradients
// come from the derivative of +, *, exp, .. alone. Nothing here is the library's.
//
// Each number has eight lanes. Lane 0 is the value. In the others every operation's result and derivatives are moved by
// random relative errors of up to two units in the last place of float32, as a float32 computation might move them. How
// far the lanes spread is the error that a float32 result may have, cancellation and conditioning included; that of a
// float64 result is 2^29 times smaller.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace differential {

using Lanes = std::array<double, 8>;

/// An index into the tape.
struct Number {
  int32_t id = -1;
};

/// Thrown where a decision (a < b, which is largest) hangs on less than what rounding may move, or where a value leaves
/// the range in which results can be compared: such a step is not taken.
struct Unsure {};

/// While one lives, numbers of this thread are made on it.
class Tape {
 public:
  explicit Tape(uint64_t seed);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  static Tape& current();

  Number constant(double value);
  Number constant(const Lanes& value);
  /// A result with its derivatives with respect to a (and b); `rounds`: its lanes are moved.
  Number result(const Lanes& value, Number a, const Lanes& da, Number b, const Lanes& db, bool rounds = true);
  const Lanes& value(Number x) const { return nodes_[static_cast<std::size_t>(x.id)].value; }
  /// d(of) / d(every number), by id.
  std::vector<Lanes> gradients(Number of);
  void round(Lanes& x);  ///< moves the lanes, as any result's
  std::size_t size() const { return nodes_.size(); }
  void shorten(std::size_t size) { nodes_.resize(size); }

 private:
  struct Node {
    Lanes value, da, db;
    Number a, b;
  };
  double noise();
  std::vector<Node> nodes_;
  uint64_t state_;
  Tape* before_;
};

Number constant(double value);
double value(Number x);         ///< lane 0
double spread(const Lanes& x);  ///< the largest distance of a lane from lane 0
inline double spread(Number x) { return spread(Tape::current().value(x)); }
Number detached(Number x);      ///< the same lanes, without a history
int order(Number a, Number b);  ///< -1, 0 or 1 for a < b, a == b, a > b. Unsure if rounding might decide

Number operator+(Number a, Number b);
Number operator-(Number a, Number b);
Number accumulated(Number sum,
                   Number x);  ///< sum + x as a step of a long sum: each term is moved too, not only the result
Number operator*(Number a, Number b);
Number operator/(Number a, Number b);
Number operator-(Number x);
Number exp(Number x);
Number log(Number x);
Number log1p(Number x);
Number sqrt(Number x);
Number sin(Number x);
Number cos(Number x);
Number tanh(Number x);
Number sigmoid(Number x);
Number erfc(Number x);
Number power(Number x, Number y);   ///< x > 0
Number magnitude(Number x);         ///< |x|, with derivative 0 at 0
Number halves(Number a, Number b);  ///< a, which equals b: each gets half of the gradient

}  // namespace differential
