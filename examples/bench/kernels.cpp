// `tutti-bench kernels`: every kernel beside what the machine can do, stored and compared with an earlier run.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "bench/cases.h"
#include "bench/contender.h"
#include "bench/record.h"
#include "common/program.h"

namespace bench {
namespace {

using namespace tutti;

struct Options {
  std::vector<std::string> only;
  bool odd = false, list = false, quick = false;
  int rounds = 9;
  std::string json, compare, commit = "unknown";
  examples::ProgramOptions program;
};

std::vector<Case> chosen(const Options& o) {
  std::vector<Case> cases = o.odd ? odd_cases() : usual_cases();
  if (o.quick) cases = shrunk(cases, 12);  // which 3 and 4 groups divide
  for (const std::string& word : o.only)
    if (std::none_of(cases.begin(), cases.end(),
                     [&](const Case& c) { return text(c).find(word) != std::string::npos; }))
      throw ValueError(fmt::format("--only {}: no operation has that in its line (--list prints them)", word));
  if (!o.only.empty())
    std::erase_if(cases, [&](const Case& c) {
      return std::none_of(o.only.begin(), o.only.end(),
                          [&](const std::string& word) { return text(c).find(word) != std::string::npos; });
    });
  return cases;
}

/// Seconds of one execution: of as many as fill `block` seconds.
double time(const Case& c, double block) {
  const auto step = prepare(c);
  const auto run = [&](int64_t times) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < times; ++i) step();
    synchronize(default_device());  // a GPU is done later than the calls
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  run(1);  // what is made once: memory, threads, products' plans
  const double one = std::max(run(1), 1e-7);
  const int64_t times = std::max<int64_t>(1, static_cast<int64_t>(block / one));
  return run(times) / static_cast<double>(times);
}

int run(const Options& o) {
  const std::vector<Case> cases = chosen(o);
  if (o.list) {
    for (const Case& c : cases) fmt::print("{}\n", text(c));
    return 0;
  }
  // What cannot be read or written is said before the work.
  const Record before = o.compare.empty() ? Record{} : read_record(o.compare);
  examples::check_writable(o.json);
  examples::apply(o.program);

  Record now{examples::environment(), machine_name(), o.commit, {}, {}};
  for (const Case& c : cases) now.cases.push_back({text(c), cost(c)});
  const double block = o.quick ? 1e-4 : 0.02;
  // Round by round, so that a slow moment of the machine is noise of all lines and not the result of one.
  for (int round = 0; round < o.rounds; ++round) {
    measure(now.peaks, block, o.quick);
    for (size_t i = 0; i < cases.size(); ++i) now.cases[i].seconds.push_back(time(cases[i], block));
  }

  const Median first = median(now.cases[0].seconds);
  fmt::print(
      "{}; {}\n{}medians of {} rounds; of roof: the least time for its arithmetic or its bytes, over its time\n\n{}",
      now.environment, now.machine, text(now.peaks), o.rounds, table(now));
  if (!o.compare.empty())
    fmt::print(
        "\nbefore: {} (commit {}). ratio: before over now, so above 1 is faster now; interval: of both medians by\n"
        "order statistics (each covers {:.1f} % here); flagged where they do not meet\n\n{}",
        o.compare, before.commit, 100 * first.coverage, comparison(before, now));
  if (!o.json.empty()) examples::write_file(o.json, to_json(now).dump(1) + "\n");
  return 0;
}

}  // namespace

std::function<int()> add_kernels(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("--only", o->only, "Only operations with one of these words in their line, as softmax,linear")
      ->delimiter(',');
  app.add_flag("--odd", o->odd, "Instead of models' sizes odd ones: few columns, remainders, transposed inputs");
  app.add_flag("--list", o->list, "Print what would be timed, as `tutti-bench op` takes it");
  app.add_flag("--quick", o->quick, "No size above 12 and no time to measure well: a test of the program");
  app.add_option("--rounds", o->rounds, "Samples of each operation")->check(examples::positive)->capture_default_str();
  app.add_option("--json", o->json, "Write all samples to this file");
  app.add_option("--compare", o->compare, "Print the ratio to an earlier run, from the file that its --json wrote");
  app.add_option("--commit", o->commit, "What is measured, for the file")->capture_default_str();
  examples::add_options(app, o->program);
  return [o] { return run(*o); };
}

}  // namespace bench
