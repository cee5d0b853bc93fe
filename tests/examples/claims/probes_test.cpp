// Probes of models: attention weights against the layer's own output, ablation that leaves no trace, gradients by part.
#if __has_include("grouped_vs_standard/claims/probes.h")
#include "grouped_vs_standard/claims/probes.h"

#include "grouped_vs_standard/claims/base.h"
#include "support/catch.h"
#include "tutti/nn/attention/self_attention.h"
#include "tutti/tutti.h"

using namespace comparison;
using namespace tutti;

namespace {

Setting small(bool grouped) {
  Setting s = base::for_task({.name = "planted", .variant = "in", .train = 100, .test = 100}, 60, 2, 4, 5);
  return grouped ? grouped_like(s, grouped_options(4)) : s;
}

double largest(const Tensor& x) { return max(abs(x)).item(); }

}  // namespace

TEST_CASE("look: weights times v is the context, and the states are the model's", "[probes]") {
  for (const bool grouped : {false, true}) {
    const Trained run = train(small(grouped), 1);
    const no_grad off;
    examples::Classifier& model = *run.model;
    model.eval();
    const Tensor tokens = run.task->tokens_of(run.data.test.x, false);
    const auto list = states(model, tokens);
    REQUIRE(list.size() == 3);
    REQUIRE(largest(model.classify(list.back()) - model(tokens)) == 0);
    for (size_t layer = 0; layer < 2; ++layer) {
      examples::Block& block = model.blocks[layer];
      const Seen seen = look(block, list[layer]);
      REQUIRE(seen.weights.shape() == Dims{100, 4, 9, 9});
      REQUIRE(largest(sum(seen.weights, -1) - 1.0) < 1e-5);
      const Tensor x = block.norm1(list[layer]);
      Tensor v;
      if (auto* standard = std::get_if<nn::MultiHeadAttention>(&block.attention)) {
        v = chunk(standard->qkv(x), 3, -1)[2];
        REQUIRE(largest(standard->out(seen.context) - (*standard)(x)) < 1e-5);
      } else {
        auto& layer_of_groups = std::get<nn::GroupedMultiHeadAttention>(block.attention);
        v = chunk(grouped_linear(x, layer_of_groups.weight, layer_of_groups.bias), 3, -1)[2];
      }
      const Tensor context = nn::merge_heads(matmul(seen.weights, nn::split_heads(v, 4)), true);
      REQUIRE(largest(context - seen.context) < 1e-4);
    }
  }
}

TEST_CASE("attention_distance: of looking at oneself, and next door", "[probes]") {
  Tensor self = zeros({1, 1, 4, 4}), across = zeros({1, 1, 4, 4});
  for (int64_t i = 0; i < 4; ++i) {
    copy_(select(select(select(select(self, 0, 0), 0, 0), 0, i), 0, i), ones({}));
    copy_(select(select(select(select(across, 0, 0), 0, 0), 0, i), 0, 3 - i), ones({}));
  }
  REQUIRE(attention_distance(self, true) == 0);
  REQUIRE(attention_distance(across, true) == Approx(std::sqrt(2.0)));  // corners of the 2 x 2 grid
  REQUIRE(attention_distance(across, false) == Approx(2));              // 3, 1, 1, 3 on the line
  REQUIRE_THROWS_WITH(attention_distance(zeros({1, 1, 5, 5}), true), "attention_distance: 5 tokens are no square grid");
}

TEST_CASE("ablation_damage: a part that says nothing costs nothing, and the model is as before", "[probes]") {
  const Trained run = train(small(true), 1);
  examples::Classifier& model = *run.model;
  const auto& out = std::get<nn::Linear>(std::get<nn::GroupedMultiHeadAttention>(model.blocks[1].attention).out);
  {
    const no_grad off;
    const Tensor columns = slice(out.weight, 1, 15, 30);
    copy_(columns, zeros(columns.shape()));  // the second group of the second block
  }
  const auto before = model.state_dict();
  std::vector<Tensor> kept;
  for (const auto& [name, x] : before) kept.push_back(clone(x));
  const auto damage = ablation_damage(model, *run.task, run.data.test, 100);
  REQUIRE(damage.size() == 2);
  REQUIRE(damage[0].size() == 4);
  REQUIRE(damage[1][1] == std::vector<double>{0, 0});
  size_t i = 0;
  for (const auto& [name, x] : model.state_dict()) REQUIRE(largest(x - kept[i++]) == 0);
}

TEST_CASE("half_class_cosine: two classes of one loss pull against each other at the start", "[probes]") {
  for (const bool grouped : {false, true}) {
    const Setting s = small(grouped);
    const auto model = fresh_model(s, 1);
    const auto task = make_task(s.task);
    const double cosine = half_class_cosine(*model, *task, task->sample(1).train);
    REQUIRE(cosine < 0);
    REQUIRE(cosine >= -1);
    for (const Tensor& p : model->parameters()) REQUIRE(!p.grad().defined());
  }
}
#endif
