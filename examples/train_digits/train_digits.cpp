// Learns 8x8 handwritten digits: the whole of Tutti that a training program needs, in one page.
#include <tutti/tutti.h>

#include <fmt/format.h>

#include "common/program.h"
using namespace tutti;

// A hidden layer. A module is a plain class: members, their names, and a forward.
struct Hidden : nn::Callable<Hidden> {
  Hidden(int64_t in, int64_t out) : linear({.in = in, .out = out}), norm({.width = out}) {}
  nn::Linear linear;
  nn::LayerNorm norm;
  nn::Dropout dropout{0.2};

  void children(nn::Visitor& visit) override {
    visit("linear", linear), visit("norm", norm), visit("dropout", dropout);
  }
  Tensor forward(const Tensor& x) { return dropout(gelu(norm(linear(x)))); }
};

// Modules hold modules. 64 pixels are few: two such layers learn them better, and faster, than attention does.
struct Classifier : nn::Callable<Classifier> {
  Hidden first{64, 256}, second{256, 256};
  nn::Linear head{{.in = 256, .out = 10}};

  void children(nn::Visitor& visit) override { visit("first", first), visit("second", second), visit("head", head); }
  Tensor forward(const Tensor& images) { return head(second(first(flatten(images, 1)))); }
};

int main(int argc, char** argv) {
  CLI::App app("Trains a small network on 8x8 handwritten digits, tests it and saves it", "train_digits");
  examples::ProgramOptions program;
  std::string data_file = DIGITS_FILE, model_file;
  int64_t epochs = 60;
  app.add_option("--data", data_file, "CSV of 64 pixels and a digit per line, gzipped or not")->capture_default_str();
  app.add_option("--epochs", epochs, "Passes over the training images")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--save", model_file, "Write the trained model to this .safetensors file");
  examples::add_options(app, program);

  return examples::run(app, argc, argv, [&] {
    examples::apply(program);
    examples::check_writable(model_file);
    fmt::print("{}, seed {}\n", examples::environment(), program.seed);

    const Tensor table = data::read_csv(data_file);  // [1797, 65]
    if (table.size(1) != 65 || table.size(0) <= 360)
      throw ValueError(message("--data: expected over 360 lines of 64 pixels and a digit, not ", table.shape()));
    const Tensor images = reshape(to(slice(table, 1, 0, 64) / 16.0, DType::float32), {-1, 8, 8});
    const Tensor digits = to(select(table, 1, 64), DType::int64);
    const int64_t all = table.size(0), train = all - 360;  // the last 360 are for the test
    const data::TensorDataset training(slice(images, 0, 0, train), slice(digits, 0, 0, train));
    const Tensor test_images = slice(images, 0, train, all), test_digits = slice(digits, 0, train, all);

    Classifier model;
    optim::AdamW optimizer(model.parameters(), {.lr = 3e-3, .weight_decay = 0.05});
    // No two epochs show a digit in the same way.
    const auto wobble = data::random_affine({.degrees = 9, .scale = 0.15, .shear = 9, .translate = 0.75});
    data::Loader loader(training, {.batch_size = 64, .shuffle = true, .seed = program.seed, .transform = wobble});
    optim::Scheduler schedule(optimizer, optim::cosine(epochs * loader.size(), 0.01));
    for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
      double total = 0;
      for (auto& [batch, labels] : loader) {
        const Tensor loss = cross_entropy(model(batch), labels);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        schedule.step();
        total += loss.item();
      }
      if (epoch % 10 == 0 || epoch == epochs)
        fmt::print("epoch {:2d}  training loss {:.3f}\n", epoch, total / static_cast<double>(loader.size()));
    }
    model.eval();  // no dropout
    const no_grad off;
    fmt::print("test accuracy {:.3f}\n", metrics::accuracy(model(test_images), test_digits));
    if (!model_file.empty()) save_safetensors(model_file, model.state_dict());
    return 0;
  });
}
