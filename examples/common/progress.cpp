#include "common/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace examples {

Progress::Progress(double total)
    : terminal_(isatty(STDERR_FILENO)), total_(total), start_(Clock::now()), drawn_(start_) {}

Progress::~Progress() {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(double done, const std::string& note) {
  const auto now = Clock::now();
  if (now - drawn_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::minutes(1))) return;
  drawn_ = now;
  const double share = std::clamp(done / total_, 0.0, 1.0);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const auto left = static_cast<int>(share > 0 ? elapsed * (1 - share) / share : 0);
  const std::string text =
      share > 0 ? fmt::format("{:3.0f} %  {}:{:02d} left  {}", 100 * share, left / 60, left % 60, note) : note;
  if (terminal_) {
    constexpr size_t width = 30;
    const auto full = static_cast<size_t>(share * width);
    fmt::print(stderr, "\r\033[K[{}{}] {}", std::string(full, '#'), std::string(width - full, '.'), text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

}  // namespace examples
