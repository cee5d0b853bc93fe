// Trains on handwritten digits, can be stopped at any moment (kill -9 too), and goes on where it was.
#include <tutti/tutti.h>

#include <fmt/format.h>

#include "common/program.h"
using namespace tutti;

struct Classifier : nn::Callable<Classifier> {
  nn::Linear first{{.in = 64, .out = 128}}, head{{.in = 128, .out = 10}};
  nn::Dropout dropout{0.2};
  void children(nn::Visitor& visit) override { visit("first", first), visit("head", head), visit("dropout", dropout); }
  Tensor forward(const Tensor& images) { return head(dropout(gelu(first(images)))); }
};

int main(int argc, char** argv) {
  CLI::App app("Trains on 8x8 handwritten digits; stop it at any moment, and the same command goes on", "resume");
  examples::ProgramOptions program;
  std::string folder = "digits-run", model_file;
  int64_t steps = 3000, every = 100;
  app.add_option("--folder", folder, "Where its checkpoints are")->capture_default_str();
  app.add_option("--steps", steps, "Of the whole training")->check(examples::positive)->capture_default_str();
  app.add_option("--every", every, "Steps from one checkpoint to the next")->check(examples::positive);
  app.add_option("--save", model_file, "Write the trained model to this .safetensors file");
  examples::add_options(app, program);

  return examples::run(app, argc, argv, [&] {
    examples::apply(program);
    const Tensor table = data::read_csv(DIGITS_FILE);  // [1797, 65]: 64 pixels and the digit
    const data::TensorDataset digits(to(slice(table, 1, 0, 64) / 16.0, DType::float32),
                                     to(select(table, 1, 64), DType::int64));
    Classifier model;
    optim::AdamW optimizer(model.parameters(), {.lr = 3e-3});
    optim::Scheduler schedule(optimizer, optim::cosine(steps, 0.01));
    data::Loader loader(digits, {.batch_size = 64, .shuffle = true, .seed = program.seed});
    double average = 2.3;  // of the loss: a value of our own
    nn::Checkpoint checkpoint(folder);
    checkpoint.add("model", model);
    checkpoint.add("optimizer", optimizer);
    checkpoint.add("schedule", schedule);
    checkpoint.add("loader", loader);
    checkpoint.add("average", average);
    int64_t step = checkpoint.resume().value_or(0);
    fmt::print("{}, seed {}: {} step {}\n", examples::environment(), program.seed, step ? "on from" : "from", step);
    while (step < steps)
      for (auto& [images, labels] : loader) {  // begins amid an epoch, if that is where it was
        const Tensor loss = cross_entropy(model(images), labels);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        schedule.step();
        average += (loss.item() - average) / 100;
        if (++step % every == 0 || step == steps) checkpoint.save(step);
        if (step % 500 == 0) fmt::print("step {:4d}  loss {:.4f}\n", step, average);
        if (step == steps) break;
      }
    if (!model_file.empty()) save_safetensors(model_file, model.state_dict());
    return 0;
  });
}
