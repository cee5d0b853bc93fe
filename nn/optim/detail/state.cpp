#include "tutti/nn/optim/detail/state.h"

#include "tutti/core/cuda_graph.h"
#include "tutti/core/error.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"

namespace tutti::optim {

void keep_state(Tensor& state, const Tensor& p) {
  const DType dtype = p.dtype() == DType::float64 ? DType::float64 : DType::float32;
  if (!state.defined() && Recording::current())
    throw DeviceError("CudaGraph: an optimizer has a parameter that its warm-up had no gradient for");
  if (!state.defined())
    state = zeros(p.shape(), {.dtype = dtype, .device = p.device()});
  else if (!(state.shape() == p.shape()))
    throw ShapeError(
        message("an optimizer's state of shape ", state.shape(), " does not fit its parameter's ", p.shape()));
  else if (state.dtype() != dtype || state.device() != p.device())
    state = to(to(state, p.device()), dtype);
}

}  // namespace tutti::optim
