#include "tutti/nn/normalization.h"

#include "tutti/core/check.h"
#include "tutti/nn/option.h"
#include "tutti/ops/create.h"
#include "tutti/ops/normalization.h"

namespace tutti::nn {
namespace {

const char* layer_name(NormKind kind) { return kind == NormKind::layer ? "LayerNorm" : "RMSNorm"; }

void check_width(const char* layer, int64_t width, const Tensor& x) {
  check_defined(layer, "x", x);
  if (x.rank() < 1 || x.size(-1) != width)
    throw ShapeError(message(layer, ": input ", x.shape(), " does not end in width ", width));
}

}  // namespace

LayerNorm::LayerNorm(LayerNormOptions options) : options_(options) {
  check_positive("LayerNorm", "width", options.width);
  check_eps("LayerNorm", "eps", options.eps);
  if (!options.affine) return;
  weight = Parameter(ones({options.width}));
  if (options.bias) bias = Parameter(zeros({options.width}));
}
void LayerNorm::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
}
Tensor LayerNorm::forward(const Tensor& x) const {
  check_width("LayerNorm", options_.width, x);
  return layer_norm(x, weight, bias, options_.eps);
}

RMSNorm::RMSNorm(RMSNormOptions options) : options_(options) {
  check_positive("RMSNorm", "width", options.width);
  check_eps("RMSNorm", "eps", options.eps);
  if (options.affine) weight = Parameter(ones({options.width}));
}
void RMSNorm::children(Visitor& visit) { visit("weight", weight); }
Tensor RMSNorm::forward(const Tensor& x) const {
  check_width("RMSNorm", options_.width, x);
  return rms_norm(x, weight, options_.eps);
}

Norm::Norm(NormOptions options) : options_(options) {
  check_positive(layer_name(options.kind), "width", options.width);
  check_eps(layer_name(options.kind), "eps", options.eps);
  weight = Parameter(ones({options.width}));
  if (options.kind == NormKind::layer && options.bias) bias = Parameter(zeros({options.width}));
}
void Norm::children(Visitor& visit) {
  visit("weight", weight);
  visit("bias", bias);
}
Tensor Norm::forward(const Tensor& x) const {
  check_width(layer_name(options_.kind), options_.width, x);
  return options_.kind == NormKind::layer ? layer_norm(x, weight, bias, options_.eps)
                                          : rms_norm(x, weight, options_.eps);
}

}  // namespace tutti::nn
