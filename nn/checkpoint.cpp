#include "tutti/nn/checkpoint.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "tutti/core/detail/file.h"
#include "tutti/core/error.h"
#include "tutti/core/safetensors.h"
#include "tutti/core/safetensors_file.h"
#include "tutti/core/warning.h"
#include "tutti/nn/detail/checksum.h"
#include "tutti/nn/detail/named_state.h"
#include "tutti/ops/copy.h"

namespace tutti::nn {
namespace {

namespace fs = std::filesystem;
using detail::number;
using detail::StateReader;

constexpr std::string_view prefix = "step-", suffix = ".safetensors", temporary = ".tmp";
constexpr const char *version = "1", *version_key = "tutti.checkpoint";

/// A natural number and nothing else.
std::optional<int64_t> natural(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || text != std::to_string(value)) return {};
  return value;
}

/// Of a file's name.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return {};
  return natural(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
}

/// Whether it is what OutputFile wrote (step-7.safetensors.<process>.<number>.tmp) when its process was killed.
bool left_behind(std::string_view name) {
  if (!name.ends_with(temporary)) return false;
  name.remove_suffix(temporary.size());
  const size_t second = name.rfind('.');
  if (second == name.npos || !natural(name.substr(second + 1))) return false;
  name = name.substr(0, second);
  const size_t first = name.rfind('.');
  if (first == name.npos || !step_of(name.substr(0, first))) return false;
  const auto process = natural(name.substr(first + 1));
  if (!process) return false;
  // Of our own number: a container gives every run the same. It is no write under way, for save() is not.
  return *process == getpid() || (kill(static_cast<pid_t>(*process), 0) != 0 && errno == ESRCH);
}

/// IoError if any byte that matters is another than was written.
SafetensorsFile checked_file(const std::string& path, int64_t step) {
  const SafetensorsFile file(path);
  const auto fail = [&](const std::string& what) { throw IoError(message("Checkpoint: ", path, ": ", what)); };
  auto texts = file.metadata();
  const auto text = [&](const char* key) {
    if (!texts.contains(key)) fail(message("is no checkpoint: it has no \"", key, "\""));
    return texts.at(key);
  };
  if (text(version_key) != version)
    fail(message("is of version \"", text(version_key), "\"; this Tutti reads version ", version));
  const std::string crc = text("crc32");
  texts.erase("crc32");
  detail::Checksum sum(texts);
  for (const std::string& name : file.names()) sum.add(name, file.get(name, cpu));
  if (sum.text() != crc) fail("is damaged: its checksum is " + sum.text() + ", not " + crc);
  text("parts");
  if (text("step") != std::to_string(step)) fail("is of step " + text("step"));
  return file;
}

/// One tensor, of one value.
Checkpoint::State value_state(const Tensor& t) { return {{"value", t}}; }

template <class T>
std::function<void(const Checkpoint::State&)> value_loader(T (StateReader::*read)(const std::string&), auto&& set) {
  return [read, set](const Checkpoint::State& state) {
    StateReader reader("value", state);
    set((reader.*read)("value"));
    reader.end();
  };
}

/// The same for a model, an optimizer, a scheduler, a loader.
template <class T>
void add_stateful(Checkpoint& checkpoint, const std::string& name, T& part) {
  checkpoint.add(
      name, [&part] { return part.state_dict(); }, [&part](const Checkpoint::State& s) { part.load_state_dict(s); });
}

}  // namespace

Checkpoint::Checkpoint(std::string folder, CheckpointOptions options) : folder_(std::move(folder)), options_(options) {
  if (folder_.empty()) throw ValueError("Checkpoint: the folder's name is empty");
  if (options_.keep < 1) throw ValueError(message("Checkpoint: keep is ", options_.keep, "; it must be at least 1"));
  add("default_generator", default_generator());
}

void Checkpoint::add(const std::string& name, std::function<State()> save, std::function<void(const State&)> load) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), fits))
    throw ValueError(message("Checkpoint: a part cannot be called \"", name, "\"; letters, digits, - and _ can be"));
  for (const Part& part : parts_)
    if (part.name == name) throw ValueError(message("Checkpoint: \"", name, "\" was added before"));
  parts_.push_back({name, std::move(save), std::move(load)});
}

void Checkpoint::add(const std::string& name, Module& module) { add_stateful(*this, name, module); }
void Checkpoint::add(const std::string& name, optim::Optimizer& optimizer) { add_stateful(*this, name, optimizer); }
void Checkpoint::add(const std::string& name, optim::Scheduler& scheduler) { add_stateful(*this, name, scheduler); }
void Checkpoint::add(const std::string& name, data::Loader& loader) { add_stateful(*this, name, loader); }

void Checkpoint::add(const std::string& name, Generator& g) {
  add(
      name,
      [&g] {
        return State{{"seed", number(static_cast<int64_t>(g.seed()))},
                     {"position", number(static_cast<int64_t>(g.position()))}};
      },
      [&g](const State& state) {
        StateReader reader("generator", state);
        const int64_t seed = reader.integer("seed"), position = reader.integer("position");
        reader.end();
        g.manual_seed(static_cast<uint64_t>(seed));
        g.set_position(static_cast<uint64_t>(position));
      });
}

void Checkpoint::add(const std::string& name, Tensor& value) {
  add(
      name, [&value] { return value.defined() ? value_state(value.detach()) : State(); },
      [&value](const State& state) {
        const Device device = value.defined() ? value.device() : default_device();
        value = state.empty() ? Tensor() : to(state.at("value"), device);
      });
}
void Checkpoint::add(const std::string& name, int64_t& value) {
  add(
      name, [&value] { return value_state(number(value)); },
      value_loader(&StateReader::integer, [&value](int64_t x) { value = x; }));
}
void Checkpoint::add(const std::string& name, bool& value) {
  add(
      name, [&value] { return value_state(number(int64_t{value})); },
      value_loader(&StateReader::integer, [&value](int64_t x) { value = x != 0; }));
}
void Checkpoint::add(const std::string& name, double& value) {
  add(
      name, [&value] { return value_state(number(value)); },
      value_loader(&StateReader::real, [&value](double x) { value = x; }));
}
void Checkpoint::add(const std::string& name, std::string& value) {
  add(
      name, [&value] { return value_state(detail::text(value)); },
      value_loader(&StateReader::text, [&value](const std::string& x) { value = x; }));
}

std::string Checkpoint::path_of(int64_t step) const {
  return message(folder_, folder_.ends_with('/') ? "" : "/", prefix, step, suffix);
}

std::string Checkpoint::part_names() const {
  std::string names;
  for (const Part& part : parts_) names += (names.empty() ? "" : " ") + part.name;
  return names;
}

/// Those that there are files of, in order. IoError if the folder cannot be read.
std::vector<int64_t> Checkpoint::steps() const {
  std::vector<int64_t> list;
  std::error_code error;
  fs::directory_iterator it(folder_, error);
  if (error == std::errc::no_such_file_or_directory) return list;
  for (; !error && it != fs::directory_iterator(); it.increment(error))
    if (const auto step = step_of(it->path().filename().string())) list.push_back(*step);
  if (error) throw IoError(message("Checkpoint: ", folder_, ": cannot read the folder: ", error.message()));
  std::sort(list.begin(), list.end());
  return list;
}

void Checkpoint::remove_leftovers() const {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error); !error && it != fs::directory_iterator(); it.increment(error))
    if (left_behind(it->path().filename().string())) found.push_back(it->path());
  for (const fs::path& path : found) fs::remove(path, error);  // what cannot be removed costs no more than its room
}

void Checkpoint::save(int64_t step) {
  if (step < 0) throw ValueError(message("Checkpoint: step ", step, " is negative"));
  if (const auto before = steps(); !before.empty() && (!began_ || before.back() > step))
    throw IoError(message("Checkpoint: ", path_of(before.back()), " is there already, of ",
                          began_ ? "a later step" : "another run", ", so step ", step,
                          " is not saved: go on from it by resume(), or use another folder"));
  State all;
  for (const Part& part : parts_)
    for (const auto& [name, t] : part.save()) all.emplace(part.name + "." + name, t);
  std::map<std::string, std::string> texts{
      {version_key, version}, {"step", std::to_string(step)}, {"parts", part_names()}};
  detail::Checksum sum(texts);
  for (const auto& [name, t] : all) sum.add(name, t);
  texts.emplace("crc32", sum.text());

  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw IoError(message("Checkpoint: ", folder_, ": cannot make the folder: ", error.message()));
  remove_leftovers();
  save_safetensors(path_of(step), all, texts);
  began_ = true;

  auto old = steps();
  old.resize(old.size() - std::min(old.size(), static_cast<size_t>(options_.keep)));
  for (const int64_t s : old)
    if (!fs::remove(path_of(s), error) && error)
      warn(message("Checkpoint: ", path_of(s), ": cannot be removed: ", error.message()));
}

std::optional<int64_t> Checkpoint::resume() {
  auto candidates = steps();
  std::vector<std::pair<std::string, std::string>> damaged;  // path and why
  for (; !candidates.empty(); candidates.pop_back()) {
    const int64_t step = candidates.back();
    const std::string path = path_of(step);
    { const tutti::detail::InputFile may_be_read("Checkpoint", path); }  // a mode, say, is no damage
    std::optional<SafetensorsFile> file;
    try {
      file = checked_file(path, step);
    } catch (const IoError& e) {
      damaged.emplace_back(path, e.what());
      continue;
    }
    load(path, *file);
    for (const auto& [bad, why] : damaged) {
      std::error_code error;
      fs::rename(bad, bad + ".damaged", error);
      warn(message(why, "; going on from step ", step, " instead",
                   error ? " (the file cannot be renamed: " + error.message() + ")" : "; renamed to .damaged"));
    }
    began_ = true;
    return step;
  }
  if (!damaged.empty())
    throw IoError(message("Checkpoint: ", folder_, ": none of ", damaged.size(),
                          damaged.size() == 1 ? " file" : " files", " is whole; the last: ", damaged.front().second));
  began_ = true;
  return {};
}

void Checkpoint::load(const std::string& path, const SafetensorsFile& file) {
  if (const std::string& had = file.metadata().at("parts"); had != part_names())
    throw ValueError(message("Checkpoint: ", path, " has the parts ", had, ", but added were ", part_names()));
  for (const Part& part : parts_) {
    State state;  // of one part at a time: no second copy of all
    for (const std::string& name : file.names())
      if (name.starts_with(part.name + ".")) state.emplace(name.substr(part.name.size() + 1), file.get(name, cpu));
    try {
      part.load(state);
    } catch (const Error& e) {
      throw ValueError(message("Checkpoint: ", path, ": ", part.name, ": ", e.what()));
    }
  }
}

}  // namespace tutti::nn
