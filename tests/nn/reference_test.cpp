// Against PyTorch: functions, attention, blocks and optimizers, from the values in reference/ (make_reference.py wrote
// them).
#include <map>

#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/safetensors.h"
#include "tutti/nn/optim/adam.h"
#include "tutti/nn/optim/clip.h"
#include "tutti/nn/optim/sgd.h"
#include "tutti/nn/transformer.h"
#include "tutti/ops/activation.h"
#include "tutti/ops/attention.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/index.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/loss.h"
#include "tutti/ops/normalization.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/softmax.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// One file; its float64 values in the dtype under test.
class Reference {
 public:
  Reference(const std::string& name, DType dtype)
      : tensors_(load_safetensors(std::string(TUTTI_TEST_DATA) + "/" + name + ".safetensors")), dtype_(dtype) {}

  Tensor get(const std::string& key) const {
    const Tensor& t = tensors_.at(key);
    return is_floating(t.dtype()) ? to(t, dtype_) : t;
  }
  bool has(const std::string& key) const { return tensors_.contains(key); }

  /// f of the named inputs of a case has the result and the gradients that PyTorch found.
  template <class F>
  void check(const std::string& name, const std::vector<std::string>& inputs, F f, double tolerance64 = 1e-10,
             double tolerance32 = 2e-5) const {
    INFO(name << ", " << name_of(dtype_));
    const double tolerance = dtype_ == DType::float64 ? tolerance64 : tolerance32;
    std::vector<Tensor> x;
    for (const std::string& input : inputs) {
      x.push_back(get(name + "." + input));
      if (has(name + ".d_" + input)) x.back().requires_grad_();
    }
    const Tensor y = f(x);
    check_close(y.detach(), Array(tensors_.at(name + ".y")), tolerance);
    if (!has(name + ".dy")) return;
    y.backward(get(name + ".dy"));
    for (size_t i = 0; i < x.size(); ++i) {
      const std::string key = name + ".d_" + inputs[i];
      if (!has(key)) continue;
      INFO("gradient of " << inputs[i]);
      check_close(x[i].grad(), Array(tensors_.at(key)), tolerance);
    }
  }

 private:
  std::map<std::string, Tensor> tensors_;
  DType dtype_;
};

using Tensors = std::vector<Tensor>;
constexpr DType both[] = {DType::float32, DType::float64};

}  // namespace

TEST_CASE("reference: functions") {
  for (DType dtype : both) {
    const Reference r("functions", dtype);
    r.check("gelu_erf", {"x"}, [](const Tensors& t) { return gelu(t[0]); });
    r.check("gelu_tanh", {"x"}, [](const Tensors& t) { return gelu(t[0], Gelu::tanh); });
    r.check("silu", {"x"}, [](const Tensors& t) { return silu(t[0]); });
    r.check("softmax", {"x"}, [](const Tensors& t) { return softmax(t[0], 0); });
    r.check("log_softmax", {"x"}, [](const Tensors& t) { return log_softmax(t[0], 1); });
    r.check("logsumexp", {"x"}, [](const Tensors& t) { return logsumexp(t[0], 1); });
    r.check("layer_norm", {"x", "weight", "bias"}, [](const Tensors& t) { return layer_norm(t[0], t[1], t[2]); });
    r.check("rms_norm", {"x", "weight"}, [](const Tensors& t) { return rms_norm(t[0], t[1]); });
    r.check("embedding", {"index", "weight"}, [](const Tensors& t) { return embedding(t[0], t[1]); });
  }
}

TEST_CASE("reference: losses") {
  for (DType dtype : both) {
    const Reference r("functions", dtype);
    const Tensor weight = r.get("cross_entropy.weight");
    for (const auto& [name, options] :
         std::map<std::string, CrossEntropyOptions>{{"plain", {}},
                                                    {"smooth", {.label_smoothing = 0.2}},
                                                    {"weighted", {.weight = weight}},
                                                    {"both", {.label_smoothing = 0.3, .weight = weight}},
                                                    {"sum", {.weight = weight, .reduction = Reduction::sum}},
                                                    {"none", {.label_smoothing = 0.1, .reduction = Reduction::none}},
                                                    {"ignore_4", {.ignore_index = 4}}})
      r.check("cross_entropy_" + name, {"logits", "target"},
              [&o = options](const Tensors& t) { return cross_entropy(t[0], t[1], o); });
    for (const auto& [name, reduction] : std::map<std::string, Reduction>{
             {"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}}) {
      r.check("bce_" + name, {"x", "target"},
              [how = reduction](const Tensors& t) { return binary_cross_entropy_with_logits(t[0], t[1], how); });
      r.check("mse_" + name, {"x", "target"},
              [how = reduction](const Tensors& t) { return mse_loss(t[0], t[1], how); });
    }
  }
}

TEST_CASE("reference: scaled dot-product attention") {
  for (DType dtype : both) {
    const Reference r("attention", dtype);
    const auto attend = [&](const std::string& name, const AttentionOptions& options) {
      r.check(name, {"q", "k", "v"},
              [&](const Tensors& t) { return scaled_dot_product_attention(t[0], t[1], t[2], options); });
    };
    attend("plain", {});
    attend("scaled", {.scale = 0.7});
    attend("bool_mask", {.mask = r.get("bool_mask.mask")});
    attend("bias", {.mask = r.get("bias.mask")});
    attend("causal", {.causal = true});
    attend("causal_end", {.causal = true});
    attend("window_2", {.window = 2});
    attend("one_kv_head", {});
  }
}

TEST_CASE("reference: transformer blocks") {
  for (DType dtype : both) {
    const Reference r("blocks", dtype);
    for (const auto& [name, attention] :
         std::map<std::string, nn::AttentionSpec>{{"standard", nn::standard({.num_heads = 2})},
                                                  {"grouped", nn::grouped({.groups = 4})},
                                                  {"grouped_8_heads", nn::grouped({.num_heads = 8, .groups = 4})}}) {
      INFO(name << ", " << name_of(dtype));
      nn::TransformerBlock block({.embed_dim = 16, .attention = attention, .hidden = 24});
      block.to(dtype);
      nn::StateDict state;
      for (const auto& [key, p] : block.named_parameters()) state[key] = r.get(name + "." + key);
      block.load_state_dict(state);
      r.check(name, {"x"}, [&block = block](const Tensors& t) { return block(t[0]); });
      for (const auto& [key, p] : block.named_parameters()) {
        INFO("gradient of " << key);
        check_close(p.grad(), Array(r.get(name + ".d_" + key)), dtype == DType::float64 ? 1e-10 : 2e-5);
      }
    }
  }
}

TEST_CASE("reference: 20 steps of each optimizer") {
  using Parameters = std::vector<Tensor>;
  using Make = std::function<std::unique_ptr<optim::Optimizer>(const Parameters&)>;
  using optim::Adam, optim::AdamW, optim::SGD;
  const std::map<std::string, Make> cases{
      {"sgd", [](const Parameters& p) { return std::make_unique<SGD>(p, optim::SGDOptions{.lr = 0.1}); }},
      {"sgd_momentum",
       [](const Parameters& p) {
         return std::make_unique<SGD>(
             p, optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.2, .weight_decay = 0.05});
       }},
      {"sgd_nesterov",
       [](const Parameters& p) {
         return std::make_unique<SGD>(
             p, optim::SGDOptions{.lr = 0.1, .momentum = 0.8, .weight_decay = 0.01, .nesterov = true});
       }},
      {"adam",
       [](const Parameters& p) {
         return std::make_unique<Adam>(
             p, optim::AdamOptions{.lr = 0.02, .beta1 = 0.8, .beta2 = 0.97, .weight_decay = 0.1});
       }},
      {"adamw",
       [](const Parameters& p) {
         return std::make_unique<AdamW>(p, optim::AdamWOptions{.lr = 0.02, .weight_decay = 0.1});
       }},
  };
  for (DType dtype : both) {
    const Reference r("optimizers", dtype);
    for (const std::string name : {"sgd", "sgd_momentum", "sgd_nesterov", "adam", "adamw", "adamw_clipped"}) {
      INFO(name << ", " << name_of(dtype));
      const std::vector<std::string> keys{"a.weight", "a.bias", "b.weight", "b.bias"};
      Parameters p;
      for (const auto& key : keys) {
        p.push_back(clone(r.get("first." + key)));
        p.back().requires_grad_();
      }
      const bool clipped = name == "adamw_clipped";
      const auto optimizer = cases.at(clipped ? "adamw" : name)(p);
      std::vector<double> losses;
      for (int step = 0; step < 20; ++step) {
        const Tensor hidden = gelu(linear(r.get("x"), p[0], p[1]));
        const Tensor loss = cross_entropy(linear(hidden, p[2], p[3]), r.get("label"));
        optimizer->zero_grad();
        loss.backward();
        if (clipped) optim::clip_grad_norm(p, 0.1);
        optimizer->step();
        losses.push_back(loss.item());
      }
      // PyTorch divides by the norm plus 1e-6 when it clips; we by the norm.
      const double tolerance = clipped ? 2e-5 : dtype == DType::float64 ? 1e-10 : 1e-4;
      const auto want = r.get(name + ".losses").to_vector<double>();
      for (size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == Approx(want[i]).margin(tolerance));
      for (size_t i = 0; i < keys.size(); ++i) {
        INFO(keys[i]);
        check_close(p[i].detach(), Array(r.get(name + "." + keys[i])), tolerance);
      }
    }
  }
}
