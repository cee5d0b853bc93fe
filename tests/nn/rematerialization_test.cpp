// What rematerialisation promises of whole models: the same bits, and how much a block keeps for backward.
#include "support/engines.h"
#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;
using namespace tutti_test;

namespace {

struct Model : nn::CallableWith<Model, AttentionOptions> {
  Model(const nn::AttentionSpec& attention, double dropout)
      : embed({.in = 6, .out = 32}),
        encoder({.block = {.embed_dim = 32, .attention = attention, .dropout = dropout}, .layers = 2}),
        head({.in = 32, .out = 5}) {}
  void children(nn::Visitor& visit) override {
    visit("embed", embed);
    visit("encoder", encoder);
    visit("head", head);
  }
  Tensor forward(const Tensor& x, const AttentionOptions& options = {}) {
    return head(mean(encoder(embed(x), options), 1));
  }
  nn::Linear embed;
  nn::TransformerEncoder encoder;
  nn::Linear head;
};

/// 20 on the CPU; a few where kernels may be emulated.
int step_count() { return default_device() == cpu ? 20 : 3; }

/// Parameters and losses of so many steps.
Tensors train(const nn::AttentionSpec& attention, bool causal, double dropout) {
  manual_seed(7);
  Model model(attention, dropout);
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-2});
  Tensors result;
  const Tensor x = random_tensor({24, 15, 6}, DType::float32, 1);
  std::vector<int64_t> classes(24);
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int64_t>(i % 5);
  const Tensor labels = Tensor::from(classes, {24});
  for (int step = 0; step < step_count(); ++step) {
    const Tensor loss = cross_entropy(model(x, {.causal = causal}), labels);
    optimizer.zero_grad();
    loss.backward();
    optim::clip_grad_norm(model.parameters(), 1);
    optimizer.step();
    result.push_back(loss.detach());
  }
  for (const auto& p : model.parameters()) result.push_back(p.detach());
  return result;
}

}  // namespace

TEST_CASE("rematerialisation: 20 training steps have the same bits with it and without, on any threads and engine") {
  const nn::AttentionSpec standard = nn::standard({.num_heads = 4}),
                          grouped = nn::grouped({.num_heads = 4, .groups = 4});
  struct Case {
    const char* name;
    const nn::AttentionSpec& attention;
    bool causal;
    double dropout;
  };
  const int before = num_threads();
  for (const Case& c : {Case{"vit", standard, false, 0}, Case{"grouped", grouped, false, 0},
                        Case{"causal with dropout", standard, true, 0.1}}) {
    INFO(c.name);
    Tensors want;
    {
      const Rematerialization off(false);
      want = train(c.attention, c.causal, c.dropout);
    }
    const auto compare = [&] {
      const Tensors got = train(c.attention, c.causal, c.dropout);
      REQUIRE(got.size() == want.size());
      for (size_t i = 0; i < got.size(); ++i) check_identical(got[i], want[i]);
    };
    if (default_device() != cpu) {
      compare();
      continue;
    }
    for_each_engine([&] {
      for (int threads : {1, 2, 6}) {
        set_num_threads(threads);
        compare();
      }
    });
    set_num_threads(before);
  }
}

TEST_CASE("rematerialisation: a block keeps ten times its input for backward") {
  if (default_device() != cpu) {
    WARN(
        "skipped: "
        "a device's kernels keep what they need");
    return;
  }
  const int64_t batch = 64, tokens = 49, dim = 128;  // the vit of tutti-bench
  const auto kept = [&](int64_t layers) {
    nn::TransformerEncoder encoder({.block = {.embed_dim = dim, .attention = nn::standard({.num_heads = 4})},
                                    .layers = layers,
                                    .final_norm = false});
    const Tensor x = random_tensor({batch, tokens, dim}, DType::float32, 1);
    const size_t before = memory::stats(cpu).current;
    const Tensor y = encoder(x);
    return static_cast<double>(memory::stats(cpu).current - before);
  };
  const double unit = static_cast<double>(batch * tokens * dim * 4);
  const double per_block = (kept(4) - kept(2)) / 2 / unit;
  INFO(per_block);
  CHECK(per_block > 9.5);
  CHECK(per_block < 10.5);
}
