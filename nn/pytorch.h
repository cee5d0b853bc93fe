// States between PyTorch's layers and ours: the same weights under other names.
#pragma once
#include <optional>

#include "tutti/nn/activation.h"
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// What PyTorch's nn.TransformerEncoderLayer was made with and its state does not say; the defaults are PyTorch's.
struct PyTorchEncoderLayer {
  Activation activation = Activation::relu;
  bool norm_first = false;
};

/// A state_dict of PyTorch's model as `module`'s: load_state_dict(from_pytorch(module, state)). By the types of the
/// modules: TransformerEncoder is nn.TransformerEncoder, TransformerBlock nn.TransformerEncoderLayer,
/// MultiHeadAttention nn.MultiheadAttention, and Linear, Embedding and LayerNorm have the same names; all layouts are
/// the same, and the tensors are shared. Names of no module below are left as they are. ValueError if there are blocks
/// and `layer` is not given, or differs from them, and on what PyTorch's layers cannot be (gated, RMSNorm, rotary
/// positions, fewer heads of k and v, grouped attention), which it names.
StateDict from_pytorch(const Module& module, const StateDict& state, std::optional<PyTorchEncoderLayer> layer = {});
/// The module's state under PyTorch's names: model.load_state_dict(safetensors.torch.load_file(..)) takes it.
/// ValueError on what PyTorch's layers cannot be.
StateDict to_pytorch(const Module& module);

}  // namespace tutti::nn
#pragma GCC visibility pop
