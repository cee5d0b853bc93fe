// One axis of a picture: where a value lies, and where the ticks are.
#pragma once
#include <string>
#include <vector>

namespace comparison {

struct Tick {
  double value = 0;
  std::string label{};  ///< empty: a line without a number
};

class Axis {
 public:
  /// Shows [low, high] on the pixels from `first` to `last` (which may be the smaller one). Wider than asked for where
  /// the range is empty or not finite. log: both ends must be above 0, else [1, 10] is shown.
  Axis(double low, double high, bool log, double first, double last);

  double at(double value) const;   ///< px
  bool shows(double value) const;  ///< finite, and above 0 on a logarithmic axis
  double low() const { return low_; }
  double high() const { return high_; }
  bool log() const { return log_; }

  /// Linear: multiples of 1, 2, 2.5 or 5 times a power of ten. Logarithmic: powers of ten, with 2 and 5 between them
  /// if there is room, over less than a decade the linear ones. About one number per `spacing` px.
  std::vector<Tick> ticks(double spacing) const;

  /// Ticks at these values, those without a label whose number would touch the one before.
  std::vector<Tick> ticks_at(const std::vector<double>& values, double size) const;

 private:
  double low_, high_, first_, last_;
  bool log_;
};

/// The shortest usual form: 0.25, 1500, 3e-4, 2e6.
std::string tick_label(double value);

}  // namespace comparison
