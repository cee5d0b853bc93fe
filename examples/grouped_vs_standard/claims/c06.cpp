#include <fmt/format.h>

#include "grouped_vs_standard/claims/claim.h"
#include "grouped_vs_standard/claims/exact.h"

namespace comparison {

using namespace tutti;

namespace {

/// A 1x1 convolution with groups, by its definition on an image [B, C, P] (channels first): output channel o of group
/// i sees the input channels of group i. weight [out, in / groups], as convolutions keep it.
Tensor convolution(const Tensor& image, const Tensor& weight, const Tensor& bias, int64_t groups) {
  const auto B = static_cast<size_t>(image.size(0)), C = static_cast<size_t>(image.size(1)),
             P = static_cast<size_t>(image.size(2));
  const auto out = static_cast<size_t>(weight.size(0)), in = static_cast<size_t>(weight.size(1));
  const auto x = image.to_vector<double>(), w = weight.to_vector<double>(), b = bias.to_vector<double>();
  std::vector<double> y(B * out * P);
  for (size_t n = 0; n < B; ++n)
    for (size_t o = 0; o < out; ++o)
      for (size_t p = 0; p < P; ++p) {
        const size_t first = o / (out / static_cast<size_t>(groups)) * in;
        double sum = b[o];
        for (size_t i = 0; i < in; ++i) sum += w[o * in + i] * x[(n * C + first + i) * P + p];
        y[(n * out + o) * P + p] = sum;
      }
  return Tensor::from(y, {image.size(0), weight.size(0), image.size(2)});
}

}  // namespace

Claim c06();
Claim c06() {
  return {6, "It takes up the idea of grouped convolution.",
          "grouped_linear against a 1x1 convolution with G groups (its definition on [B, C, pixels]) and against a "
          "dense linear map with block-diagonal weights, within 1e-12 (float64) or 1e-5 (float32) relative, several "
          "widths and G. Holds if every check passes.",
          [](Lab&) {
            ExactChecks checks("grouped_linear");
            for (const DType dtype : {DType::float64, DType::float32})
              for (const int64_t groups : {1, 2, 4, 8})
                for (const auto& [in, out] : {std::pair<int64_t, int64_t>{32, 32}, {32, 56}}) {
                  const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
                  const Tensor x = normal_numbers({2, 9, in}, dtype, 1), bias = normal_numbers({out}, dtype, 2);
                  const Tensor blocks = normal_numbers({groups, out / groups, in / groups}, dtype, 3);
                  const Tensor y = grouped_linear(x, blocks, bias);
                  const Tensor image = transpose(x, 1, 2);
                  const Tensor by_convolution =
                      transpose(convolution(image, reshape(blocks, {out, in / groups}), bias, groups), 1, 2);
                  const std::string what = fmt::format("G = {}, {} to {}, {}", groups, in, out, tutti::name_of(dtype));
                  checks.add_difference(what + ": convolution", relative_difference(y, by_convolution), tolerance);
                  checks.add_difference(what + ": block diagonal",
                                        relative_difference(y, linear(x, block_diagonal(blocks), bias)), tolerance);
                }
            return checks.finding();
          }};
}

}  // namespace comparison
