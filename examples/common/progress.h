// A progress bar with the time left, on stderr; where that is not a terminal, a line of it every minute.
#pragma once
#include <chrono>
#include <string>

namespace examples {

class Progress {
 public:
  explicit Progress(double total);  ///< in any unit that grows evenly with time
  ~Progress();                      ///< clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `done` of the total; `note` says what is running. Draws at most ten times a second.
  void update(double done, const std::string& note);

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  double total_;
  Clock::time_point start_, drawn_;
};

}  // namespace examples
