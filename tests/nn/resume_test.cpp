// A run that is killed at any moment, also while it saves, and resumes comes to the same bits as one that was not.
// TUTTI_KILLS=100 kills a hundred times.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "support/files.h"
#include "support/op_test.h"
#include "tutti/core/safetensors.h"
#include "tutti/nn/checkpoint.h"
#include "tutti/nn/dropout.h"
#include "tutti/nn/linear.h"
#include "tutti/nn/optim/adam.h"
#include "tutti/nn/optim/clip.h"
#include "tutti/nn/optim/sgd.h"
#include "tutti/ops/activation.h"
#include "tutti/ops/create.h"
#include "tutti/ops/loss.h"
#include "tutti/ops/random.h"

using namespace tutti;
using namespace tutti_test;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int64_t all_steps = 60;

struct Net : nn::Callable<Net> {
  nn::Linear up{{.in = 6, .out = 12}}, down{{.in = 12, .out = 3}};
  nn::Dropout dropout{0.3};
  void children(nn::Visitor& visit) override { visit("up", up), visit("down", down), visit("dropout", dropout); }
  Tensor forward(const Tensor& x) { return down(dropout(gelu(up(x)))); }
};

/// The program that is killed: trains from the last checkpoint to the end, and writes all that it then is.
void train(const std::string& folder, bool adam) {
  Generator fixed(3);
  const data::TensorDataset samples(randn({44, 6}, {}, fixed), randint(0, 3, {44}, {.dtype = DType::int64}, fixed));
  Net model;
  std::unique_ptr<optim::Optimizer> optimizer;
  if (adam)
    optimizer = std::make_unique<optim::AdamW>(model.parameters(), optim::AdamWOptions{.lr = 0.01});
  else
    optimizer = std::make_unique<optim::SGD>(model.parameters(), optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
  optim::Scheduler schedule(*optimizer, optim::chained(optim::linear_warmup(5), 5, optim::cosine(all_steps)));
  data::Loader loader(samples, {.batch_size = 8, .shuffle = true, .seed = 1});
  double total = 0;
  nn::Checkpoint checkpoint(folder, {.keep = 2});
  checkpoint.add("model", model);
  checkpoint.add("optimizer", *optimizer);
  checkpoint.add("schedule", schedule);
  checkpoint.add("loader", loader);
  checkpoint.add("total", total);
  int64_t step = checkpoint.resume().value_or(0);
  while (step < all_steps)
    for (auto& [x, labels] : loader) {
      const Tensor loss = cross_entropy(model(x), labels);
      optimizer->zero_grad();
      loss.backward();
      optim::clip_grad_norm(model.parameters(), 0.5);
      optimizer->step();
      schedule.step();
      total += loss.item();
      checkpoint.save(++step);
      if (step == all_steps) break;
    }
}

/// This program again, as the child below. (Not by fork alone: threads do not survive it.)
pid_t start(const std::string& folder, bool adam) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv("TUTTI_TEST_RESUME_FOLDER", folder.c_str(), 1);
  setenv("TUTTI_TEST_RESUME_ADAM", adam ? "1" : "0", 1);
  execl("/proc/self/exe", "test_nn", "the program that is killed", "-o", "/dev/null", static_cast<char*>(nullptr));
  _exit(127);
}

/// Waits for its end: true if it came to that by itself.
bool finished(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) {
    REQUIRE(WTERMSIG(status) == SIGKILL);
    return false;
  }
  REQUIRE(WEXITSTATUS(status) == 0);
  return true;
}

std::string last_file(const std::string& folder) {
  return read_file(folder + "/step-" + std::to_string(all_steps) + ".safetensors");
}

bool writing(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".tmp") return true;
  return false;
}

}  // namespace

TEST_CASE("the program that is killed", "[.]") {  // nothing, unless start() asks for it
  const char *folder = std::getenv("TUTTI_TEST_RESUME_FOLDER"), *adam = std::getenv("TUTTI_TEST_RESUME_ADAM");
  if (folder && adam) train(folder, *adam == '1');
}

TEST_CASE("resume: killed at any moment, a run comes to the bits of one that was not") {
  const char* const asked = std::getenv("TUTTI_KILLS");
  const int kills = asked ? std::atoi(asked) : 8;
  int done = 0, while_writing = 0;
  std::mt19937 random(1);
  for (const bool adam : {false, true}) {
    INFO((adam ? "AdamW" : "SGD"));
    const TemporaryFolder straight;
    const auto begin = Clock::now();
    REQUIRE(finished(start(straight / "", adam)));
    const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
    const std::string want = last_file(straight / "");
    REQUIRE_FALSE(want.empty());
    for (const int goal = adam ? kills : kills / 2; done < goal;) {
      const TemporaryFolder folder;
      for (bool ended = false; !ended;) {
        const pid_t child = start(folder / "", adam);
        if (done < goal) {
          std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<uint64_t>(whole)));
          kill(child, SIGKILL);
        }
        ended = finished(child);
        done += ended ? 0 : 1;
        while_writing += !ended && writing(folder / "") ? 1 : 0;
      }
      CHECK(last_file(folder / "") == want);
      CHECK_FALSE(writing(folder / ""));
    }
  }
  if (asked) WARN(done << " kills, " << while_writing << " of them while it wrote");
}
