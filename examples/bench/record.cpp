#include "bench/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace bench {
namespace {

using nlohmann::ordered_json;
using tutti::IoError;

constexpr const char* format = "tutti-bench kernels 1";

double positive(const nlohmann::json& number) {
  const double x = number.get<double>();
  if (!(x > 0) || std::isinf(x)) throw IoError(fmt::format("{} is no time or rate", number.dump()));
  return x;
}

Record record_from(const nlohmann::json& j) {
  if (!j.contains("format") || j.at("format") != format) throw IoError("is not a file of tutti-bench kernels --json");
  Record r{j.at("environment"), j.at("machine"), j.at("commit"), {}, {}};
  if (const auto& peaks = j.at("peaks"); !peaks.is_null()) {
    r.peaks.flops = positive(peaks.at("flop_per_second"));
    for (const auto& b : peaks.at("bytes_per_second"))
      r.peaks.bandwidths.push_back(
          {positive(b.at("bytes")), positive(b.at("read")), positive(b.at("copy")), positive(b.at("triad"))});
  }
  if (!j.at("cases").is_array() || j.at("cases").empty()) throw IoError("has no cases");
  for (const auto& c : j.at("cases")) {
    Measured m{c.at("name"), {c.at("flop"), c.at("bytes_read"), c.at("bytes_written")}};
    for (const auto& s : c.at("seconds")) m.seconds.push_back(positive(s));
    if (m.seconds.empty()) throw IoError(fmt::format("'{}' has no seconds", m.name));
    r.cases.push_back(std::move(m));
  }
  return r;
}

}  // namespace

std::string machine_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (const size_t colon = line.find(": "); line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  return "unknown";
}

ordered_json to_json(const Record& r) {
  ordered_json peaks;
  if (r.peaks.flops > 0) {
    peaks["flop_per_second"] = r.peaks.flops;
    for (const Bandwidth& b : r.peaks.bandwidths)
      peaks["bytes_per_second"].push_back(
          ordered_json{{"bytes", b.bytes}, {"read", b.read}, {"copy", b.copy}, {"triad", b.triad}});
  }
  ordered_json cases = ordered_json::array();
  for (const Measured& m : r.cases) {
    const double least = roof(r.peaks, m.cost).seconds;
    const Median time = median(m.seconds);
    cases.push_back(ordered_json{{"name", m.name},
                                 {"median_seconds", time.value},
                                 {"share_of_roof", least > 0 ? ordered_json(least / time.value) : ordered_json()},
                                 {"flop", m.cost.flop},
                                 {"bytes_read", m.cost.read},
                                 {"bytes_written", m.cost.written},
                                 {"seconds", m.seconds}});
  }
  return ordered_json{{"format", format},     {"environment", r.environment},
                      {"machine", r.machine}, {"commit", r.commit},
                      {"peaks", peaks},       {"cases", cases}};
}

Record read_record(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw IoError(fmt::format("{}: cannot be read", path));
  try {
    return record_from(nlohmann::json::parse(file));
  } catch (const std::ios_base::failure&) {  // of a folder, say
    throw IoError(fmt::format("{}: cannot be read", path));
  } catch (const nlohmann::json::parse_error&) {
    throw IoError(fmt::format("{}: is not JSON", path));
  } catch (const nlohmann::json::exception& e) {  // "[json.exception.out_of_range.403] key 'cases' not found"
    const std::string what = e.what();
    throw IoError(fmt::format("{}: {}", path, what.substr(what.find("] ") + 2)));
  } catch (const IoError& e) {
    throw IoError(fmt::format("{}: {}", path, e.what()));
  }
}

Median median(std::vector<double> samples) {
  if (samples.empty()) throw tutti::ValueError("median: of nothing");
  std::sort(samples.begin(), samples.end());
  const size_t n = samples.size(), half = n / 2;
  Median m{.value = n % 2 ? samples[half] : (samples[half - 1] + samples[half]) / 2};
  // The j-th (from 1) of n samples lies above the median with the probability that fewer than j of n coins show heads.
  double coin = std::pow(0.5, static_cast<double>(n)), below = 0;
  size_t j = 0;
  while (j < half || j == 0) {
    const double next = below + coin;
    if (j > 0 && 1 - 2 * next < 0.95) break;
    below = next;
    ++j;
    coin *= static_cast<double>(n - j + 1) / static_cast<double>(j);
  }
  m.low = samples[j - 1];
  m.high = samples[n - j];
  m.coverage = 1 - 2 * below;
  return m;
}

std::string table(const Record& r) {
  std::string s = fmt::format("{:44} {:>10} {:>9} {:>8}   of roof\n", "operation", "ms", "GFLOP/s", "GB/s");
  for (const Measured& m : r.cases) {
    const double seconds = median(m.seconds).value;
    const Roof bound = roof(r.peaks, m.cost);
    const auto number = [&](double units) { return units > 0 ? fmt::format("{:.1f}", units / seconds / 1e9) : "-"; };
    s += fmt::format("{:44} {:10.4f} {:>9} {:>8}", m.name, 1e3 * seconds, number(m.cost.flop), number(m.cost.bytes()));
    if (bound.seconds > 0)
      s += fmt::format("  {:6.1f} %  {}", 100 * bound.seconds / seconds, bound.arithmetic ? "arithmetic" : "memory");
    s += "\n";
  }
  return s;
}

std::string comparison(const Record& before, const Record& now) {
  std::string s;
  for (const auto& [what, old_one, new_one] :
       {std::tuple{"machine", &before.machine, &now.machine}, {"environment", &before.environment, &now.environment}})
    if (*old_one != *new_one)
      s += fmt::format("note: another {}, which the ratios measure too: '{}' before, '{}' now\n", what, *old_one,
                       *new_one);
  if (before.peaks.flops > 0 && now.peaks.flops > 0)
    s += fmt::format("the machine itself, before / now: arithmetic {:.3f}, copying {:.3f}\n",
                     now.peaks.flops / before.peaks.flops,
                     now.peaks.bandwidths.empty() || before.peaks.bandwidths.empty()
                         ? 1
                         : now.peaks.bandwidths.back().copy / before.peaks.bandwidths.back().copy);
  s += fmt::format("{:44} {:>10} {:>10} {:>8}   interval\n", "operation", "before, ms", "now, ms", "ratio");
  int faster = 0, slower = 0, both = 0;
  for (const Measured& m : now.cases) {
    const auto old = std::find_if(before.cases.begin(), before.cases.end(),
                                  [&](const Measured& other) { return other.name == m.name; });
    if (old == before.cases.end()) continue;
    const Median was = median(old->seconds), is = median(m.seconds);
    const double low = was.low / is.high, high = was.high / is.low;
    const char* flag = low > 1 ? "  faster" : high < 1 ? "  SLOWER" : "";
    faster += low > 1;
    slower += high < 1;
    ++both;
    s += fmt::format("{:44} {:10.4f} {:10.4f} {:8.3f}   [{:.3f}, {:.3f}]{}\n", m.name, 1e3 * was.value, 1e3 * is.value,
                     was.value / is.value, low, high, flag);
  }
  s += fmt::format("{} faster, {} slower, {} within noise", faster, slower, both - faster - slower);
  if (const size_t others = now.cases.size() + before.cases.size() - 2 * static_cast<size_t>(both))
    s += fmt::format("; {} in one of the two alone", others);
  return s + "\n";
}

}  // namespace bench
