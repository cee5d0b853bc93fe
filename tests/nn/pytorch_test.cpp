// Weights to and from PyTorch's own layers, which pytorch_layers.py runs: the same results and gradients, and the same
// bits back. Skipped, with a word, where python3 (or TUTTI_PYTHON) has no PyTorch.
#include "tutti/nn/pytorch.h"

#include <sys/wait.h>

#include <cstdlib>
#include <functional>

#include "support/files.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/safetensors.h"
#include "tutti/nn/embedding.h"
#include "tutti/nn/sequential.h"
#include "tutti/nn/transformer.h"
#include "tutti/ops/copy.h"

using namespace tutti;
using namespace tutti_test;
using nn::Activation;

namespace {

int python(const std::string& step, const std::string& folder) {
  const char* chosen = std::getenv("TUTTI_PYTHON");
  const std::string command = std::string(chosen && *chosen ? chosen : "python3") + " '" + TUTTI_TEST_DATA +
                              "/pytorch_layers.py' " + step + " '" + folder + "'";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Layer {
  std::string name;
  std::function<std::unique_ptr<nn::Module>()> make;
  std::function<Tensor(nn::Module&, const Tensor&)> call;
  std::optional<nn::PyTorchEncoderLayer> options{};
};

template <class M, class Options>
Layer layer(const std::string& name, Options o, std::optional<nn::PyTorchEncoderLayer> pytorch = {}) {
  return {name, [o] { return std::make_unique<M>(o); },
          [](nn::Module& m, const Tensor& x) { return dynamic_cast<M&>(m)(x); }, pytorch};
}

nn::TransformerBlockOptions block(nn::PyTorchEncoderLayer o, double eps = 1e-5, bool bias = true) {
  return {.embed_dim = 8,
          .attention = nn::standard({.num_heads = 2, .bias = bias}),
          .hidden = 12,
          .norm_first = o.norm_first,
          .activation = o.activation,
          .bias = bias,
          .norm_eps = eps};
}

std::vector<Layer> layers() {
  const nn::PyTorchEncoderLayer usual, first{.norm_first = true}, gelu{.activation = Activation::gelu},
      gelu_first{.activation = Activation::gelu, .norm_first = true};
  return {
      layer<nn::Linear>("linear", nn::LinearOptions{.in = 8, .out = 6}),
      layer<nn::Linear>("linear_without_bias", nn::LinearOptions{.in = 8, .out = 6, .bias = false}),
      layer<nn::Embedding>("embedding", nn::EmbeddingOptions{.count = 10, .width = 8}),
      layer<nn::LayerNorm>("layer_norm", nn::LayerNormOptions{.width = 8}),
      layer<nn::MultiHeadAttention>("attention", nn::MultiHeadAttentionOptions{.embed_dim = 8, .num_heads = 2}),
      layer<nn::MultiHeadAttention>("attention_without_bias",
                                    nn::MultiHeadAttentionOptions{.embed_dim = 8, .num_heads = 2, .bias = false}),
      layer<nn::TransformerBlock>("layer", block(usual), usual),
      layer<nn::TransformerBlock>("layer_gelu_first", block(gelu_first, 1e-3), gelu_first),
      layer<nn::TransformerBlock>("layer_without_bias", block(usual, 1e-5, false), usual),
      layer<nn::TransformerEncoder>(
          "encoder", nn::TransformerEncoderOptions{.block = block(gelu), .layers = 3, .final_norm = false}, gelu),
      layer<nn::TransformerEncoder>("encoder_norm", nn::TransformerEncoderOptions{.block = block(first), .layers = 2},
                                    first),
  };
}

nn::StateDict state_in(const std::map<std::string, Tensor>& file) {
  nn::StateDict state;
  for (const auto& [name, t] : file)
    if (name.starts_with("state.")) state.emplace(name.substr(6), t);
  return state;
}

}  // namespace

TEST_CASE("pytorch: the same weights give the same results, gradients and bits") {
  const TemporaryFolder folder;
  const int made = python("make", folder / "");
  if (made != 0) {
    WARN("skipped: no PyTorch (python3 or TUTTI_PYTHON)");
    CHECK((made == 77 || made == 127));  // no PyTorch, no Python; anything else is a fault
    return;
  }
  for (const Layer& l : layers())
    for (const auto& [name, dtype] : {std::pair("F32", DType::float32), std::pair("F64", DType::float64),
                                      std::pair("BF16", DType::bfloat16), std::pair("F16", DType::float16)}) {
      INFO(l.name << ", " << name);
      const auto file = load_safetensors(folder / (l.name + "." + name + ".safetensors"));
      const auto module = l.make();
      module->to(dtype);
      module->load_state_dict(nn::from_pytorch(*module, state_in(file), l.options));
      save_safetensors(folder / (l.name + "." + name + ".back.safetensors"), nn::to_pytorch(*module));
      if (!file.contains("x")) continue;
      Tensor x = file.at("x");
      if (file.contains("dx")) x.requires_grad_();
      const Tensor y = l.call(*module, x);
      check_close(y.detach(), Array(file.at("y")), 1e-5);
      y.backward(file.at("dy"));
      if (file.contains("dx")) check_close(x.grad(), Array(file.at("dx")), 1e-4);
      nn::StateDict gradients;
      for (const auto& [key, p] : module->named_parameters()) gradients.emplace(key, p.grad());
      for (const auto& [key, t] : state_in(file)) {
        const nn::StateDict ours = nn::from_pytorch(*module, {{key, file.at("d." + key)}}, l.options);
        INFO(key);
        check_close(gradients.at(ours.begin()->first), Array(ours.begin()->second), 1e-4);
      }
    }
  CHECK(python("check", folder / "") == 0);
}

TEST_CASE("pytorch: names follow the modules' types, also inside a model of the user's") {
  struct Model : nn::Callable<Model> {
    nn::Embedding out{{.count = 4, .width = 8}};  // a name that attention has too
    nn::TransformerEncoder encoder{{.block = block({}), .layers = 1}};
    nn::FeedForward ffn{{.embed_dim = 8, .hidden = 4}};
    void children(nn::Visitor& visit) override {
      visit("out", out);
      visit("encoder", encoder);
      visit("ffn", ffn);
    }
    Tensor forward(const Tensor& x) { return ffn(encoder(x)); }
  } model;
  const nn::StateDict theirs = nn::to_pytorch(model);
  std::vector<std::string> names;
  for (const auto& [name, t] : theirs) names.push_back(name);
  CHECK(names == std::vector<std::string>{
                     "encoder.layers.0.linear1.bias", "encoder.layers.0.linear1.weight",
                     "encoder.layers.0.linear2.bias", "encoder.layers.0.linear2.weight", "encoder.layers.0.norm1.bias",
                     "encoder.layers.0.norm1.weight", "encoder.layers.0.norm2.bias", "encoder.layers.0.norm2.weight",
                     "encoder.layers.0.self_attn.in_proj_bias", "encoder.layers.0.self_attn.in_proj_weight",
                     "encoder.layers.0.self_attn.out_proj.bias", "encoder.layers.0.self_attn.out_proj.weight",
                     "encoder.norm.bias", "encoder.norm.weight", "ffn.down.bias", "ffn.down.weight", "ffn.up.bias",
                     "ffn.up.weight", "out.weight"});
  const nn::StateDict back = nn::from_pytorch(model, theirs, nn::PyTorchEncoderLayer{}), mine = model.state_dict();
  CHECK(back.size() == mine.size());
  for (const auto& [name, t] : mine) check_identical(back.at(name), t);
  CHECK(nn::from_pytorch(nn::Linear({.in = 1, .out = 1}), {{"other", mine.begin()->second}}).contains("other"));
}

TEST_CASE("pytorch: what a state does not say is asked for, and what PyTorch's layers cannot be is refused") {
  const nn::TransformerEncoder model({.block = {.embed_dim = 8}});
  REQUIRE_THROWS_WITH(nn::from_pytorch(model, {}),
                      "from_pytorch: blocks.0 has activation gelu and norm_first true; a state does not say what its "
                      "layers had (PyTorch's defaults are relu and false), so pass it: {.activation = .., .norm_first "
                      "= ..}");
  REQUIRE_THROWS_WITH(nn::from_pytorch(model, {}, nn::PyTorchEncoderLayer{}),
                      "from_pytorch: blocks.0 has activation gelu and norm_first true, PyTorch's layer relu and false");
  const auto refused = [](nn::TransformerBlockOptions o, const std::string& what) {
    o.embed_dim = 8;
    REQUIRE_THROWS_WITH(nn::to_pytorch(nn::TransformerEncoder({.block = o})),
                        "to_pytorch: blocks.0" + what + ", which PyTorch's layer cannot have");
  };
  refused({.gated = true}, " has a gated feed-forward");
  refused({.norm = nn::NormKind::rms}, " has RMSNorm");
  refused({.attention = nn::grouped({.groups = 2})}, " has grouped attention");
  refused({.attention = nn::standard({.num_heads = 2, .num_kv_heads = 1})}, ".attention has fewer heads of k and v");
  refused({.attention = nn::standard({.rotary = nn::RotaryOptions{}})}, ".attention has rotary positions");
}
