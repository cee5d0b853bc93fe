// The lab of grouped_vs_standard: results are kept, made once, and survive being killed.
#if __has_include("grouped_vs_standard/study/lab.h")
#include "grouped_vs_standard/study/lab.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "grouped_vs_standard/study/attention_json.h"
#include "grouped_vs_standard/study/workers.h"
#include "support/catch.h"

using namespace comparison;
using nlohmann::json;

namespace {

/// A folder that is gone afterwards.
struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / ("tutti_lab_" + std::to_string(getpid()))).string();
  Folder() { std::filesystem::remove_all(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

constexpr int cells = 12;

/// Asks for cells i -> i^2, each of which leaves a trace of being made.
std::vector<json> ask_all(Lab& lab, const std::string& traces) {
  std::vector<json> results;
  for (int i = 0; i < cells; ++i)
    results.push_back(lab.measure("square", i, [i, traces] {
      std::ofstream(traces, std::ios::app) << i << "\n";
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return json{{"square", i * i}};
    }));
  return results;
}

void run_to_the_end(const std::string& folder, const std::string& traces) {
  Lab lab({.folder = folder});
  ask_all(lab, traces);
  if (!lab.complete()) lab.run_missing(2, 1);
}

int lines_of(const std::string& path) {
  std::ifstream file(path);
  int count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

}  // namespace

TEST_CASE("lab: what is missing is made once and kept", "[lab]") {
  const Folder folder;
  const std::string traces = folder.path + ".traces";
  std::filesystem::remove(traces);
  Lab lab({.folder = folder.path});
  for (const json& blank : ask_all(lab, traces)) REQUIRE(blank.empty());
  REQUIRE(!lab.complete());
  lab.run_missing(2, 1);
  lab.start_pass();
  const auto results = ask_all(lab, traces);
  REQUIRE(lab.complete());
  for (int i = 0; i < cells; ++i) REQUIRE(number(results[static_cast<size_t>(i)], "square") == i * i);
  run_to_the_end(folder.path, traces);  // another lab finds everything
  REQUIRE(lines_of(traces) == cells);
  std::filesystem::remove(traces);
}

TEST_CASE("lab: a run killed at any moment continues and ends the same", "[lab]") {
  const Folder folder;
  const std::string traces = folder.path + ".traces";
  std::filesystem::remove(traces);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const pid_t child = fork();
    if (child == 0) {
      run_to_the_end(folder.path, traces);
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3 + 11 * attempt));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // grandchildren die with their parent
  run_to_the_end(folder.path, traces);
  Lab lab({.folder = folder.path});
  const auto results = ask_all(lab, traces);
  REQUIRE(lab.complete());
  for (int i = 0; i < cells; ++i) REQUIRE(number(results[static_cast<size_t>(i)], "square") == i * i);
  std::filesystem::remove(traces);
}

TEST_CASE("lab: a truncated or foreign file is made again", "[lab]") {
  const Folder folder;
  run_to_the_end(folder.path, folder.path + ".traces");
  int spoilt = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path)) {
    std::ofstream(file.path()) << (spoilt == 0 ? "{\"key\":" : "{\"key\": 1, \"result\": {\"square\": -1}}");
    if (++spoilt == 2) break;
  }
  Lab lab({.folder = folder.path});
  ask_all(lab, folder.path + ".traces");
  REQUIRE(lab.missing().size() == 2);
  std::filesystem::remove(folder.path + ".traces");
}

TEST_CASE("lab: a cell that fails is named, and the others are kept", "[lab]") {
  const Folder folder;
  Lab lab({.folder = folder.path});
  lab.measure("fine", 1, [] { return json{{"x", 1}}; });
  lab.measure("broken", 2, []() -> json { throw tutti::ValueError("no such luck"); });
  REQUIRE_THROWS_WITH(lab.run_missing(2, 1), Contains("1 cells failed") && Contains("broken"));
  lab.start_pass();
  REQUIRE(number(lab.measure("fine", 1, [] { return json(); }), "x") == 1);
}

TEST_CASE("lab: results say which program made them, and times are those of one machine", "[lab]") {
  const Folder folder;
  const auto ask = [&](Lab& lab, Run run) {
    return lab.measure(
        run == Run::exclusive ? "time" : "loss", 1,
        [] {
          return json{{"x", 1}};
        },
        1, run);
  };
  Lab first({.folder = folder.path, .commit = "a1", .machine = "2 threads"});
  ask(first, Run::shared), ask(first, Run::exclusive);
  first.run_missing(1, 1);
  Lab second({.folder = folder.path, .commit = "b2", .machine = "1 thread"});
  REQUIRE(number(ask(second, Run::shared), "x") == 1);
  REQUIRE(ask(second, Run::exclusive).empty());  // measured elsewhere
  second.run_missing(1, 1);
  second.start_pass();
  REQUIRE(number(ask(second, Run::exclusive), "x") == 1);
  REQUIRE(second.commits() == std::map<std::string, int>{{"a1", 1}, {"b2", 1}});
}

TEST_CASE("lab: what was computed from results is computed once, also in a later pass", "[lab]") {
  const Folder folder;
  Lab lab({.folder = folder.path});
  int made = 0;
  const auto ask = [&](const std::string& key, double value) {
    return lab.once<double>(key, [&] { return ++made, value; });
  };
  REQUIRE(ask("a", 1) == 1);
  lab.start_pass();
  REQUIRE(ask("a", 2) == 1);
  REQUIRE(ask("b", 3) == 3);
  REQUIRE(made == 2);
}

TEST_CASE("workers: every piece is done, in processes that may fail", "[lab]") {
  int looks = 0;
  const auto failed = run_in_processes(
      20, 3,
      [](int64_t i) {
        if (i == 7) throw tutti::ValueError("seven");
        if (i == 9) _exit(1);
      },
      [&](const std::vector<bool>&) { ++looks; });
  REQUIRE(failed == std::vector<int64_t>{7, 9});
  REQUIRE(looks > 0);
}

TEST_CASE("setting: keys name what differs from the default, and differ when anything does", "[lab]") {
  Setting a{.task = {.name = "planted"}, .model = {.dim = 60, .layers = 1, .hidden = {240}}, .training = {}};
  REQUIRE(json_of(a).dump() == R"({"model":{"attention":{"heads":1,"kind":"standard"},"dim":60,"hidden":[240]},)"
                               R"("task":{"name":"planted"},"training":{"batch":50,"lr":0.003,"steps":400}})");
  Setting b = a;
  tutti::nn::GroupedMultiHeadAttentionOptions options{.groups = 4};
  options.exchange = tutti::nn::GroupExchange::shuffle;
  b.model.attention = options;
  REQUIRE(json_of(b)["model"]["attention"] == json({{"kind", "grouped"}, {"groups", 4}, {"exchange", "shuffle"}}));
}

TEST_CASE("train: the seed decides everything, and an outcome survives its file", "[lab]") {
  Setting s{.task = {.name = "planted", .variant = "in", .train = 200, .test = 101},
            .model = {.dim = 60, .layers = 1, .hidden = {64}, .embedding = examples::Embedding::identity},
            .training = {.steps = 12, .evaluations = 3, .evaluation_items = 50}};
  const Outcome once = train(s, 5).outcome, again = train(s, 5).outcome, other = train(s, 6).outcome;
  REQUIRE(once.losses == again.losses);
  REQUIRE(once.correct == again.correct);
  REQUIRE(once.losses != other.losses);
  REQUIRE(once.losses.size() == 12);
  REQUIRE(once.curve.size() == 3);
  REQUIRE(once.correct.size() == 101);
  const Outcome back = outcome_from(json::parse(json_of(once).dump()));
  REQUIRE(back.correct == once.correct);
  REQUIRE(back.losses.size() == once.losses.size());
  for (size_t i = 0; i < back.losses.size(); ++i) REQUIRE(back.losses[i] == Approx(once.losses[i]).epsilon(1e-6));
  REQUIRE(back.accuracy() == once.accuracy());
  REQUIRE(back.train_accuracy == once.train_accuracy);
  // A rate at which it diverges: NaN from there on, kept as such.
  s.training.lr = 1e30;
  const Outcome lost = outcome_from(json::parse(json_of(train(s, 5).outcome).dump()));
  REQUIRE(lost.losses.size() == 12);
  REQUIRE(std::isnan(lost.losses.back()));
}
#endif
