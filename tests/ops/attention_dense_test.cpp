// Attention's gradient as differentiable operations give it (create_graph), where masks are extreme or hide NaN.
#include <cmath>
#include <limits>

#include "support/attention_gradient.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/attention.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of q, k, v: the gradients for a fixed dy, fused or composed.
Tensors gradients(const Tensors& x, const AttentionOptions& options, bool composed) {
  const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], options);
  return grad({y}, x, {random_tensor(y.shape(), y.dtype(), 9)}, {.create_graph = composed});
}

}  // namespace

TEST_CASE("attention: the composed gradient under masks of the most negative numbers is that of the fused result") {
  for (const auto& [dtype, lowest] : {std::pair{DType::float32, -3.4028234e38},
                                      {DType::float64, -1.7976931348623157e308},
                                      {DType::bfloat16, -3.38e38}})
    for (const Tensor& mask : {full({3, 3}, lowest, {dtype}), Tensor::from({lowest, lowest / 2, lowest}, {3}, dtype),
                               Tensor::from({0, lowest, -infinity}, {3}, dtype)})
      for (bool causal : {true, false}) {
        INFO(tutti::name_of(dtype) << (causal ? ", causal" : ""));
        const Dims shape{2, 2, 3, 4};
        Tensors x;
        for (uint64_t i = 0; i < 3; ++i) x.push_back(random_tensor(shape, dtype, i).requires_grad_());
        const AttentionOptions options{.mask = mask, .causal = causal};
        const Tensors got = gradients(x, options, true);
        const Tensors want = gradient_by_weights(x, random_tensor(shape, dtype, 9), options);
        for (size_t i = 0; i < 3; ++i)
          check_close(got[i].detach(), Array(want[i]),
                      size_of(dtype) == 2       ? 0.02
                      : dtype == DType::float32 ? 1e-5
                                                : 1e-12);
      }
}

TEST_CASE("attention: NaN behind a mask reaches no composed gradient, and no second derivative") {
  const int64_t T = 7, D = 3;
  // Key 2 is hidden from everyone, and query 1 sees nothing.
  std::vector<bool> seen(static_cast<size_t>(T * T), true);
  for (int64_t i = 0; i < T; ++i) seen[static_cast<size_t>(i * T + 2)] = seen[static_cast<size_t>(T + i)] = false;
  const Tensor mask = Tensor::from(seen, {T, T});
  const auto run = [&](double bad, bool composed, bool causal, bool packed) {
    Tensor qkv = random_tensor({2, T, 3, 2, D}, DType::float64, 1);
    const auto part = [&](const Tensor& all, int64_t i) { return transpose(select(all, 2, i), 1, 2); };
    fill_(select(part(qkv, 0), 2, 1), bad);
    for (int64_t i : {1, 2}) fill_(select(part(qkv, i), 2, 2), bad);
    qkv.requires_grad_();
    const AttentionOptions options{.mask = mask, .causal = causal};
    const Tensor y = packed ? transpose(packed_attention(qkv, options), 1, 2)
                            : scaled_dot_product_attention(part(qkv, 0), part(qkv, 1), part(qkv, 2), options);
    const Tensor dqkv = grad({y}, {qkv}, {random_tensor(y.shape(), DType::float64, 9)}, {.create_graph = composed})[0];
    Tensors all{y.detach(), dqkv.detach()};
    if (composed) all.push_back(grad({sum(square(dqkv))}, {qkv})[0]);
    return all;
  };
  for (bool packed : {false, true})
    for (bool causal : {false, true}) {
      const Tensors clean = run(0.25, true, causal, packed);
      check_close(clean[1], Array(run(0.25, false, causal, packed)[1]), 1e-12);
      for (double bad : {std::nan(""), infinity}) {
        INFO(bad << (causal ? ", causal" : "") << (packed ? ", packed" : ""));
        const Tensors dirty = run(bad, true, causal, packed);
        for (size_t i = 0; i < clean.size(); ++i) check_close(dirty[i], Array(clean[i]), 1e-12);
        check_close(run(bad, false, causal, packed)[1], Array(clean[1]), 1e-12);  // fused
      }
    }
}

TEST_CASE("attention: the composed gradient does not swallow a NaN that is seen") {
  for (size_t spoiled : {size_t{0}, size_t{1}, size_t{2}}) {
    Tensors x;
    for (uint64_t i = 0; i < 3; ++i) x.push_back(random_tensor({1, 1, 6, 2}, DType::float64, i));
    fill_(select(x[spoiled], 2, 3), std::nan(""));
    for (Tensor& t : x) t.requires_grad_();
    const Tensors want = gradients(x, {.causal = true}, false), got = gradients(x, {.causal = true}, true);
    for (size_t i = 0; i < 3; ++i)
      for (int64_t t = 0; t < 6; ++t) {
        INFO("NaN in input " << spoiled << ", gradient " << i << ", token " << t);
        CHECK(std::isnan(got[i].at({0, 0, t, 0})) == std::isnan(want[i].at({0, 0, t, 0})));
      }
  }
}
