// Modules, training and data on a CUDA device: what a user gets who changes one word,
// set_default_device(Device::cuda()) or model.to(Device::cuda()). Values are the CPU's; nothing is made on the wrong
// device.
#include "support/devices.h"
#include "support/files.h"
#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;
using namespace tutti_test;

namespace {

using Grouped = nn::GroupedMultiHeadAttentionOptions;

struct Module {
  const char* name;
  /// Makes it, moves it, and gives the results of a forward pass and a backward one.
  std::function<Tensors(Device)> run;
};

/// f(module, x), and the gradients of x and of the parameters.
template <class M, class F>
Tensors pass(M module, const Tensor& input, Device device, const F& f) {
  module.to(device);
  for (const Tensor& p : module.parameters()) CHECK(p.device() == device);
  Tensor x = to(input, device).detach();
  if (is_floating(x.dtype())) x.requires_grad_();
  manual_seed(5);
  const Tensor y = f(module, x);
  Tensors all{y};
  sum(square(y)).backward();
  if (x.requires_grad()) all.push_back(x.grad());
  for (const auto& [name, p] : module.named_parameters()) all.push_back(p.grad());
  return all;
}

Tensor input(const Dims& shape) { return random_tensor(shape, DType::float32, 3); }

std::vector<Module> modules() {
  std::vector<Module> list;
  const auto plain = [&](const char* name, auto make, const Tensor& x) {
    list.push_back({name, [=](Device d) {
                      manual_seed(1);
                      return pass(make(), x, d, [](auto& m, const Tensor& in) { return m(in); });
                    }});
  };
  const Tensor x = input({2, 6, 16});
  plain(
      "Linear", [] { return nn::Linear({.in = 16, .out = 3}); }, x);
  plain(
      "GroupedLinear", [] { return nn::GroupedLinear({.in = 16, .out = 8, .groups = 4}); }, x);
  plain(
      "LayerNorm", [] { return nn::LayerNorm({.width = 16}); }, x);
  plain(
      "GroupedLayerNorm", [] { return nn::GroupedLayerNorm({.width = 16, .groups = 4}); }, x);
  plain(
      "Embedding", [] { return nn::Embedding({.count = 5, .width = 4}); },
      Tensor::from({1, 4, 1, 0}, {2, 2}, DType::int64));
  plain(
      "FeedForward", [] { return nn::FeedForward({.embed_dim = 16, .hidden = 32}); }, x);
  plain(
      "Dropout", [] { return nn::Dropout(0.3); }, x);
  plain(
      "MultiHeadAttention", [] { return nn::MultiHeadAttention({.embed_dim = 16, .num_heads = 4, .dropout = 0.2}); },
      x);
  plain(
      "TransformerEncoder",
      [] {
        return nn::TransformerEncoder(
            {.block = {.embed_dim = 16, .attention = nn::grouped({.num_heads = 4, .groups = 4}), .dropout = 0.1},
             .layers = 2});
      },
      x);
  const auto grouped = [&](const char* name, Grouped o) {
    o.embed_dim = 16;
    o.num_heads = 4;
    plain(
        name, [o] { return nn::GroupedMultiHeadAttention(o); }, x);
  };
  grouped("grouped", {});
  grouped("grouped: scale, norm, output", {.num_kv_heads = 2,
                                           .scale = nn::AttentionScale::learned,
                                           .output = nn::OutputProjection::grouped,
                                           .init = nn::InitSchedule::inverse_index,
                                           .dropout = 0.1,
                                           .norm = nn::ProjectionNorm::per_group});
  grouped("grouped: dropout by elements", {.group_dropout = {.rates = {0.1, 0.2, 0.3, 0.4}}});
  grouped("grouped: dropout of groups", {.group_dropout = {.rates = {0.5}, .whole_groups = true}});
  grouped("grouped: shuffle", {.exchange = nn::GroupExchange::shuffle});
  grouped("grouped: talking heads", {.exchange = nn::GroupExchange::talking_heads});
  grouped("grouped: inter-group", {.exchange = nn::GroupExchange::inter_group});
  grouped("grouped: tokens over groups", {.exchange = nn::GroupExchange::tokens_over_groups});
  grouped("grouped: cascade", {.exchange = nn::GroupExchange::cascade});
  grouped("grouped: dynamic", {.dynamic = {.candidates = {1, 2, 4}}});
  grouped("grouped: big bird", {.sparsity = {.pattern = nn::Sparsity::big_bird, .block = 2, .window = 0}});
  const auto masked = [&](const char* name, nn::GroupExchange exchange) {
    list.push_back({name, [=](Device d) {
                      manual_seed(1);
                      const Grouped o{.embed_dim = 16, .num_heads = 4, .exchange = exchange};
                      const Tensor mask = gt(input({1, 4, 6, 6}), -0.5);
                      return pass(nn::GroupedMultiHeadAttention(o), x, d, [&](auto& m, const Tensor& in) {
                        return m(in, {.mask = to(mask, in.device()), .causal = true, .window = 4});
                      });
                    }});
  };
  masked("grouped, masked", nn::GroupExchange::none);
  masked("grouped, masked: talking heads", nn::GroupExchange::talking_heads);
  masked("grouped, masked: cascade", nn::GroupExchange::cascade);
  list.push_back(
      {"grouped: dynamic, not training", [=](Device d) {
         manual_seed(1);
         nn::GroupedMultiHeadAttention m({.embed_dim = 16, .num_heads = 4, .dynamic = {.candidates = {1, 4}}});
         m.eval();
         const Tensor mask = gt(input({2, 1, 1, 6}), -0.5);
         return pass(m, x, d,
                     [&](auto& layer, const Tensor& in) { return layer(in, {.mask = to(mask, in.device())}); });
       }});
  return list;
}

}  // namespace

TEST_CASE("devices: every module, moved, gives the CPU's values where it is") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu made_here;
  for (const Module& module : modules()) {
    INFO(module.name);
    const Tensors want = module.run(cpu), got = module.run(other);
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      INFO("tensor " << i);
      REQUIRE(got[i].defined() == want[i].defined());
      if (!got[i].defined()) continue;
      CHECK(got[i].device() == other);
      check_close(got[i], Array(want[i]), 2e-5);
    }
  }
  // A module made on the device, fed from there, while the CPU is the default no more; and the other way round.
  set_default_device(other);
  for (const Module& module : modules()) {
    INFO(module.name << ", default device " << to_string(other));
    for (const Tensor& t : module.run(cpu))
      if (t.defined()) CHECK(t.device() == cpu);
  }
}

TEST_CASE("devices: a module says which of two devices it met, and where") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu made_here;
  const std::string both = "devices cpu and " + to_string(other) + " differ; move one with to(x, device)";
  nn::TransformerBlock block({.embed_dim = 16, .attention = nn::standard({.num_heads = 4})});
  block.ffn.to(other);
  REQUIRE_THROWS_WITH(block(input({1, 2, 16})), "in ffn.up: linear: " + both);
  const Tensor x = input({1, 4, 16}), mask = to(ones({4, 4}, {DType::boolean}), other);
  const auto refuses = [&](Grouped o, const Tensor& m, const std::string& text) {
    o.embed_dim = 16;
    o.num_heads = 4;
    nn::GroupedMultiHeadAttention layer(o);
    REQUIRE_THROWS_WITH(layer(x, {.mask = m}), Contains(text));
  };
  refuses({}, mask, "packed_attention: mask is on " + to_string(other) + ", q on cpu");
  const std::string input_text = ": mask is on " + to_string(other) + ", the input on cpu";
  refuses({.exchange = nn::GroupExchange::talking_heads}, mask, "TalkingHeads" + input_text);
  refuses({.exchange = nn::GroupExchange::cascade}, mask, "GroupedMultiHeadAttention" + input_text);
  refuses({.dynamic = {.candidates = {1, 4}}}, to(ones({1, 1, 1, 4}, {DType::boolean}), other),
          "GroupedMultiHeadAttention" + input_text);
  nn::DynamicGroups groups({.in = 16, .width = 16, .dynamic = {.candidates = {1, 4}}});
  REQUIRE_THROWS_WITH(groups(x, to(ones({1, 4}, {DType::boolean}), other)),
                      "DynamicGroups: shown is on " + to_string(other) + ", x on cpu");
}

TEST_CASE("devices: training by one changed word gives what the CPU gives") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu before;
  const TemporaryFolder folder;
  const auto train = [&](Device device) {
    set_default_device(device);
    manual_seed(2);
    const Tensor images = rand({24, 1, 6, 6}), labels = randint(0, 3, {24});
    CHECK(images.device() == device);
    const data::TensorDataset set(images, labels);
    nn::Linear head({.in = 36, .out = 3});
    nn::TransformerBlock block(
        {.embed_dim = 36, .attention = nn::grouped({.num_heads = 4, .groups = 4}), .hidden = 40});
    Tensors parameters = head.parameters();
    for (const Tensor& p : block.parameters()) parameters.push_back(p);
    optim::AdamW optimizer(parameters, {.lr = 1e-2});
    data::Loader loader(set, {.batch_size = 8,
                              .shuffle = true,
                              .transform = data::compose({data::random_shift(1), data::random_flip(),
                                                          data::random_affine({.degrees = 10, .translate = 1})})});
    std::vector<double> losses;
    for (int epoch = 0; epoch < 2; ++epoch)
      for (auto& [batch, target] : loader) {
        const auto model = [&](const std::vector<Tensor>& x) { return block(reshape(x[0], {-1, 1, 36})); };
        const Tensor loss = cross_entropy(head(select(checkpoint(model, {batch}), 1, 0)), target);
        optimizer.zero_grad();
        loss.backward();
        optim::clip_grad_norm(parameters, 1);
        optimizer.step();
        losses.push_back(loss.item());
      }
    const no_grad off;
    const Tensor out = head(select(block(reshape(images, {-1, 1, 36})), 1, 0));
    losses.push_back(metrics::accuracy(out, labels));
    losses.push_back(metrics::macro_f1(out, labels));
    CHECK(metrics::confusion_matrix(out, labels).device() == device);
    // To a file and back, onto this device and the other.
    const std::string file = folder / (to_string(device) + ".safetensors");
    save_safetensors(file, block.state_dict());
    for (const Device target : {cpu, other})
      for (const auto& [name, t] : load_safetensors(file, target)) {
        CHECK(t.device() == target);
        check_identical(to(t, device), block.state_dict().at(name));
      }
    nn::TransformerBlock copy(block);
    copy.load_state_dict(load_safetensors(file));
    check_identical(copy(reshape(images, {-1, 1, 36})), block(reshape(images, {-1, 1, 36})));
    save_npy(folder / "x.npy", images);
    check_identical(load_npy(folder / "x.npy"), images);
    CHECK(load_npy(folder / "x.npy", cpu).device() == cpu);
    const auto used = memory::stats();
    CHECK(used.current > 0);
    CHECK(used.current == memory::stats(device).current);
    return losses;
  };
  const auto here = train(cpu), there = train(other);
  REQUIRE(here.size() == there.size());
  for (size_t i = 0; i < here.size(); ++i) {
    INFO("number " << i);
    CHECK(there[i] == Approx(here[i]).margin(2e-3));
  }
}

TEST_CASE("devices: a model and its optimizer move in the middle of training") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu made_here;
  const auto train = [&](Device later) {
    manual_seed(4);
    nn::Linear model({.in = 5, .out = 3});
    optim::AdamW optimizer(model.parameters(), {.lr = 0.1});
    Tensor x = input({7, 5});
    for (int step = 0; step < 4; ++step) {
      if (step == 2) {
        model.to(later);
        x = to(x, later);
      }
      optimizer.zero_grad();
      sum(square(model(x))).backward();
      optimizer.step();
    }
    return model.state_dict();
  };
  const auto want = train(cpu), got = train(other);
  for (const auto& [name, t] : got) {
    CHECK(t.device() == other);
    check_close(t, Array(want.at(name)), 1e-5);
  }
}

TEST_CASE("devices: attention's statistics") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu made_here;
  for (const auto& o :
       {Grouped{.embed_dim = 16, .num_heads = 4}, Grouped{.embed_dim = 16,
                                                  .num_heads = 4,
                                                  .scale = nn::AttentionScale::learned,
                                                  .sparsity = {.pattern = nn::Sparsity::strided, .block = 2}}}) {
    nn::GroupedMultiHeadAttention layer(o);
    const Tensor x = input({2, 9, 16});
    const nn::AttentionStats want = attention_stats(layer, x, {.causal = true});
    layer.to(other);
    const nn::AttentionStats got = attention_stats(layer, to(x, other), {.causal = true});
    CHECK(got.logit_spread == Approx(want.logit_spread));
    CHECK(got.entropy == Approx(want.entropy));
    CHECK(got.expected_spread == Approx(want.expected_spread));
    CHECK(got.dead_groups == want.dead_groups);
  }
}
