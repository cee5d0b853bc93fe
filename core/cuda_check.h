// When errors that a GPU's kernels find are reported.
#pragma once

#pragma GCC visibility push(default)
namespace tutti {

/// A GPU's kernels cannot throw: a bad index (IndexError, naming the operation) and a gradient that clipping refuses
/// are reported when the host next waits for the device: item(), a copy to the CPU, synchronize(). With true every
/// check waits for its result, so that the operation itself throws, and training is slower. False at first, unless
/// TUTTI_CUDA_CHECK is "now".
void cuda_check_at_once(bool at_once);
bool cuda_checks_at_once();

}  // namespace tutti
#pragma GCC visibility pop
