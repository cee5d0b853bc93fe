#include "tutti/nn/pytorch.h"

#include <utility>

#include "tutti/core/error.h"
#include "tutti/nn/transformer.h"

namespace tutti::nn {
namespace {

const char* text(Activation f) {
  constexpr const char* texts[]{"relu", "gelu", "gelu_tanh", "silu"};
  return texts[static_cast<size_t>(f)];
}

/// Both names of every parameter and buffer, as the modules lie in one another.
struct BothNames final : Visitor {
  const char* op;
  std::string ours{}, theirs{};  // what stands in front of the names of the module that is being looked at
  std::vector<std::pair<std::string, std::string>> pairs{};  // ours, theirs
  std::vector<std::pair<std::string, const TransformerBlock*>> blocks{};
  const Module *inside = nullptr, *around = nullptr;  // the module that is being looked at, and the one that it is in

  explicit BothNames(const char* name) : op(name) {}
  using Visitor::operator();
  void operator()(const std::string& name, Parameter& p) override {
    if (p.defined()) pairs.emplace_back(ours + name, theirs + name);
  }
  void operator()(const std::string& name, Buffer& b) override {
    if (b.defined()) pairs.emplace_back(ours + name, theirs + name);
  }
  void operator()(const std::string& name, Module& m) override {
    const std::string ours_before = ours, theirs_before = theirs;
    ours += name + ".";
    theirs += of_pytorch(name);
    below(m);
    ours = ours_before;
    theirs = theirs_before;
  }

  void below(Module& m) {
    if (const auto* block = dynamic_cast<const TransformerBlock*>(&m)) {
      check(*block);
      blocks.emplace_back(ours, block);
    }
    if (const auto* attention = dynamic_cast<const MultiHeadAttention*>(&m)) check(*attention);
    const Module* const outer = std::exchange(around, std::exchange(inside, &m));
    m.children(*this);
    inside = std::exchange(around, outer);
  }

  template <class M>
  static bool is(const Module* m) {
    return dynamic_cast<const M*>(m) != nullptr;
  }
  /// What stands there in front of what a member of the module `inside` holds.
  std::string of_pytorch(const std::string& name) const {
    if (is<MultiHeadAttention>(inside)) return name == "qkv" ? "in_proj_" : name + "_proj.";
    if (is<TransformerBlock>(inside) && name == "attention") return "self_attn.";
    if (is<TransformerBlock>(inside) && name == "ffn") return "";
    if (is<FeedForward>(inside) && is<TransformerBlock>(around)) return name == "up" ? "linear1." : "linear2.";
    if (is<TransformerEncoder>(inside) && name.starts_with("blocks.")) return "layers." + name.substr(7) + ".";
    return name + ".";
  }

  [[noreturn]] void lacks(const char* what) const {
    throw ValueError(message(op, ": ", ours.empty() ? "the module" : ours.substr(0, ours.size() - 1), " has ", what,
                             ", which PyTorch's layer cannot have"));
  }
  void check(const TransformerBlock& block) const {
    const TransformerBlockOptions& o = block.options();
    if (o.gated) lacks("a gated feed-forward");
    if (o.norm == NormKind::rms) lacks("RMSNorm");
    if (std::holds_alternative<GroupedMultiHeadAttention>(block.attention)) lacks("grouped attention");
  }
  void check(const MultiHeadAttention& attention) const {
    const MultiHeadAttentionOptions& o = attention.options();
    if (o.rotary) lacks("rotary positions");
    if (o.num_kv_heads != o.num_heads) lacks("fewer heads of k and v");
  }
};

BothNames both_names(const char* op, const Module& module) {
  (void)module.named_parameters();  // an error if anything was moved from
  BothNames names(op);
  names.below(const_cast<Module&>(module));  // which visitors may change; this one does not
  return names;
}

}  // namespace

StateDict from_pytorch(const Module& module, const StateDict& state, std::optional<PyTorchEncoderLayer> layer) {
  const BothNames names = both_names("from_pytorch", module);
  for (const auto& [path, block] : names.blocks) {
    const auto& o = block->options();
    const std::string is =
        message("from_pytorch: ", path.empty() ? "the block" : path.substr(0, path.size() - 1), " has activation ",
                text(o.activation), " and norm_first ", o.norm_first ? "true" : "false");
    if (!layer)
      throw ValueError(is +
                       "; a state does not say what its layers had (PyTorch's defaults are relu and false), so "
                       "pass it: {.activation = .., .norm_first = ..}");
    if (layer->activation != o.activation || layer->norm_first != o.norm_first)
      throw ValueError(
          message(is, ", PyTorch's layer ", text(layer->activation), " and ", layer->norm_first ? "true" : "false"));
  }
  std::map<std::string, std::string> ours;
  for (const auto& [mine, theirs] : names.pairs) ours.emplace(theirs, mine);
  StateDict converted;
  for (const auto& [name, t] : state) {
    const auto it = ours.find(name);
    converted.emplace(it == ours.end() ? name : it->second, t);
  }
  return converted;
}

StateDict to_pytorch(const Module& module) {
  const StateDict state = module.state_dict();
  StateDict converted;
  for (const auto& [ours, theirs] : both_names("to_pytorch", module).pairs) converted.emplace(theirs, state.at(ours));
  return converted;
}

}  // namespace tutti::nn
