// Checkpoints as files: what is in them, damage, a full disk, what is kept. Kills: resume_test.cpp.
#include "tutti/nn/checkpoint.h"

#include <sys/resource.h>

#include <csignal>

#include "support/files.h"
#include "support/op_test.h"
#include "support/warnings.h"
#include "tutti/core/safetensors.h"
#include "tutti/nn/linear.h"
#include "tutti/nn/optim/adam.h"
#include "tutti/ops/create.h"
#include "tutti/ops/random.h"

using namespace tutti;
using namespace tutti_test;
namespace fs = std::filesystem;

namespace {

/// A small run with one of everything.
struct Run {
  explicit Run(const std::string& folder, nn::CheckpointOptions options = {}) : checkpoint(folder, options) {
    checkpoint.add("model", model);
    checkpoint.add("optimizer", optimizer);
    checkpoint.add("schedule", schedule);
    checkpoint.add("generator", generator);
    checkpoint.add("count", count);
    checkpoint.add("best", best);
    checkpoint.add("done", done);
    checkpoint.add("note", note);
    checkpoint.add("history", history);
  }
  nn::Linear model{{.in = 2, .out = 1}};
  optim::AdamW optimizer{model.parameters()};
  optim::Scheduler schedule{optimizer, optim::cosine(10)};
  Generator generator{1};
  int64_t count = 0;
  double best = 0;
  bool done = false;
  std::string note;
  Tensor history;
  nn::Checkpoint checkpoint;
};

std::vector<std::string> files(const TemporaryFolder& folder) {
  std::vector<std::string> list;
  for (const auto& entry : fs::directory_iterator(folder / "")) list.push_back(entry.path().filename().string());
  std::sort(list.begin(), list.end());
  return list;
}

/// The step that a new run resumes from; it says which the file was, and warns of nothing.
int64_t resumed(const std::string& folder) {
  Run run(folder);
  int64_t step = -1;
  CHECK(warnings_of([&] { step = run.checkpoint.resume().value_or(-1); }).empty());
  CHECK(run.count == step);
  return step;
}

}  // namespace

TEST_CASE("Checkpoint: every kind of value comes back, to the bit") {
  const TemporaryFolder folder;
  Run a(folder / "run");
  CHECK_FALSE(a.checkpoint.resume());
  a.model.weight.tensor().set_grad(ones({1, 2}));
  a.model.bias.tensor().set_grad(ones({1}));
  a.optimizer.step();
  a.schedule.step();
  (void)a.generator.next();
  (void)rand({2});
  a.count = INT64_MIN;
  a.best = 0.1;
  a.done = true;
  a.note = std::string("a\0b\xff", 4);
  a.history = Tensor::from({1, 2, 3}, {3}, DType::bfloat16);
  const auto position = default_generator().position();
  a.checkpoint.save(7);

  manual_seed(99);
  Run b(folder / "run");
  REQUIRE(b.checkpoint.resume() == 7);
  CHECK(b.model.weight.tensor().to_vector<float>() == a.model.weight.tensor().to_vector<float>());
  CHECK(b.optimizer.steps() == 1);
  CHECK(b.optimizer.groups()[0].lr == a.optimizer.groups()[0].lr);
  CHECK(b.schedule.factor() == a.schedule.factor());
  CHECK(b.generator.seed() == 1);
  CHECK(b.generator.position() == 1);
  CHECK(default_generator().position() == position);
  CHECK(default_generator().seed() != 99);
  CHECK(b.count == INT64_MIN);
  CHECK(b.best == 0.1);
  CHECK(b.done);
  CHECK(b.note == a.note);
  CHECK(b.history.dtype() == DType::bfloat16);
  CHECK(b.history.to_vector<float>() == std::vector<float>{1, 2, 3});
  manual_seed(0);

  // Other programs read it: PyTorch's names behind the part's, and texts.
  const auto file = load_safetensors(folder / "run/step-7.safetensors");
  CHECK(file.contains("model.weight"));
  CHECK(file.contains("optimizer.0.0.exp_avg"));
  const auto texts = load_safetensors_metadata(folder / "run/step-7.safetensors");
  CHECK(texts.at("tutti.checkpoint") == "1");
  CHECK(texts.at("step") == "7");
  CHECK(texts.at("crc32").size() == 8);
}

TEST_CASE("Checkpoint: any damage is found, said, and the file before it taken") {
  const TemporaryFolder folder;
  Run run(folder / "");
  for (int64_t step : {5, 10}) {
    run.count = step;
    run.checkpoint.save(step);
  }
  const std::string last = folder / "step-10.safetensors", good = read_file(last);
  const auto falls_back = [&](const std::string& bytes) {
    write_file(last, bytes);
    Run next(folder / "");
    std::optional<int64_t> step;
    const auto said = warnings_of([&] { step = next.checkpoint.resume(); });
    const bool ok = step == 5 && next.count == 5 && said.size() == 1 &&
                    said[0].find("step-10.safetensors: ") != std::string::npos &&
                    said[0].ends_with("; going on from step 5 instead; renamed to .damaged") && !fs::exists(last) &&
                    read_file(last + ".damaged") == bytes;
    return ok;
  };
  for (size_t n = 0; n < good.size(); n += 97)
    if (!falls_back(good.substr(0, n))) FAIL_CHECK("cut to " << n << " bytes");
  for (size_t at = 0; at < good.size(); at += at < 40 ? 1 : 31) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    if (bad[at] == ' ' || good[at] == ' ') continue;  // space between values says nothing
    if (!falls_back(bad)) FAIL_CHECK("byte " << at << " of " << good.size());
  }
  CHECK(falls_back(good + "more"));
  CHECK(falls_back(read_file(folder / "step-5.safetensors")));  // whole, but of another step
  write_file(last, good);
  CHECK(resumed(folder / "") == 10);

  // None is whole: that is no reason to begin anew, and all files stay.
  for (const char* name : {"step-5.safetensors", "step-10.safetensors"}) write_file(folder / name, "nothing");
  Run next(folder / "");
  REQUIRE_THROWS_AS(next.checkpoint.resume(), IoError);
  REQUIRE_THROWS_WITH(next.checkpoint.resume(), Catch::Contains("none of 2 files is whole; the last: ") &&
                                                    Catch::Contains("step-10.safetensors: too short for a header"));
  CHECK(fs::exists(last));
}

TEST_CASE("Checkpoint: the last ones are kept, and nothing of runs that were killed while they wrote") {
  const TemporaryFolder folder;
  const auto gone = std::to_string(getpid());  // as in a container, where every run has this number
  const std::string leftover = folder / ("step-3.safetensors." + gone + ".1.tmp"),
                    alive = folder / "step-3.safetensors.1.1.tmp", mine = folder / "notes.tmp";
  for (const auto& path : {leftover, alive, mine}) write_file(path, "half");
  Run run(folder / "", {.keep = 2});
  for (int64_t step : {8, 9, 10, 11, 11}) {
    run.count = step;
    run.checkpoint.save(step);
  }
  CHECK(files(folder) == std::vector<std::string>{"notes.tmp", "step-10.safetensors", "step-11.safetensors",
                                                  "step-3.safetensors.1.1.tmp"});
  CHECK(resumed(folder / "") == 11);
  fs::remove(folder / "step-11.safetensors");
  CHECK(resumed(folder / "") == 10);
}

TEST_CASE("Checkpoint: a full disk is said, and what was there stays") {
  const TemporaryFolder folder;
  Run run(folder / "", {.keep = 1});
  run.count = 1;
  run.checkpoint.save(1);
  run.count = 2;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{700, before.rlim_max};  // no file may grow beyond so many bytes
  setrlimit(RLIMIT_FSIZE, &full);
  std::string what;
  try {
    run.checkpoint.save(2);
  } catch (const IoError& e) {
    what = e.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK_THAT(what, Catch::Contains("step-2.safetensors: cannot write: "));
  CHECK(files(folder) == std::vector<std::string>{"step-1.safetensors"});
  CHECK(resumed(folder / "") == 1);
  run.checkpoint.save(2);  // there is room again
  CHECK(resumed(folder / "") == 2);
}

TEST_CASE("Checkpoint: files of another run are neither mixed with nor overwritten") {
  const TemporaryFolder folder;
  Run first(folder / "");
  first.count = 10;
  first.checkpoint.save(10);
  Run second(folder / "");
  REQUIRE_THROWS_WITH(second.checkpoint.save(20), "Checkpoint: " + folder / "step-10.safetensors" +
                                                      " is there already, of another run, so step 20 is not saved: go "
                                                      "on from it by resume(), or use another folder");
  CHECK(resumed(folder / "") == 10);
  REQUIRE_THROWS_WITH(first.checkpoint.save(9), Catch::Contains("of a later step, so step 9 is not saved"));
  REQUIRE(second.checkpoint.resume() == 10);
  second.checkpoint.save(11);
  CHECK(files(folder).size() == 2);
}

TEST_CASE("Checkpoint: what does not fit is an error that names the file and the part") {
  const TemporaryFolder folder;
  nn::Linear narrow({.in = 2, .out = 1}), wide({.in = 3, .out = 1});
  const auto resume = [&](const std::string& name, nn::Linear& model) {
    nn::Checkpoint c(folder / "");
    c.add(name, model);
    return c.resume();
  };
  nn::Checkpoint saved(folder / "");
  saved.add("model", narrow);
  saved.save(1);
  REQUIRE(resume("model", narrow) == 1);
  REQUIRE_THROWS_AS(resume("model", wide), ValueError);
  REQUIRE_THROWS_WITH(resume("model", wide),
                      Catch::Contains("step-1.safetensors: model: load_state_dict: ") && Catch::Contains("weight"));
  REQUIRE_THROWS_WITH(resume("net", narrow),
                      "Checkpoint: " + folder / "step-1.safetensors" +
                          " has the parts default_generator model, but added were default_generator net");
  CHECK(files(folder).size() == 1);

  REQUIRE_THROWS_WITH(nn::Checkpoint(""), "Checkpoint: the folder's name is empty");
  REQUIRE_THROWS_WITH(nn::Checkpoint("x", {.keep = 0}), "Checkpoint: keep is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(saved.add("model", wide), "Checkpoint: \"model\" was added before");
  REQUIRE_THROWS_WITH(saved.add("a.b", wide),
                      "Checkpoint: a part cannot be called \"a.b\"; letters, digits, - and _ can be");
  REQUIRE_THROWS_WITH(saved.save(-1), "Checkpoint: step -1 is negative");
  write_file(folder / "file", "");
  REQUIRE_THROWS_AS(nn::Checkpoint(folder / "file").resume(), IoError);
  REQUIRE_THROWS_AS(nn::Checkpoint(folder / "file").save(1), IoError);
}
