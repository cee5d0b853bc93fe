#include "grouped_vs_standard/claims/command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "common/program.h"
#include "grouped_vs_standard/claims/claim.h"
#include "grouped_vs_standard/claims/whole_report.h"
#include "grouped_vs_standard/headline/report_rows.h"

namespace comparison {
namespace {

struct Options {
  std::string results, report, gpu, commit = "unknown";
  std::vector<std::string> only;
  bool quick = false, list = false, plan = false;
  int workers = 0;
  examples::ProgramOptions program;
};

/// "AMD EPYC 9R14".
std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

/// "C30" or "30". ValueError naming the claims that exist.
int number_from(const std::string& name) {
  const std::string digits = name.substr(name.empty() || (name[0] != 'C' && name[0] != 'c') ? 0 : 1);
  const auto& claims = all_claims();
  for (const Claim& claim : claims)
    if (digits == std::to_string(claim.number)) return claim.number;
  throw tutti::ValueError(
      fmt::format("--only {}: no such claim; they are C{} to C{}", name, claims.front().number, claims.back().number));
}

std::vector<Claim> chosen(const Options& o) {
  if (o.only.empty()) return all_claims();
  std::set<int> numbers;
  for (const std::string& name : o.only) numbers.insert(number_from(name));
  std::vector<Claim> claims;
  for (const Claim& claim : all_claims())
    if (numbers.contains(claim.number)) claims.push_back(claim);
  return claims;
}

void print(const Finding& f) {
  fmt::print("C{:<3}{}\n", f.number, f.claim);
  fmt::print("    {}: {} {}{}{}\n", f.verdict, f.effect, f.interval, f.seeds.empty() ? "" : ", seeds " + f.seeds,
             f.n.empty() ? "" : ", n " + f.n);
  if (!f.why.empty()) fmt::print("    {}\n", f.why);
}

/// What each claim still needs. Claims share results, so the sum over claims is more than the whole.
void print_plan(Lab& lab, const std::vector<Claim>& claims, int workers) {
  const auto missing = [&](const std::string& name) {
    double seconds = 0;
    for (const auto& [path, cell] : lab.missing()) seconds += cell.cost / (cell.run == Run::shared ? workers : 1);
    fmt::print("{:<6}{:>5} results missing, about {:.1f} minutes\n", name, lab.missing().size(), seconds / 60);
  };
  for (const Claim& claim : claims) {
    lab.start_pass();
    claim.judge(lab);
    missing(fmt::format("C{}", claim.number));
  }
  lab.start_pass();
  for (const Claim& claim : claims) claim.judge(lab);
  missing("all");
}

int run(Options& o) {
  const std::vector<Claim> claims = chosen(o);
  if (o.list) {
    for (const Claim& claim : claims) fmt::print("C{:<3}{}\n    {}\n", claim.number, claim.text, claim.test);
    return 0;
  }
  if (!o.only.empty() && !o.report.empty())
    throw tutti::ValueError("--report: a report is on all claims; leave --only away");
  if (!o.report.empty()) {
    std::filesystem::create_directories(o.report);
    examples::check_writable(o.report + "/REPORT.md");
  }
  const nlohmann::json gpu = read_gpu_result(o.gpu);
  examples::apply(o.program);
  const bool on_cpu = tutti::default_device() == tutti::cpu;
  if (o.results.empty()) o.results = on_cpu ? "claims-results" : "claims-results-cuda";  // they are not the same
  const int threads = tutti::num_threads(), workers = !on_cpu ? 1 : o.workers > 0 ? o.workers : threads;
  const std::string machine = processor() + "; " + examples::environment();
  // From here on this process works alone: its children are forked, and a pool of threads would not survive that.
  tutti::set_num_threads(1);
  fmt::print("{}; {} processes side by side; results in {}\n", machine, workers, o.results);
  std::fflush(stdout);

  Lab lab({.folder = o.results, .quick = o.quick, .commit = o.commit, .machine = machine});
  if (o.plan) {
    print_plan(lab, claims, workers);
    return 0;
  }
  std::vector<Finding> findings;
  for (;;) {  // a claim may ask for more when it has seen its first results
    lab.start_pass();
    findings.clear();
    for (const Claim& claim : claims) {
      Finding f = claim.judge(lab);
      f.number = claim.number;
      f.claim = claim.text;
      f.test = claim.test;
      findings.push_back(std::move(f));
    }
    const bool whole = o.only.empty() && !o.report.empty();
    Report report = whole ? whole_report(lab, findings, machine, o.commit, gpu) : Report{};
    if (lab.complete()) {
      if (whole) write_report(report, o.report);
      break;
    }
    lab.run_missing(workers, threads);
  }
  for (const Finding& f : findings) print(f);
  return 0;
}

}  // namespace

std::function<int()> add_claims(CLI::App& command) {
  auto o = std::make_shared<Options>();
  command.add_option("--only", o->only, "Only these claims: C30, or 30; several may be named")->delimiter(',');
  command.add_flag("--list", o->list, "Print the claims and how each is tested, and run nothing");
  command.add_flag("--plan", o->plan, "Print what is still missing and about how long it takes, and run nothing");
  command.add_flag("--quick", o->quick, "About a third of the seeds; verdicts say 'below protocol'");
  command.add_option(
      "--results", o->results,
      "Folder in which results are kept; a run continues from what is there. claims-results unless given, "
      "or claims-results-cuda with that device");
  command.add_option("--report", o->report, "Folder to write REPORT.md, REPORT.html and figures/ to (all claims only)");
  command.add_option(
      "--gpu", o->gpu,
      "For the report's rows of a GPU: what `grouped_vs_standard --device cuda --json FILE` wrote there; "
      "'not run' without it");
  command.add_option("--commit", o->commit, "The program's commit, for the results and the report")
      ->capture_default_str();
  command.add_option("--workers", o->workers, "Training runs side by side, one thread each; 0: one per thread")
      ->check(examples::whole)
      ->capture_default_str();
  examples::add_options(command, o->program, /*with_seed=*/false);
  return [o] { return run(*o); };
}

}  // namespace comparison
