#include "bench/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/peak_kernels.h"

namespace bench {
namespace {

using namespace tutti;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The rate (per second) of a work that does `units` each time, run for about `seconds`.
double rate(double seconds, double units, const std::function<void(int64_t times)>& work) {
  int64_t times = 1;
  double taken = seconds_of([&] { work(times); });  // also the warm-up
  while (taken < seconds / 4) {
    times *= 2;
    taken = seconds_of([&] { work(times); });
  }
  times = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(times) * seconds / taken));
  return units * static_cast<double>(times) / seconds_of([&] { work(times); });
}

std::string size_text(double bytes) {
  return bytes < 1 << 20 ? fmt::format("{:.0f} KiB", bytes / (1 << 10)) : fmt::format("{:.0f} MiB", bytes / (1 << 20));
}

}  // namespace

void measure(Peaks& peaks, double seconds, bool quick) {
  if (default_device() != cpu) return;
  const int64_t threads = num_threads();
  const double flop = peak_fma::on(cpu)(threads, 1);  // of one time
  peaks.flops = std::max(peaks.flops, rate(seconds, flop, [&](int64_t times) { peak_fma::on(cpu)(threads, times); }));

  const int64_t largest = quick ? 1 << 18 : 1 << 28;
  size_t place = 0;
  for (int64_t bytes = 1 << 16; bytes <= largest; bytes *= 4, ++place) {
    if (place == peaks.bandwidths.size()) peaks.bandwidths.push_back({.bytes = static_cast<double>(bytes)});
    Bandwidth& seen = peaks.bandwidths[place];
    const auto numbers = [&](int64_t arrays) { return bytes / 4 / arrays; };
    const Tensor a = ones({numbers(2)}), b = ones({numbers(1)}), c = ones({numbers(3)});  // as operations get memory
    float* to = in_place("peaks", a).data<float>();
    const auto best = [&](double& of, Traffic what, int64_t arrays) {
      const int64_t n = numbers(arrays);
      of = std::max(of, rate(seconds, static_cast<double>(4 * n * arrays), [&](int64_t times) {
                      peak_traffic::on(cpu)(what, threads, times, n, to, b.data<float>(), c.data<float>());
                    }));
    };
    best(seen.read, Traffic::read, 1);
    best(seen.copy, Traffic::copy, 2);
    best(seen.triad, Traffic::triad, 3);
  }
}

Roof roof(const Peaks& peaks, const Cost& cost) {
  if (peaks.flops == 0 || peaks.bandwidths.empty()) return {};
  // Between two sizes, by their logarithms.
  const std::vector<Bandwidth>& b = peaks.bandwidths;
  size_t above = 0;
  while (above + 1 < b.size() && b[above].bytes < cost.bytes()) ++above;
  const size_t below = above == 0 ? 0 : above - 1;
  const double share =
      above == below ? 0 : std::log(cost.bytes() / b[below].bytes) / std::log(b[above].bytes / b[below].bytes);
  const auto at = [&](double Bandwidth::*of) {
    return b[below].*of + std::clamp(share, 0.0, 1.0) * (b[above].*of - b[below].*of);
  };
  double bandwidth = std::max(at(&Bandwidth::copy), at(&Bandwidth::triad));
  if (cost.written < cost.read / 8) bandwidth = std::max(bandwidth, at(&Bandwidth::read));
  const double arithmetic = cost.flop / peaks.flops, memory = cost.bytes() / bandwidth;
  return {arithmetic > memory, std::max(arithmetic, memory)};
}

std::string text(const Peaks& peaks) {
  if (peaks.flops == 0) return "no peaks of this device are measured\n";
  std::string s =
      fmt::format("peak: {:.1f} GFLOP/s of multiply-adds; GB/s by the operands' size:\n{:8}", peaks.flops / 1e9, "");
  for (const Bandwidth& b : peaks.bandwidths) s += fmt::format("{:>9}", size_text(b.bytes));
  const auto line = [&](const char* name, double Bandwidth::*of) {
    s += fmt::format("\n{:8}", name);
    for (const Bandwidth& b : peaks.bandwidths) s += fmt::format("{:9.1f}", b.*of / 1e9);
  };
  line("read", &Bandwidth::read);
  line("copy", &Bandwidth::copy);
  line("triad", &Bandwidth::triad);
  return s + "\n";
}

}  // namespace bench
