// Fused attention on tensor cores: not yet.
#include "tutti/backends/cuda/attention.h"
namespace tutti::cuda {
bool tensor_core_attention_forward(const AttentionProblem&, const Heads&, float*) { return false; }
bool tensor_core_attention_backward(const AttentionProblem&, const float*, const float*, const ConstHeads&,
                                    const Heads&, const Heads&, const Heads&) { return false; }
}
