// A whole training program: the same weights, bit for bit, whatever the number of threads and whoever's region it runs
// in.
#include "support/engines.h"
#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/parallel.h"
#include "tutti/nn/data/loader.h"
#include "tutti/nn/optim/adam.h"
#include "tutti/nn/optim/clip.h"
#include "tutti/nn/optim/scheduler.h"
#include "tutti/nn/transformer.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/index.h"
#include "tutti/ops/loss.h"
#include "tutti/ops/random.h"
#include "tutti/ops/reduce.h"

using namespace tutti;
using namespace tutti_test;

namespace {

struct Classifier : nn::Callable<Classifier> {
  nn::Linear embed{{.in = 20, .out = 64}};
  nn::Parameter position;
  nn::TransformerEncoder encoder;
  nn::Linear head{{.in = 64, .out = 5}};
  explicit Classifier(const nn::AttentionSpec& attention)
      : position(randn({49, 64})), encoder({.block = {.embed_dim = 64, .attention = attention}, .layers = 1}) {}
  void children(nn::Visitor& visit) override {
    visit("embed", embed);
    visit("position", position);
    visit("encoder", encoder);
    visit("head", head);
  }
  Tensor forward(const Tensor& x) { return head(mean(encoder(embed(x) + position), 1)); }
};

/// 20 steps; the weights afterwards, one after another.
std::vector<float> train(Classifier model) {
  const Tensor x = random_tensor({64, 49, 20}, DType::float32, 1);
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 64; ++i) labels.push_back(i % 5);
  const data::TensorDataset samples(x, Tensor::from(labels, {64}));
  data::Loader loader(samples, {.batch_size = 32, .shuffle = true, .seed = 3});
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-3});
  optim::Scheduler schedule(optimizer, optim::linear_warmup(5));
  for (int epoch = 0; epoch < 10; ++epoch)
    for (auto& [input, label] : loader) {
      const Tensor loss = cross_entropy(model(input), label);
      optimizer.zero_grad();
      loss.backward();
      optim::clip_grad_norm(model.parameters(), 1);
      optimizer.step();
      schedule.step();
    }
  std::vector<float> weights;
  for (const Tensor& p : model.parameters()) {
    const auto v = p.to_vector<float>();
    weights.insert(weights.end(), v.begin(), v.end());
  }
  return weights;
}

}  // namespace

TEST_CASE(
    "training: bit-identical weights with 1, 2 and 6 threads, either engine, and inside the caller's OpenMP region") {
  const tutti_test::OnCpu here;
  for (const auto& attention : {nn::standard({.num_heads = 4}), nn::grouped({.groups = 4})}) {
    manual_seed(5);
    const Classifier start(attention);
    set_num_threads(1);
    const auto one = train(start);
    CHECK(one != [&] {
      std::vector<float> w;
      for (const Tensor& p : start.parameters())
        for (float v : p.to_vector<float>()) w.push_back(v);
      return w;
    }());
    for_each_engine([&] {
      for (int threads : {2, 6}) {
        set_num_threads(threads);
        CHECK(train(start) == one);
      }
    });
#ifdef _OPENMP
    std::vector<float> inside[2];
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 2; ++i) inside[i] = train(start);
    CHECK(inside[0] == one);
    CHECK(inside[1] == one);
#else
    WARN("skipped: the tests were built without OpenMP");
#endif
    set_num_threads(0);
  }
}

TEST_CASE("training: a small classifier learns") {
  manual_seed(6);
  nn::Linear hidden({.in = 8, .out = 32}), out({.in = 32, .out = 2});
  std::vector<Tensor> parameters = hidden.parameters();
  for (const Tensor& p : out.parameters()) parameters.push_back(p);
  const Tensor x = randn({256, 8});
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 256; ++i) labels.push_back(x.at({i, 0}) * x.at({i, 1}) > 0);
  const Tensor y = Tensor::from(labels, {256});
  optim::AdamW optimizer(parameters, {.lr = 1e-2});
  double first = 0, last = 0;
  for (int i = 0; i < 150; ++i) {
    const Tensor loss = cross_entropy(out(gelu(hidden(x))), y);
    if (i == 0) first = loss.item();
    last = loss.item();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  CHECK(first > 0.6);
  CHECK(last < 0.1);
}
