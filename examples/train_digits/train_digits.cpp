// Learns 8x8 handwritten digits: the whole of Tutti that a training program needs, in one page.
#include <tutti/tutti.h>

#include <fmt/format.h>

#include "common/program.h"
using namespace tutti;

// Each image is 16 tokens: patches of 2x2 pixels. A module is a plain class: members, their names, and a forward.
struct Classifier : nn::Callable<Classifier> {
  nn::Linear embed{{.in = 4, .out = 64}};
  nn::Parameter position{randn({16, 64}) * 0.02};
  nn::TransformerBlock block{{.embed_dim = 64, .attention = nn::grouped({.groups = 4})}};
  nn::Linear head{{.in = 64, .out = 10}};

  void children(nn::Visitor& visit) override {
    visit("embed", embed);
    visit("position", position);
    visit("block", block);
    visit("head", head);
  }
  Tensor forward(const Tensor& images) {
    const Tensor patches = permute(reshape(images, {-1, 4, 2, 4, 2}), {0, 1, 3, 2, 4});
    return head(mean(block(embed(reshape(patches, {-1, 16, 4})) + position), /*axis=*/1));
  }
};

int main(int argc, char** argv) {
  CLI::App app("Trains a small transformer on 8x8 handwritten digits and saves it", "train_digits");
  examples::ProgramOptions program;
  std::string data_file = DIGITS_FILE, model_file;
  int64_t epochs = 15;
  app.add_option("--data", data_file, "CSV of 64 pixels and a digit per line, gzipped or not")->capture_default_str();
  app.add_option("--epochs", epochs, "Passes over the training images")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--save", model_file, "Write the trained model to this .safetensors file");
  examples::add_options(app, program);

  return examples::run(app, argc, argv, [&] {
    examples::apply(program);
    fmt::print("{}, seed {}\n", examples::environment(), program.seed);

    const Tensor table = data::read_csv(data_file);  // [1797, 65]
    const Tensor pixels = to(slice(table, 1, 0, 64) / 16.0, DType::float32),
                 digit = to(select(table, 1, 64), DType::int64);
    const int64_t test = 360, train = table.size(0) - test;
    const data::TensorDataset training(slice(pixels, 0, 0, train), slice(digit, 0, 0, train));
    const Tensor test_pixels = slice(pixels, 0, train, table.size(0)),
                 test_digit = slice(digit, 0, train, table.size(0));

    Classifier model;
    optim::AdamW optimizer(model.parameters(), {.lr = 3e-3, .weight_decay = 0.05});
    data::Loader loader(training, {.batch_size = 64, .shuffle = true, .seed = program.seed});
    optim::Scheduler schedule(optimizer, optim::cosine(epochs * loader.size(), 0.01));
    for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
      double total = 0;
      for (auto& [images, labels] : loader) {
        const Tensor loss = cross_entropy(model(images), labels);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        schedule.step();
        total += loss.item();
      }
      const no_grad off;
      fmt::print("epoch {:2d}  loss {:.4f}  test accuracy {:.3f}\n", epoch, total / static_cast<double>(loader.size()),
                 metrics::accuracy(model(test_pixels), test_digit));
    }
    if (!model_file.empty()) save_safetensors(model_file, model.state_dict());
    return 0;
  });
}
