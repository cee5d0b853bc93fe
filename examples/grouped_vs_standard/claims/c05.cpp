#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "grouped_vs_standard/claims/claim.h"
#include "grouped_vs_standard/claims/exact.h"

namespace comparison {

using namespace tutti;

namespace {

using Numbers = std::vector<double>;

/// y [rows, out] = x [rows, in] w^T + b, in plain loops.
Numbers affine(const Numbers& x, const nn::Linear& layer) {
  const Numbers w = layer.weight.tensor().to_vector<double>(), b = layer.bias.tensor().to_vector<double>();
  const size_t out = b.size(), in = w.size() / out, rows = x.size() / in;
  Numbers y(rows * out);
  for (size_t r = 0; r < rows; ++r)
    for (size_t o = 0; o < out; ++o) {
      y[r * out + o] = b[o];
      for (size_t i = 0; i < in; ++i) y[r * out + o] += x[r * in + i] * w[o * in + i];
    }
  return y;
}

/// softmax(q k^T / sqrt(d)) v for every head, side by side, then the output projection; x [B, T, C].
Numbers by_formula(const nn::MultiHeadAttention& layer, const Tensor& x) {
  const auto B = static_cast<size_t>(x.size(0)), T = static_cast<size_t>(x.size(1)), C = static_cast<size_t>(x.size(2));
  const auto H = static_cast<size_t>(layer.options().num_heads);
  const size_t d = C / H;
  const Numbers qkv = affine(x.to_vector<double>(), layer.qkv);
  Numbers context(B * T * C);
  for (size_t b = 0; b < B; ++b)
    for (size_t h = 0; h < H; ++h)
      for (size_t i = 0; i < T; ++i) {
        const auto at = [&](size_t t, size_t part, size_t c) {
          return qkv[(b * T + t) * 3 * C + part * C + h * d + c];
        };
        Numbers weights(T);
        for (size_t j = 0; j < T; ++j) {
          for (size_t c = 0; c < d; ++c) weights[j] += at(i, 0, c) * at(j, 1, c);
          weights[j] /= std::sqrt(static_cast<double>(d));
        }
        const double largest = *std::max_element(weights.begin(), weights.end());
        double total = 0;
        for (double& w : weights) total += w = std::exp(w - largest);
        for (size_t j = 0; j < T; ++j)
          for (size_t c = 0; c < d; ++c) context[(b * T + i) * C + h * d + c] += weights[j] / total * at(j, 2, c);
      }
  return affine(context, layer.out);
}

nn::MultiHeadAttention random_standard(int64_t width, int64_t heads, DType dtype) {
  nn::MultiHeadAttention layer({.embed_dim = width, .num_heads = heads});
  layer.to(dtype);
  randomize(layer, 30);
  return layer;
}

/// The gradients of x, weights and biases against central differences. True, or AutogradError.
bool gradients_right(int64_t heads) {
  nn::MultiHeadAttention layer = random_standard(6, heads, DType::float64);
  Tensor x = normal_numbers({2, 4, 6}, DType::float64, 8);
  x.requires_grad_();
  return gradcheck(
      [&](const std::vector<Tensor>& in) {
        layer.qkv.weight = nn::Parameter(in[1]);
        layer.qkv.bias = nn::Parameter(in[2]);
        layer.out.weight = nn::Parameter(in[3]);
        layer.out.bias = nn::Parameter(in[4]);
        return layer(in[0]);
      },
      {x, layer.qkv.weight, layer.qkv.bias, layer.out.weight, layer.out.bias});
}

}  // namespace

Claim c05();
Claim c05() {
  return {5, "Standard attention: softmax(Q K^T / sqrt(d)) V over h heads, concatenated.",
          "The baseline layer (with its dense output projection) against that formula in plain float64 loops, within "
          "1e-12 (float64) or 1e-5 (float32) relative, and its gradients against central differences. Holds if every "
          "check passes.",
          [](Lab&) {
            ExactChecks checks("Standard layer");
            for (const DType dtype : {DType::float64, DType::float32})
              for (const int64_t heads : {1, 2, 4, 8}) {
                const nn::MultiHeadAttention layer = random_standard(32, heads, dtype);
                const Tensor x = normal_numbers({2, 13, 32}, dtype, 7);
                nn::MultiHeadAttention copy = layer;
                checks.add_difference(fmt::format("formula, H = {}, {}", heads, tutti::name_of(dtype)),
                                      relative_difference(copy(x), Tensor::from(by_formula(layer, x), x.shape())),
                                      dtype == DType::float64 ? 1e-12 : 1e-5);
              }
            for (const int64_t heads : {1, 2, 3}) {
              std::string result = "agree";
              try {
                gradients_right(heads);
              } catch (const AutogradError& e) {
                result = e.what();
              }
              checks.add(fmt::format("gradients, H = {}, float64", heads), result, result == "agree");
            }
            return checks.finding();
          }};
}

}  // namespace comparison
