// grouped_vs_standard: trains the standard and the grouped classifier on the same data with the same seeds, and prints
// the article's table with these results beside it.
#include <csignal>

#include <fmt/format.h>

#include "common/program.h"
#include "common/progress.h"
#include "grouped_vs_standard/claims/command.h"
#include "grouped_vs_standard/headline/table.h"
#include "grouped_vs_standard/tasks/fashion.h"

namespace {

using namespace comparison;

volatile std::sig_atomic_t interrupted = 0;

struct Options {
  Protocol protocol;
  std::string match = "equal_ffn", data = "/usr/share/datasets/fashion-mnist", json_file, arm = "standard";
  int64_t seeds = 5, first_seed = 1, blocks = 30;
  examples::ProgramOptions program;
};

void add_options(CLI::App& app, Options& o) {
  const auto number = [&](const char* name, auto& value, const char* what) {
    app.add_option(name, value, what)->check(examples::positive)->capture_default_str();
  };
  app.add_option("--data", o.data, "Folder with Fashion-MNIST's four files")->capture_default_str();
  app.add_option(
         "--match", o.match,
         "How parameters are made equal: equal_ffn (wider feed-forward), equal_inner, equal_depth, shrunk_baseline, or "
         "same_width (not at all)")
      ->capture_default_str();
  number("--seeds", o.seeds, "Runs of each arm");
  number("--first-seed", o.first_seed, "The first seed; the others follow");
  number("--steps", o.protocol.steps, "Training steps of a run");
  number("--batch", o.protocol.batch, "Images in a step");
  number("--training-images", o.protocol.training_images, "Training images, drawn per seed");
  app.add_option("--test-images", o.protocol.test_images, "Test images, the first ones; 0: all")
      ->check(examples::whole)
      ->capture_default_str();
  app.add_flag("--validation", o.protocol.validation,
               "For tuning: test on 5000 training images set apart from the others; the test images stay unseen");
  number("--patch", o.protocol.patch, "Side of a patch in pixels; divides 28");
  number("--dim", o.protocol.dim, "Width of the model");
  number("--heads", o.protocol.heads, "Attention heads");
  number("--groups", o.protocol.groups, "Groups of the grouped arm");
  number("--layers", o.protocol.layers, "Transformer blocks");
  number("--lr", o.protocol.lr, "Learning rate");
  number("--blocks", o.blocks, "Paired blocks of 20 steps that speed is measured on");
  app.add_flag("!--plain", o.protocol.augment, "Train without random shifts and mirroring");
  app.add_option("--json", o.json_file, "Also write everything to this file");
  examples::add_options(app, o.program, /*with_seed=*/false);
}

void check(const Protocol& p) {
  if (28 % p.patch) throw tutti::ValueError(fmt::format("--patch {}: must divide 28", p.patch));
  if (p.training_images < p.batch)
    throw tutti::ValueError(fmt::format("--batch {}: more than the {} training images", p.batch, p.training_images));
}

/// In a process of its own, which Ctrl-C ends with this one.
void measure_memory_of(const Options& o, HeadlineResult& f, size_t arm) {
  if (interrupted) return;
  try {
    f.memory[arm] = measure_memory_apart(fmt::format(
        "--arm {} --match {} --batch {} --patch {} --dim {} --heads {} --groups {} --layers {} --threads {} "
        "--device {}",
        f.arms[arm].name, o.match, o.protocol.batch, o.protocol.patch, o.protocol.dim, o.protocol.heads,
        o.protocol.groups, o.protocol.layers, o.program.threads, o.program.device));
  } catch (const tutti::IoError&) {
    if (!interrupted) throw;
  }
}

/// Trains both arms for every seed; stops after the last finished pair when interrupted.
void train_all(const Options& o, HeadlineResult& f, examples::Progress& progress, double training_share) {
  const double total = static_cast<double>(2 * o.seeds * o.protocol.steps);
  for (int64_t i = 0; i < o.seeds && !interrupted; ++i) {
    const auto seed = static_cast<uint64_t>(o.first_seed + i);
    Outcome outcome[2];
    for (size_t arm = 0; arm < 2; ++arm)
      outcome[arm] = train(f.arms[arm].setting, seed, [&](int64_t step) {
                       const auto done =
                           static_cast<double>((2 * i + static_cast<int64_t>(arm)) * o.protocol.steps + step);
                       progress.update(training_share * done / total + 1 - training_share,
                                       fmt::format("seed {}, {}", seed, f.arms[arm].name));
                       return !interrupted;
                     }).outcome;
    if (interrupted && (outcome[0].correct.empty() || outcome[1].correct.empty())) return;
    f.seeds.push_back(seed);
    for (size_t arm = 0; arm < 2; ++arm) f.outcomes[arm].push_back(std::move(outcome[arm]));
  }
}

int compare(Options& o) {
  check(o.protocol);
  examples::check_writable(o.json_file);
  set_fashion_folder(o.data);
  std::signal(SIGINT, [](int) {
    interrupted = 1;
    std::signal(SIGINT, SIG_DFL);  // the second one does not wait
  });
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Arm> arms = make_arms(o.protocol, match_from(o.match));
  HeadlineResult f{.protocol = o.protocol,
                   .match = o.match,
                   .data = make_task(arms[0].setting.task)->source,
                   .environment = examples::environment(),
                   .arms = arms,
                   .seeds_wanted = o.seeds};
  fmt::print("{}, seeds {} to {}\n", f.environment, o.first_seed, o.first_seed + o.seeds - 1);
  std::fflush(stdout);

  // Time is about 20 steps a block and arm against `steps` a seed and arm.
  const double measuring = static_cast<double>(20 * o.blocks),
               training = static_cast<double>(o.seeds * o.protocol.steps);
  const double training_share = training / (training + measuring);
  {
    examples::Progress progress(1);
    for (size_t arm = 0; arm < 2; ++arm) measure_memory_of(o, f, arm);
    f.speed = measure_speed(arms[0].setting, arms[1].setting, o.blocks, 20, [&](double share) {
      progress.update((1 - training_share) * share, "speed");
      return !interrupted;
    });
    train_all(o, f, progress, training_share);
  }
  f.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (interrupted && f.seeds.empty() && f.speed.rates[0].size() < 2) {
    fmt::print("Interrupted before the end of the first seed: nothing was finished.\n");
    return 130;
  }
  fmt::print("{}", table(f));
  if (interrupted)
    fmt::print("Interrupted{}: this is what was finished.\n",
               f.seeds.empty() ? " before the end of the first seed" : "");
  if (!o.json_file.empty()) examples::write_file(o.json_file, json(f).dump(2) + "\n");
  return interrupted ? 130 : 0;
}

int report_memory(const Options& o) {
  const auto arms = make_arms(o.protocol, match_from(o.match));
  const Memory m = measure_memory(arms[o.arm == "grouped" ? 1 : 0].setting);
  fmt::print("{:.0f} {:.0f}\n", m.tensor_bytes, m.rss_bytes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Standard against grouped attention on Fashion-MNIST: the article's table, tested",
               "grouped_vs_standard");
  Options o;
  add_options(app, o);
  CLI::App* memory =
      app.add_subcommand("memory", "Measure one arm's memory in this process and print tensor and resident bytes");
  add_options(*memory, o);
  memory->add_option("--arm", o.arm, "standard or grouped")
      ->check(CLI::IsMember({"standard", "grouped"}))
      ->capture_default_str();
  CLI::App* claims = app.add_subcommand("claims", "Test every claim of the article and write the report");
  const auto run_claims = add_claims(*claims);
  return examples::run(app, argc, argv, [&] {
    if (claims->parsed()) return run_claims();
    examples::apply(o.program);
    return memory->parsed() ? report_memory(o) : compare(o);
  });
}
