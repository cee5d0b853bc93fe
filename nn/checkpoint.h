// Stopping and going on: everything that the next step of a training run depends on, in one file, the last few of which
// are kept. (The function `checkpoint` of autograd/checkpoint.h is another thing: it recomputes a block.)
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tutti/core/generator.h"
#include "tutti/nn/data/loader.h"
#include "tutti/nn/module.h"
#include "tutti/nn/optim/scheduler.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct CheckpointOptions {
  int64_t keep = 3;  ///< files, at least 1: older ones are removed once a newer one is safe on the disk
};

/// A folder of files step-<n>.safetensors, and what is saved there:
///
///     nn::Checkpoint checkpoint("runs/digits");
///     checkpoint.add("model", model);
///     checkpoint.add("optimizer", optimizer);
///     checkpoint.add("loader", loader);
///     int64_t step = checkpoint.resume().value_or(0);
///     ..
///         if (++step % 100 == 0) checkpoint.save(step);
///
/// Where all is added that the run depends on, a run that was killed at any moment and resumes comes to the same bits
/// as one that was never stopped. The default generator is always saved. Save after step(), for gradients are not.
///
/// A file's tensors are called "model.embed.weight" (part, then the part's own name), so that other programs can read
/// them; its texts are "tutti.checkpoint" (the version), "step", "parts", and the "crc32" of everything.
///
/// What was added must outlive the checkpoint, and stay where it is.
class Checkpoint {
 public:
  using State = std::map<std::string, Tensor>;

  /// ValueError on an empty name or keep < 1. The folder is made by the first save.
  explicit Checkpoint(std::string folder, CheckpointOptions options = {});

  /// A part of the run by a name of letters, digits, - and _. ValueError on another name, or one that was added before.
  void add(const std::string& name, Module& module);
  void add(const std::string& name, optim::Optimizer& optimizer);
  void add(const std::string& name, optim::Scheduler& scheduler);
  void add(const std::string& name, data::Loader& loader);
  void add(const std::string& name, Generator& generator);
  /// Values of one's own.
  void add(const std::string& name, Tensor& value);
  void add(const std::string& name, int64_t& value);
  void add(const std::string& name, double& value);
  void add(const std::string& name, bool& value);
  void add(const std::string& name, std::string& value);
  /// Anything else that can be said in tensors.
  void add(const std::string& name, std::function<State()> save, std::function<void(const State&)> load);

  /// Writes step-<step>.safetensors, whole or not at all, then removes the files before the last `keep`, and what runs
  /// that were killed while they wrote left behind. IoError if the file cannot be written (a full disk, say): then the
  /// files before it are all there. IoError also, before anything is written, if the folder has files that this run
  /// did not go on from (resume() was not called, or there is a later step): they are of another run.
  void save(int64_t step);
  /// Loads the last file, if there is any, and returns its step. A damaged one is refused, and the one before it taken;
  /// a warning says so, and the damaged one is renamed to <name>.damaged. IoError if there are files and none is good,
  /// or one cannot be opened. ValueError if the file has other parts than were added, or one does not fit (another
  /// model, say): parts that were added before that one are loaded then.
  std::optional<int64_t> resume();

 private:
  struct Part {
    std::string name;
    std::function<State()> save;
    std::function<void(const State&)> load;
  };
  std::string path_of(int64_t step) const;
  std::string part_names() const;
  std::vector<int64_t> steps() const;
  void load(const std::string& path, const SafetensorsFile& file);
  void remove_leftovers() const;
  std::string folder_;
  CheckpointOptions options_;
  std::vector<Part> parts_;
  bool began_ = false;  // the files in the folder are this run's
};

}  // namespace tutti::nn
#pragma GCC visibility pop
