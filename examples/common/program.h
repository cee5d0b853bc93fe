// What every example program does alike: threads, seed and device options, the line that says what it runs on, and
// errors that end the program with a message instead of a crash.
#pragma once
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace examples {

struct ProgramOptions {
  int threads = 0;  ///< 0: all that this process may use
  uint64_t seed = 0;
  std::string device{"cpu"};  ///< "cpu", "cuda" or "cuda:N"
};

/// For check(): a number above 0; a whole number that is 0 or more. They say so in words (CLI11's own print the largest
/// double) and leave no -1 to become the largest unsigned number.
extern const CLI::Validator positive, whole;

/// Adds --threads, --seed (unless it means something else there) and --device.
void add_options(CLI::App& app, ProgramOptions& options, bool with_seed = true);
/// Applies the threads, the seed, and the device as the default one; DeviceError on one that is not there, ValueError
/// on what is none.
void apply(const ProgramOptions& options);
/// "cpu, avx512, 2 threads, Tutti 0.1.0", "cuda:0, Tutti 0.1.0".
std::string environment();

/// Parses the arguments and runs `body`; prints --help and every error as one line on stderr. The exit status of main.
int run(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// Writes text as tutti::OutputFile does: the old file or the whole new one, through links, mode kept. IoError naming
/// it.
void write_file(const std::string& path, const std::string& text);

/// IoError naming the file and what hinders unless it can be written there, as far as that can be told before: to be
/// asked before the work, not after it. An empty path, for no file, is fine.
void check_writable(const std::string& path);

/// Bytes of a line of /proc/self/status ("VmRSS:", "VmHWM:"); 0 where there is none.
int64_t status_bytes(const std::string& field);
/// Restarts VmHWM, where the system can.
void reset_peak_rss();

}  // namespace examples
