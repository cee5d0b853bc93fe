// Two modalities in a token: which channels each of them reaches; and the FLOPs penalty of dynamic groups in training.
#if __has_include("grouped_vs_standard/claims/base.h")
#include "common/classifier.h"
#include "grouped_vs_standard/claims/base.h"
#include "support/catch.h"
#include "tutti/tutti.h"

using namespace comparison;
using namespace tutti;
using examples::Embedding;

TEST_CASE("Classifier: halves and interleaved channels of two modalities", "[classifier]") {
  for (const Embedding embedding : {Embedding::halves, Embedding::interleaved}) {
    const examples::ClassifierOptions o{.attention = nn::MultiHeadAttentionOptions{.num_heads = 1},
                                        .inputs = 5,
                                        .tokens = 3,
                                        .dim = 8,
                                        .layers = 1,
                                        .classes = 2,
                                        .hidden = {8},
                                        .embedding = embedding,
                                        .first_inputs = 2};
    manual_seed(1);
    examples::Classifier model(o);
    const no_grad off;
    const Tensor x = randn({2, 3, 5}), other = clone(x);
    const Tensor first = slice(other, 2, 0, 2);
    copy_(first, first + 1.0);
    const auto change = mean(abs(model.embedded(other) - model.embedded(x)), {0, 1}).to_vector<float>();
    for (size_t c = 0; c < 8; ++c) REQUIRE((change[c] > 0) == (embedding == Embedding::halves ? c < 4 : c % 2 == 0));
    REQUIRE(cost_of(o).parameters == model.parameter_count());
  }
  examples::ClassifierOptions wrong{.attention = nn::MultiHeadAttentionOptions{.num_heads = 1},
                                    .inputs = 5,
                                    .dim = 8,
                                    .layers = 1,
                                    .hidden = {8},
                                    .embedding = Embedding::halves};
  REQUIRE_THROWS_WITH(examples::Classifier(wrong),
                      "Classifier: first_inputs is 0; of 5 inputs in two parts it is 1 to 4");
  wrong.dim = 9;
  wrong.first_inputs = 2;
  REQUIRE_THROWS_WITH(examples::Classifier(wrong), "Classifier: dim = 9 has no halves; an even one fits");
}

TEST_CASE("train: the penalty on FLOPs makes the gate choose more groups", "[classifier]") {
  auto options = grouped_options(1, 4);
  options.dynamic.candidates = {1, 2, 4};
  options.scale = nn::AttentionScale::head_dim;
  Setting s = base::for_task({.name = "planted", .variant = "in", .train = 200, .test = 100}, 60, 1, 4, 40);
  s = with_attention(s, options, /*equal_parameters=*/false);
  const auto share = [&](double penalty) {
    s.training.flops_penalty = penalty;
    const Trained run = train(s, 1);
    const no_grad off;
    run.model->eval();
    (*run.model)(run.task->tokens_of(run.data.test.x, false));
    return flops_share(*run.model).item();
  };
  const double free = share(0), dear = share(5);
  REQUIRE(dear < free);
  REQUIRE(dear >= 0.25);
  REQUIRE(!flops_share(*fresh_model(base::planted("in"), 1)).defined());
}
#endif
