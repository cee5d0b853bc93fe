// Kernels of fused attention (Dao et al. 2022: tiles, online softmax, scores computed again in the backward pass).
#pragma once
#include "tutti/backends/contract/kernel.h"
#include "tutti/core/dims.h"
#include "tutti/core/dtype.h"
#include "tutti/core/generator.h"

namespace tutti {

/// [batch, head, token, channel] with any strides (in elements), 0 where broadcast.
template <class Void>
struct BasicHeads {
  Void* data = nullptr;
  DType dtype = DType::float32;
  int64_t batches = 0, heads = 0, tokens = 0, width = 0;
  int64_t batch_stride = 0, head_stride = 0, token_stride = 0, stride = 0;
};
using Heads = BasicHeads<void>;
using ConstHeads = BasicHeads<const void>;

/// Which blocks of keys a block of queries visits: bool [ceil(Tq / block), ceil(Tk / block)] with these strides; no
/// data: all of them.
struct BlockLayout {
  const void* data = nullptr;
  int64_t block = 1, row_stride = 0, stride = 0;
};

struct AttentionProblem {
  ConstHeads q, k, v;  ///< [B, H, Tq, D], [B, Hk, Tk, D], [B, Hk, Tk, Dv]: one dtype
  ConstHeads mask;     ///< [B, H, Tq, Tk]: bool (true: may attend) or floating (added to the scores); no data: none
  BlockLayout layout;  ///< tiles that no query of theirs visits cost nothing
  int64_t nearest, farthest;  ///< query i sees key j if nearest <= i + Tk - Tq - j <= farthest
  double scale;
  double dropout;       ///< the probability p of dropping a weight; the others are scaled by 1 / (1 - p)
  uint32_t drop_below;  ///< weight (b, h, i, j) is dropped if word ((b H + h) Tq + i) Tk + j of key.now() is below it
  DrawKey key;
};

namespace kernel {

/// out [B, H, Tq, Dv], and log_sums [2, B, H, Tq]: the logarithm to base 2 of each row's sum of exp(scores) is the sum
/// of two numbers. Of usual rows the second is 0; where the largest score is large (a mask of -1e8), the first is that
/// score and the second the rest, which would be lost beside it. +inf and 0 if all keys are masked. float32, or float64
/// if q is.
struct attention_forward : Kernel<attention_forward> {
  template <class Target>
  static void run(const AttentionProblem& problem, const Heads& out, void* log_sums);
};

/// The gradients from that of the output. One whose data is null is not wanted.
struct attention_backward : Kernel<attention_backward> {
  template <class Target>
  static void run(const AttentionProblem& problem, const ConstHeads& out, const void* log_sums, const ConstHeads& d_out,
                  const Heads& dq, const Heads& dk, const Heads& dv);
};

}  // namespace kernel
}  // namespace tutti
