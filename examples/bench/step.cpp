// `tutti-bench step`: a whole training step of the article's classifier.
#include <cmath>
#include <memory>

#include "bench/contender.h"
#include "common/classifier.h"
#include "common/program.h"

namespace bench {
namespace {

using namespace tutti;

struct Options {
  std::string kind = "standard";
  int64_t batch = 64, heads = 4, groups = 4;
  examples::ClassifierOptions model;
  double ratio = 4;
  bool infer = false;
  examples::ProgramOptions program{.threads = 2};
};

/// Loads what is loaded lazily (threads, oneDNN's kernels), so that work_bytes counts the work alone.
void warm_up(const std::string& kind) {
  examples::Classifier tiny({.attention = examples::attention_from(kind, 4, 4),
                             .inputs = 8,
                             .tokens = 8,
                             .dim = 32,
                             .layers = 1,
                             .hidden = {128}});
  cross_entropy(tiny(randn({4, 8, 8})), zeros({4}, {.dtype = DType::int64})).backward();
  optim::AdamW(tiny.parameters()).step();
}

int run(Options& o) {
  examples::apply(o.program);
  o.model.attention = examples::attention_from(o.kind, o.heads, o.groups);
  o.model.hidden.assign(static_cast<size_t>(o.model.layers), std::llround(o.ratio * static_cast<double>(o.model.dim)));
  warm_up(o.kind);
  examples::reset_peak_rss();
  const int64_t base = examples::status_bytes("VmRSS:");

  examples::Classifier model(o.model);
  const Tensor x = randn({o.batch, o.model.tokens, o.model.inputs});
  const Tensor y = randint(0, o.model.classes, {o.batch});
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-3, .weight_decay = 0.01});
  const auto train = [&] {
    optimizer.zero_grad();
    cross_entropy(model(x), y).backward();
    optimizer.step();
  };
  const auto infer = [&] {
    const no_grad off;
    model(x);
  };
  const std::function<void()> step = o.infer ? std::function<void()>(infer) : train;
  for (int i = 0; i < 5; ++i) step();
  memory::reset_peak();

  return contend("tutti " + o.kind, {{"parameters", model.parameter_count()}, {"environment", examples::environment()}},
                 step, [&] {
                   const int64_t peak = examples::status_bytes("VmHWM:");
                   return nlohmann::json{{"peak_rss_bytes", peak},
                                         {"work_bytes", peak - base},
                                         {"peak_tensor_bytes", memory::stats().peak}};
                 });
}

}  // namespace

std::function<int()> add_step(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("--kind", o->kind, "Attention layer: standard, looped or grouped")->capture_default_str();
  const auto size = [&](const char* name, int64_t& value, const char* what) {
    app.add_option(name, value, what)->check(examples::positive)->capture_default_str();
  };
  size("--batch", o->batch, "Sequences in a batch");
  size("--tokens", o->model.tokens, "Tokens in a sequence");
  size("--inputs", o->model.inputs, "Numbers in a token");
  size("--dim", o->model.dim, "Width of the model");
  size("--heads", o->heads, "Attention heads");
  size("--groups", o->groups, "Groups of the grouped layers");
  size("--layers", o->model.layers, "Transformer blocks");
  size("--classes", o->model.classes, "Classes");
  app.add_option("--ratio", o->ratio, "Feed-forward width over the model's")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_flag("--infer", o->infer, "Only the forward pass, without gradients");
  examples::add_options(app, o->program);
  return [o] { return run(*o); };
}

}  // namespace bench
