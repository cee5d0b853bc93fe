#include "grouped_vs_standard/training.h"

#include <numeric>

namespace comparison {

using namespace tutti;

namespace {

/// AdamW with weight decay on matrices only (biases and norms are left alone), as is usual for transformers.
std::vector<optim::ParameterGroup> parameter_groups(const nn::Module& model, double weight_decay) {
  optim::ParameterGroup matrices{.weight_decay = weight_decay}, others{.weight_decay = 0};
  for (const Tensor& p : model.parameters()) (p.rank() > 1 ? matrices : others).parameters.push_back(p);
  return {matrices, others};
}

examples::Classifier seeded(const Arm& arm, uint64_t seed) {
  manual_seed(seed);
  return examples::Classifier(arm.model);
}

std::vector<uint8_t> evaluate(examples::Classifier& model, const Protocol& p, const Images& test) {
  const no_grad off;
  model.eval();
  std::vector<uint8_t> correct;
  const int64_t batch = 250;
  for (int64_t begin = 0; begin < test.labels.size(0); begin += batch) {
    const Tensor pixels = slice(test.pixels, 0, begin, begin + batch),
                 labels = slice(test.labels, 0, begin, begin + batch);
    const auto right = eq(argmax(model(patches(pixels, p.patch)), 1), labels).to_vector<uint8_t>();
    correct.insert(correct.end(), right.begin(), right.end());
  }
  return correct;
}

}  // namespace

double Outcome::accuracy() const {
  return 100.0 * std::accumulate(correct.begin(), correct.end(), 0.0) / static_cast<double>(correct.size());
}

Stepper::Stepper(const Arm& arm, const Protocol& p, const Images& images, uint64_t seed)
    : model_(seeded(arm, seed)),
      optimizer_(parameter_groups(model_, p.weight_decay), {.lr = p.lr}),
      tokens_(patches(slice(images.pixels, 0, 0, p.batch), p.patch)),
      labels_(slice(images.labels, 0, 0, p.batch)) {}

void Stepper::step() {
  const Tensor loss = cross_entropy(model_(tokens_), labels_);
  optimizer_.zero_grad();
  loss.backward();
  optimizer_.step();
}

std::optional<Outcome> train(const Arm& arm, const Protocol& p, const RunData& data, uint64_t seed,
                             const std::function<bool(int64_t step)>& keep_going) {
  examples::Classifier model = seeded(arm, seed);
  optim::AdamW optimizer(parameter_groups(model, p.weight_decay), {.lr = p.lr});
  optim::Scheduler schedule(optimizer, optim::chained(optim::linear_warmup(p.warmup()), p.warmup(),
                                                      optim::cosine(std::max<int64_t>(1, p.steps - p.warmup()))));

  Generator subset_draw(seed);  // of its own, so that both arms see the same images whatever their weights drew
  const Tensor positions = slice(randperm(data.train.labels.size(0), subset_draw), 0, 0, p.training_images);
  const Images images = subset(data.train, positions);
  const data::TensorDataset dataset(images.pixels, images.labels);
  data::LoaderOptions options{.batch_size = p.batch, .shuffle = true, .drop_last = true, .seed = seed};
  if (p.augment)
    options.transform =
        data::compose({data::random_shift(p.shift, data.train.pixels.at({0, 0, 0})), data::random_flip()});
  data::Loader loader(dataset, options);

  Outcome outcome;
  for (int64_t step = 0; step < p.steps;) {
    for (auto& [pixels, labels] : loader) {
      if (step == p.steps) break;
      if (!keep_going(step)) return std::nullopt;
      const Tensor loss = cross_entropy(model(patches(pixels, p.patch)), labels);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      schedule.step();
      outcome.losses.push_back(static_cast<float>(loss.item()));
      ++step;
    }
  }
  outcome.correct = evaluate(model, p, data.test);
  return outcome;
}

}  // namespace comparison
