// Dynamic groups: nested blocks, the choice in training and evaluation, its gradient, FLOPs, errors.
#include "tutti/nn/attention/dynamic_groups.h"

#include <cmath>
#include <thread>

#include "support/module_gradcheck.h"
#include "support/op_test.h"
#include "tutti/autograd/checkpoint.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/nn/init.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/softmax.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::DynamicGroups;

namespace {

Tensor values(const Dims& shape, uint64_t seed) { return random_tensor(shape, DType::float64, seed); }

/// In float64, with biases that are not 0 and a gate that decides.
DynamicGroups made(std::vector<int64_t> candidates, double temperature = 1, int64_t in = 8, int64_t width = 8) {
  manual_seed(9);
  DynamicGroups layer(
      {.in = in, .width = width, .dynamic = {.candidates = std::move(candidates), .temperature = temperature}});
  layer.to(DType::float64);
  nn::init::normal_(layer.bias, 0, 0.1);
  nn::init::normal_(layer.gate.weight, 0, 3);
  return layer;
}

/// Makes every sample choose one candidate.
void always(DynamicGroups& layer, int64_t candidate) {
  nn::init::zeros_(layer.gate.weight);
  nn::init::zeros_(layer.gate.bias);
  nn::init::constant_(slice(layer.gate.bias, 0, candidate, candidate + 1).detach(), 50);
}

/// W [3, E, C] with everything but the G diagonal blocks 0.
Tensor masked(const Tensor& weight, int64_t groups) {
  const int64_t out = weight.size(1) / groups, in = weight.size(2) / groups;
  const Tensor kept = zeros_like(weight).detach();
  for (int64_t i = 0; i < groups; ++i) {
    const auto block = [&](const Tensor& t) {
      return slice(slice(t, 1, i * out, (i + 1) * out), 2, i * in, (i + 1) * in);
    };
    copy_(block(kept), block(weight.detach()));
  }
  return kept;
}

/// The static result of one candidate, by the masked dense map.
Tensor by_mask(const DynamicGroups& layer, const Tensor& x, int64_t groups) {
  const Tensor& w = layer.weight;
  return linear(x, reshape(masked(w, groups), {3 * w.size(1), w.size(2)}), layer.bias).detach();
}

}  // namespace

TEST_CASE("dynamic groups: one candidate is the static map of W's diagonal blocks, in training and evaluation") {
  for (int64_t groups : {1, 2, 4})
    for (int64_t width : {8, 12}) {
      DynamicGroups layer = made({groups}, 1, 8, width);
      const Tensor x = values({3, 5, 8}, 1).requires_grad_(), same = values({3, 5, 8}, 1).requires_grad_();
      const Tensor y = layer(x);
      const nn::Parameter blocks(layer.blocks(groups).detach());
      const Tensor still = grouped_linear(same, blocks, layer.bias.tensor().detach());
      check_identical(y.detach(), still.detach());
      check_close(y.detach(), Array(by_mask(layer, x, groups)), 1e-12);
      const Tensor dy = values(y.shape(), 2);
      y.backward(dy);
      still.backward(dy);
      check_close(x.grad(), Array(same.grad()), 1e-12);
      const Tensor gradient = layer.weight.tensor().grad();
      check_identical(gradient, masked(gradient, groups));  // nothing outside of the blocks
      CHECK(sum(square(gradient)).item() == Approx(sum(square(blocks.tensor().grad())).item()));
      layer.eval();
      check_identical(layer(x).detach(), y.detach());
      CHECK(layer.flops_share().item() == 1.0 / static_cast<double>(groups));
      check_identical(layer(select(x, 0, 1)).detach(), select(y, 0, 1).detach());
    }
}

TEST_CASE("dynamic groups: the masks are nested, each inside the one before, of share 1 / G") {
  DynamicGroups layer = made({1, 2, 4, 8});
  layer.eval();
  std::vector<double> before(3 * 64, 1);
  for (int64_t i = 0; i < 4; ++i) {
    always(layer, i);
    layer.zero_grad();
    const Tensor x = values({2, 9, 8}, 3);
    sum(square(layer(x))).backward();
    const auto gradient = layer.weight.tensor().grad().to_vector<double>();
    double kept = 0;
    for (size_t w = 0; w < gradient.size(); ++w) {
      if (gradient[w] != 0) CHECK(before[w] != 0);
      kept += gradient[w] != 0;
    }
    CHECK(kept == 3 * 64 / (1 << i));
    before = gradient;
  }
}

TEST_CASE("dynamic groups: evaluation gives each sample the static result of its choice") {
  DynamicGroups layer = made({1, 2, 4});
  layer.eval();
  const Tensor x = values({24, 3, 8}, 4);
  const Tensor y = layer(x).detach();
  const auto choice = layer.choice().to_vector<int64_t>();
  std::vector<int> used(3);
  double share = 0;
  for (int64_t b = 0; b < 24; ++b) {
    const int64_t which = choice[static_cast<size_t>(b)], groups = int64_t{1} << which;
    ++used[static_cast<size_t>(which)];
    share += 1.0 / static_cast<double>(groups) / 24;
    check_close(select(y, 0, b), Array(by_mask(layer, select(x, 0, b), groups)), 1e-12);
    // The choice is the gate's, of the mean token.
    const auto logits = layer.gate(mean(select(x, 0, b), 0)).to_vector<double>();
    CHECK(std::max_element(logits.begin(), logits.end()) - logits.begin() == which);
  }
  for (int count : used) CHECK(count > 0);  // else nothing was parted
  CHECK(layer.flops_share().item() == Approx(share));
  CHECK_FALSE(layer.gate.weight.tensor().grad().defined());
  layer.train();
  check_close(layer(x).detach(), Array(y), 1e-12);  // hard in value in training too
  CHECK(layer.choice().to_vector<int64_t>() == choice);
  CHECK(layer(zeros({0, 3, 8}, {DType::float64})).shape() == Dims{0, 3, 24});
  layer.eval();
  CHECK(layer(zeros({0, 3, 8}, {DType::float64})).shape() == Dims{0, 3, 24});
}

TEST_CASE("dynamic groups: the gate's gradient is the softmax's, p (s - sum p s) / temperature") {
  for (double temperature : {1.0, 2.5}) {
    DynamicGroups layer = made({1, 2, 4}, temperature);
    const Tensor x = values({4, 3, 8}, 5), dy = values({4, 3, 24}, 6);
    layer(x).backward(dy);
    const Tensor logits = layer.gate(mean(x, 1)).detach();
    const Array p(softmax(div(logits, temperature), 1)), means(mean(x, 1));
    Array bias({3}), weight({3, 8});
    for (int64_t b = 0; b < 4; ++b) {
      double s[3], expected = 0;
      for (int64_t i = 0; i < 3; ++i) {
        s[i] = sum(select(dy, 0, b) * by_mask(layer, select(x, 0, b), int64_t{1} << i)).item();
        expected += p[b * 3 + i] * s[i];
      }
      for (int64_t i = 0; i < 3; ++i) {
        const double d = p[b * 3 + i] * (s[i] - expected) / temperature;
        bias[i] += d;
        for (int64_t c = 0; c < 8; ++c) weight[i * 8 + c] += d * means[b * 8 + c];
      }
    }
    check_close(layer.gate.bias.tensor().grad(), bias, 1e-12);
    check_close(layer.gate.weight.tensor().grad(), weight, 1e-12);
  }
}

TEST_CASE("dynamic groups: W and b get the gradients of the chosen maps") {
  DynamicGroups layer = made({1, 2, 4});
  const auto check = [&](const std::vector<Tensor>& inputs) {
    const auto gate = [](const std::string& name) { return name.starts_with("gate"); };
    std::vector<Tensor> all = inputs;
    for (const auto& [name, p] : layer.named_parameters())
      if (!gate(name)) all.push_back(p);
    return gradcheck(
        [&](const std::vector<Tensor>& x) {
          layer.weight = nn::Parameter(x[1]);
          layer.bias = nn::Parameter(x[2]);
          return square(layer(x[0]));
        },
        all);
  };
  layer.eval();
  CHECK(check({values({6, 2, 8}, 7).requires_grad_()}));
  // In training x reaches the gate too, whose gradient is not that of the (hard) value; W and b are as above.
  layer.train();
  CHECK(check({values({6, 2, 8}, 7)}));
}

TEST_CASE("dynamic groups: flops_share is the gate's expectation in training, with its gradient, within bounds") {
  DynamicGroups layer = made({1, 2, 8}, 2);
  const Tensor x = values({5, 3, 8}, 8);
  CHECK(gradcheck_module(layer,
                         [&](const std::vector<Tensor>& in) {
                           layer(in[0]);
                           return layer.flops_share();
                         },
                         {values({5, 3, 8}, 8).requires_grad_()}));
  layer(x);
  const Array p(softmax(div(layer.gate(mean(x, 1)), 2), 1).detach());
  double want = 0;
  for (int64_t b = 0; b < 5; ++b) want += (p[3 * b] + p[3 * b + 1] / 2 + p[3 * b + 2] / 8) / 5;
  CHECK(layer.flops_share().item() == Approx(want));
  for (bool training : {true, false}) {
    layer.train(training);
    for (int64_t i = 0; i < 3; ++i) {
      always(layer, i);
      layer(x);
      const double share = layer.flops_share().item();
      CHECK(share >= 1.0 / 8);
      CHECK(share <= 1);
      CHECK(share == Approx(i == 0 ? 1 : i == 1 ? 0.5 : 0.125));
    }
  }
}

TEST_CASE("dynamic groups: a penalty on flops_share moves the gate to more groups") {
  DynamicGroups layer = made({1, 4});
  always(layer, 0);
  nn::init::zeros_(layer.gate.bias);
  const Tensor x = values({4, 3, 8}, 1);
  layer(x);
  layer.flops_share().backward();
  const auto gradient = layer.gate.bias.tensor().grad().to_vector<double>();
  CHECK(gradient[0] == Approx(0.5 * (1 - 0.625)));
  CHECK(gradient[1] == Approx(-0.5 * (0.625 - 0.25)));
}

TEST_CASE("dynamic groups: start, counts, copies") {
  manual_seed(3);
  const DynamicGroups layer({.in = 128, .width = 128, .dynamic = {.candidates = {4, 8}}});
  CHECK(layer.parameter_count() == 3 * 128 * 128 + 3 * 128 + 2 * 128 + 2);
  double top = 0;
  for (double v : layer.weight.tensor().to_vector<double>()) top = std::max(top, std::abs(v));
  const double bound = std::sqrt(3.0 / 32);  // as for four groups
  CHECK(top <= bound);
  CHECK(top > 0.98 * bound);
  CHECK(DynamicGroups({.in = 8, .width = 8, .dynamic = {.candidates = {2}}, .bias = false}).parameter_count() ==
        3 * 64 + 8 + 1);
}

TEST_CASE("dynamic groups: errors") {
  const auto make = [](std::vector<int64_t> candidates, double temperature = 1, int64_t in = 24, int64_t width = 24) {
    DynamicGroups(
        {.in = in, .width = width, .dynamic = {.candidates = std::move(candidates), .temperature = temperature}});
  };
  REQUIRE_THROWS_WITH(make({}), "DynamicGroups: dynamic.candidates is empty; {1, 2, 4} would do");
  REQUIRE_THROWS_WITH(make({2, 3}),
                      "DynamicGroups: dynamic.candidates = {2, 3}: 3 is no multiple of 2 before it; each must divide "
                      "the next, as in {1, 2, 4, 8}");
  REQUIRE_THROWS_WITH(
      make({1, 2, 2}),
      "DynamicGroups: dynamic.candidates = {1, 2, 2}: 2 does not exceed the 2 before it; each must divide the next, "
      "as in {1, 2, 4, 8}");
  REQUIRE_THROWS_WITH(make({4, 2}), Contains("dynamic.candidates = {4, 2}: 2 does not exceed the 4 before it; "));
  REQUIRE_THROWS_WITH(make({1, 5}),
                      "DynamicGroups: dynamic.candidates = 5 does not divide in = 24; of the numbers nearby, 4 and 6 "
                      "do");
  REQUIRE_THROWS_WITH(make({1, 8}, 1, 24, 12),
                      "DynamicGroups: dynamic.candidates = 8 does not divide width = 12; of the numbers nearby, 6 and "
                      "12 do");
  REQUIRE_THROWS_WITH(make({0}), "DynamicGroups: dynamic.candidates is 0; it must be at least 1");
  for (double t : {0.0, -1.0})
    REQUIRE_THROWS_WITH(make({1, 2}, t), Contains("dynamic.temperature is") && Contains("; it must be positive"));
  REQUIRE_THROWS_WITH(make({1}, 1, 0), "DynamicGroups: in is 0; it must be at least 1");
  DynamicGroups layer = made({1, 2});
  REQUIRE_THROWS_WITH(layer.flops_share(), "DynamicGroups: flops_share before the first forward");
  REQUIRE_THROWS_WITH(layer.choice(), "DynamicGroups: choice before the first forward");
  REQUIRE_THROWS_WITH(layer(ones({2, 3, 7})),
                      "DynamicGroups: input [2, 3, 7] is neither [batch, tokens, 8] nor [tokens, 8]");
  REQUIRE_THROWS_WITH(layer(Tensor()), "DynamicGroups: x is undefined");
  const Tensor x = ones({2, 3, 8}, {DType::float64});
  REQUIRE_THROWS_WITH(layer(x, ones({2, 3})), "DynamicGroups: shown must be bool, not float32");
  REQUIRE_THROWS_WITH(layer(x, to(ones({3, 3}), DType::boolean)),
                      "DynamicGroups: shown [3, 3] is neither [2, 3] nor [1, 3], a truth for each token");
}

TEST_CASE("dynamic groups: the gate's mean is over the tokens that are shown, whatever the others are") {
  DynamicGroups layer = made({1, 2, 4});
  for (bool training : {true, false}) {
    layer.train(training);
    const Tensor x = values({6, 5, 8}, 4);
    const std::vector<int64_t> lengths{5, 3, 4, 1, 2, 0};
    std::vector<bool> shown;
    for (int64_t b = 0; b < 6; ++b)
      for (int64_t t = 0; t < 5; ++t) {
        shown.push_back(t < lengths[static_cast<size_t>(b)]);
        if (!shown.back()) fill_(select(select(x, 0, b), 0, t), t % 2 ? std::nan("") : 1e30);
      }
    const Tensor y = layer(x, Tensor::from(shown, {6, 5})).detach();
    const auto choice = layer.choice().to_vector<int64_t>();
    const double share = layer.flops_share().item();
    double want = 0;
    for (int64_t b = 0; b < 6; ++b) {
      const int64_t n = lengths[static_cast<size_t>(b)];
      const Tensor own = slice(select(x, 0, b), 0, 0, n);  // as if the rest were not there; of no token: the bias alone
      check_close(slice(select(y, 0, b), 0, 0, n), Array(layer(own).detach()), 1e-12);
      CHECK(layer.choice().to_vector<int64_t>() == std::vector<int64_t>{choice[static_cast<size_t>(b)]});
      want += layer.flops_share().item() / 6;
    }
    CHECK(share == Approx(want));
    // All shown is no mask, bit for bit; one row of truths stands for every sample.
    const Tensor clean = values({6, 5, 8}, 4);
    for (const Dims& all : {Dims{6, 5}, Dims{1, 5}}) {
      check_identical(layer(clean, to(ones(all), DType::boolean)).detach(), layer(clean).detach());
      const double now = layer.flops_share().item();
      layer(clean, to(ones(all), DType::boolean));
      CHECK(layer.flops_share().item() == now);
    }
  }
}

TEST_CASE("dynamic groups: a penalty that would have no gradient is refused, evaluation and no_grad are not") {
  DynamicGroups layer = made({1, 2, 4});
  const auto call = [&](const std::vector<Tensor>& in) { return layer(in[0]); };
  const Tensor x = values({4, 3, 8}, 1).requires_grad_();
  const std::string refused =
      "DynamicGroups: flops_share has no gradient, because the last forward in training did not record (checkpoint "
      "runs it so); call the layer outside checkpoint, or read this under no_grad";
  const Tensor y = checkpoint(call, {x});
  REQUIRE_THROWS_AS(layer.flops_share(), ValueError);
  REQUIRE_THROWS_WITH(layer.flops_share(), refused);
  CHECK(layer.choice().shape() == Dims{4});
  sum(y).backward();  // runs the layer again, recording
  CHECK(layer.flops_share().requires_grad());
  {
    const no_grad off;
    layer(x);
    CHECK(layer.flops_share().item() > 0);
  }
  REQUIRE_THROWS_WITH(layer.flops_share(), refused);
  layer.eval();
  {
    const no_grad off;
    layer(x);
    CHECK(layer.flops_share().item() > 0);
  }
  CHECK(layer.flops_share().item() > 0);
  checkpoint(call, {x});
  CHECK(layer.flops_share().item() > 0);
}

TEST_CASE("dynamic groups: of no samples, or samples without tokens, the share is a number") {
  for (bool training : {true, false}) {
    DynamicGroups layer = made({1, 2, 4});
    layer.train(training);
    layer(zeros({0, 3, 8}, {DType::float64}));
    CHECK(layer.flops_share().item() == 0);
    if (training) {
      layer.flops_share().backward();
      CHECK(sum(abs(layer.gate.weight.tensor().grad())).item() == 0);
    }
    layer(zeros({2, 0, 8}, {DType::float64}));
    CHECK(layer.flops_share().item() >= 0.25);
    CHECK(layer.flops_share().item() <= 1);
  }
}

TEST_CASE("dynamic groups: threads that evaluate one layer at once get what one alone gets") {
  DynamicGroups layer = made({1, 2, 4});
  layer.eval();
  const no_grad off;
  const Tensor inputs[] = {values({24, 3, 8}, 4), values({9, 2, 8}, 5)};
  const Tensor alone[] = {layer(inputs[0]), layer(inputs[1])};
  int64_t wrong[] = {0, 0};
  const auto evaluate = [&](size_t i) {
    const no_grad here;
    for (int n = 0; n < 200; ++n) {
      const Tensor y = layer(inputs[i]);
      wrong[i] += sum(abs(y - alone[i])).item() != 0;
      wrong[i] += !(layer.flops_share().item() >= 0.25);  // of either thread's
      const int64_t samples = layer.choice().size(0);
      wrong[i] += samples != 24 && samples != 9;
    }
  };
  std::thread other(evaluate, 1);
  evaluate(0);
  other.join();
  CHECK(wrong[0] == 0);
  CHECK(wrong[1] == 0);
}
