#include "common/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace examples {

Progress::Progress(double total) : visible_(isatty(STDERR_FILENO)), total_(total), start_(Clock::now()) {}

Progress::~Progress() {
  if (visible_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(double done, const std::string& note) {
  if (!visible_) return;
  const auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100) && done < total_) return;
  drawn_ = now;
  const double share = std::clamp(done / total_, 0.0, 1.0);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const auto left = static_cast<int>(share > 0 ? elapsed * (1 - share) / share : 0);
  constexpr int width = 30;
  const int full = static_cast<int>(share * width);
  fmt::print(stderr, "\r\033[K[{}{}] {:3.0f} %  {}:{:02d} left  {}", std::string(static_cast<size_t>(full), '#'),
             std::string(static_cast<size_t>(width - full), '.'), 100 * share, left / 60, left % 60, note);
  std::fflush(stderr);
}

}  // namespace examples
