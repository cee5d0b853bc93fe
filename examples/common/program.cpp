#include "common/program.h"

#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>

#include <fmt/format.h>

#include "tutti/backends/contract/kernel.h"
#include "tutti/tutti.h"

namespace examples {

namespace {

CLI::Validator number(const char* name, const char* expected, bool (*fits)(double)) {
  return {[=](const std::string& text) {
            double value = 0;
            return CLI::detail::lexical_cast(text, value) && fits(value)
                       ? std::string()
                       : fmt::format("'{}': expected {}", text, expected);
          },
          name};
}

}  // namespace

const CLI::Validator positive = number("POSITIVE", "a number above 0", [](double x) { return x > 0; });
const CLI::Validator whole =
    number("", "a whole number that is 0 or more", [](double x) { return x >= 0 && x == std::floor(x); });

void add_options(CLI::App& app, ProgramOptions& options, bool with_seed) {
  app.add_option("--threads", options.threads, "Threads to use; 0: all that this process may use")
      ->check(whole)
      ->capture_default_str();
  if (with_seed)
    app.add_option("--seed", options.seed, "Seed of everything random")->check(whole)->capture_default_str();
  app.add_option("--device", options.device,
                 "Where to compute: cpu, cuda, or cuda:N for the CUDA device number N (from 0)")
      ->capture_default_str();
}

void apply(const ProgramOptions& options) {
  try {
    tutti::set_default_device(tutti::device_from(options.device));
  } catch (const tutti::DeviceError& e) {
    throw tutti::DeviceError(fmt::format("--device {}: {}", options.device, e.what()));
  } catch (const tutti::ValueError& e) {
    throw tutti::ValueError(fmt::format("--device {}: {}", options.device, e.what()));
  }
  tutti::set_num_threads(options.threads);
  tutti::manual_seed(options.seed);
}

std::string environment() {
  if (const tutti::Device device = tutti::default_device(); device != tutti::cpu)
    return fmt::format("{}, Tutti {}", tutti::to_string(device), tutti::config::version);
  const int threads = tutti::num_threads();
  return fmt::format("cpu, {}, {} thread{}, Tutti {}", tutti::isa::names[static_cast<size_t>(tutti::isa::level())],
                     threads, threads == 1 ? "" : "s", tutti::config::version);
}

int run(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  try {
    app.parse(argc, argv);
    return body();
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), e.what());
    return 1;
  }
}

void write_file(const std::string& path, const std::string& text) {
  tutti::OutputFile file("write", path);
  file.write(text);
  file.commit();
}

void check_writable(const std::string& path) {
  if (path.empty()) return;
  const tutti::OutputFile asked("write", path);  // what will be asked then; without commit() nothing is left of it
}

int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field, 0) == 0) return 1024 * std::stoll(line.substr(field.size()));
  return 0;
}

void reset_peak_rss() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace examples
