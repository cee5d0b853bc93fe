// Fused attention under large finite masks: the weights of the backward pass add up to 1 as those of the forward do.
#include <cmath>

#include "support/attention_gradient.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// Some rows are behind the mask entirely, others in part.
Tensor mask_of(double value, int64_t queries, int64_t keys, DType t) {
  std::vector<double> v(static_cast<size_t>(queries * keys));
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) v[static_cast<size_t>(i * keys + j)] = i % 3 == 0 || j % 2 == 0 ? value : 0;
  return to(Tensor::from(v, {queries, keys}), t);
}

}  // namespace

TEST_CASE("attention's backward under large finite masks") {
  for_each_isa([](const char* isa) {
    for (const DType t : {DType::float32, DType::float64, DType::bfloat16})
      for (const double value : {-200., -1e4, -1e8, -1e30, -3e38, 1e8})
        for (const int64_t keys : {1, 2, 5, 70, 130}) {
          INFO(isa << " " << name_of(t) << " mask " << value << " keys " << keys);
          const int64_t queries = 7;
          Tensors x{random_tensor({1, 2, queries, 8}, t, 1), random_tensor({1, 2, keys, 8}, t, 2),
                    random_tensor({1, 2, keys, 8}, t, 3)};
          for (Tensor& leaf : x) leaf.requires_grad_();
          const Tensor dy = random_tensor({1, 2, queries, 8}, t, 4);
          const AttentionOptions options{.mask = mask_of(value, queries, keys, t)};
          scaled_dot_product_attention(x[0], x[1], x[2], options).backward(dy);
          const auto want = gradient_by_weights(x, dy, options);
          for (size_t i = 0; i < 3; ++i)
            check_close(x[i].grad(), Array(want[i]), t == DType::bfloat16 ? 2e-2 : t == DType::float32 ? 2e-4 : 1e-10);
        }
  });
}

TEST_CASE("attention: the gradient of v adds up to that of the output under any mask") {
  for_each_isa([](const char* isa) {
    for (const double value : {0., -1e8, -1e38}) {
      INFO(isa << " mask " << value);
      const Tensor q = random_tensor({1, 1, 4, 16}, DType::float32, 5), v = zeros({1, 1, 50, 3}).requires_grad_();
      const Tensor k = random_tensor({1, 1, 50, 16}, DType::float32, 6);
      scaled_dot_product_attention(q, k, v, {.mask = full({4, 50}, value)}).backward(ones({1, 1, 4, 3}));
      for (const double g : sum(v.grad(), 2).to_vector<double>()) CHECK(g == Approx(4).epsilon(1e-5));
    }
  });
}
