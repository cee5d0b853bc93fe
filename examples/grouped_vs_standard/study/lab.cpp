#include "grouped_vs_standard/study/lab.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "common/program.h"
#include "common/progress.h"
#include "grouped_vs_standard/study/workers.h"

namespace comparison {

using nlohmann::json;

namespace {

/// FNV-1a of the key's text: the name of its file. The file holds the key itself, so a collision is seen.
std::string hash(const std::string& text) {
  uint64_t h = 14695981039346656037ULL;
  for (unsigned char c : text) h = (h ^ c) * 1099511628211ULL;
  return fmt::format("{:016x}", h);
}

/// Blank results, while the real ones are missing: claims compute with them and their findings are thrown away.
Outcome blank(const Setting& setting) {
  Outcome o;
  o.correct = {0, 1};
  o.losses.assign(static_cast<size_t>(setting.training.steps), 1.0);
  o.curve.assign(static_cast<size_t>(setting.training.evaluations), 0.0);
  return o;
}

/// Seconds that a run takes on one thread, roughly: what the progress bar needs. At 40 GFLOP/s.
double guess_seconds(const Setting& setting) {
  const auto model = completed(setting.model, *make_task(setting.task));
  const double c = static_cast<double>(model.dim), t = static_cast<double>(model.tokens);
  double flops = 0;
  for (int64_t hidden : model.hidden)
    flops += 2 * t * (4 * c * c + 2 * c * static_cast<double>(hidden)) + 4 * t * t * c;
  const double samples = static_cast<double>(setting.training.steps * setting.training.batch);
  return 3 * flops * samples / 4e10 + 1;
}

}  // namespace

double number(const json& object, const std::string& name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? std::nan("") : found->get<double>();
}

Lab::Lab(LabOptions options) : options_(std::move(options)) { std::filesystem::create_directories(options_.folder); }

int64_t Lab::seeds(int64_t k) const { return options_.quick ? std::max<int64_t>(2, (k + 1) / 3) : k; }

std::string Lab::path_of(const json& key) const { return options_.folder + "/" + hash(key.dump()) + ".json"; }

json Lab::ask(Cell cell) {
  const std::string path = path_of(cell.key);
  if (auto known = read_.find(path); known != read_.end()) return known->second;
  if (std::ifstream file(path); file) {
    const json stored = json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (!stored.is_discarded() && stored.value("key", json()) == cell.key) {
      seconds_ += stored.value("seconds", 0.0);
      ++commits_[stored.value("commit", "unknown")];
      return read_[path] = stored.at("result");
    }
  }
  missing_.emplace(path, std::move(cell));
  return json::object();
}

std::vector<Outcome> Lab::train(const Setting& setting, int64_t k, uint64_t first) {
  std::vector<Outcome> outcomes;
  const json key = json_of(setting);
  double cost = -1;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(k); ++seed) {
    const json cell_key = {{"train", key}, {"seed", seed}};
    json result = ask({cell_key, [setting, seed] { return json_of(comparison::train(setting, seed).outcome); }, 0});
    if (result.empty()) {
      if (cost < 0) cost = guess_seconds(setting);
      missing_.at(path_of(cell_key)).cost = cost;
    }
    outcomes.push_back(result.empty() ? blank(setting) : outcome_from(result));
  }
  return outcomes;
}

json Lab::measure(const std::string& what, const json& key, const std::function<json()>& work, double cost, Run run) {
  json whole{{"measure", what}, {"of", key}};
  if (run == Run::exclusive && !options_.machine.empty()) whole["on"] = options_.machine;
  return ask({whole, work, cost, run});
}

void Lab::run_missing(int workers, int threads) {
  std::vector<std::pair<std::string, Cell>> shared, exclusive;
  double total = 0;
  for (const auto& [path, cell] : missing_) {
    (cell.run == Run::shared ? shared : exclusive).emplace_back(path, cell);
    total += cell.cost / (cell.run == Run::shared ? workers : 1);
  }
  // Longest first: then no worker ends long after the others.
  std::stable_sort(shared.begin(), shared.end(), [](auto& a, auto& b) { return a.second.cost > b.second.cost; });
  examples::Progress progress(total);
  double before = 0;
  std::vector<std::string> failed;
  const auto make = [&](const std::vector<std::pair<std::string, Cell>>& cells, int processes, int threads_each) {
    const auto work = [&](int64_t i) {
      const auto& [path, cell] = cells[static_cast<size_t>(i)];
      tutti::set_num_threads(threads_each);
      const auto start = std::chrono::steady_clock::now();
      json result;
      try {
        result = cell.work();
      } catch (const std::exception& e) {
        throw tutti::IoError(fmt::format("{}: {}", cell.key.dump(), e.what()));
      }
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      examples::write_file(
          path,
          json{{"key", cell.key}, {"result", result}, {"seconds", seconds}, {"commit", options_.commit}}.dump() + "\n");
    };
    const auto show = [&](const std::vector<bool>& finished) {
      double done = before;
      for (size_t i = 0; i < cells.size(); ++i) done += finished[i] ? cells[i].second.cost / processes : 0;
      progress.update(done,
                      fmt::format("{} of {} cells", std::count(finished.begin(), finished.end(), true), cells.size()));
    };
    for (int64_t i : run_in_processes(static_cast<int64_t>(cells.size()), processes, work, show))
      failed.push_back(cells[static_cast<size_t>(i)].second.key.dump());
    for (const auto& c : cells) before += c.second.cost / processes;
  };
  make(shared, workers, 1);
  make(exclusive, 1, threads);
  if (!failed.empty())
    throw tutti::IoError(fmt::format("{} cells failed, the first: {}", failed.size(), failed.front()));
}

}  // namespace comparison
