#include "tutti/nn/metrics.h"

#include <cmath>

#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/ops/extrema.h"

namespace tutti::metrics {
namespace {

std::vector<int64_t> targets(const char* op, const Tensor& logits, const Tensor& target) {
  if (!logits.defined() || !target.defined()) throw ValueError(message(op, ": logits or target is undefined"));
  if (logits.rank() != 2 || target.rank() != 1 || logits.size(0) != target.size(0))
    throw ShapeError(
        message(op, ": logits ", logits.shape(), " and target ", target.shape(), " are not [N, classes] and [N]"));
  if (is_floating(target.dtype())) throw DTypeError(message(op, ": target is ", target.dtype(), ", not integers"));
  auto list = target.to_vector<int64_t>();
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] < 0 || list[i] >= logits.size(1))
      throw IndexError(
          message(op, ": target ", list[i], " at position ", i, " is out of range [0, ", logits.size(1), ")"));
  return list;
}

std::vector<int64_t> predictions(const Tensor& logits) {
  const no_grad off;
  if (logits.numel() == 0) return {};
  return argmax(logits, 1).to_vector<int64_t>();
}

}  // namespace

double accuracy(const Tensor& logits, const Tensor& target) {
  const auto want = targets("accuracy", logits, target), got = predictions(logits);
  if (want.empty()) return std::nan("");
  int64_t right = 0;
  for (size_t i = 0; i < want.size(); ++i) right += want[i] == got[i];
  return static_cast<double>(right) / static_cast<double>(want.size());
}

double top_k_accuracy(const Tensor& logits, const Tensor& target, int64_t k) {
  const auto want = targets("top_k_accuracy", logits, target);
  if (k < 0 || k > logits.size(1))
    throw IndexError(message("top_k_accuracy: k = ", k, " is out of range for ", logits.size(1), " classes"));
  if (want.empty()) return std::nan("");
  const no_grad off;
  const auto best = topk(logits, k, 1).indices.to_vector<int64_t>();
  int64_t right = 0;
  for (size_t i = 0; i < best.size(); ++i) right += best[i] == want[i / static_cast<size_t>(k)];
  return static_cast<double>(right) / static_cast<double>(want.size());
}

Tensor confusion_matrix(const Tensor& logits, const Tensor& target) {
  const auto want = targets("confusion_matrix", logits, target), got = predictions(logits);
  const int64_t classes = logits.size(1);
  std::vector<int64_t> counts(static_cast<size_t>(classes * classes));
  for (size_t i = 0; i < want.size(); ++i) ++counts[static_cast<size_t>(want[i] * classes + got[i])];
  return Tensor::from(counts, {classes, classes}, logits.device());
}

double macro_f1(const Tensor& logits, const Tensor& target) {
  const auto want = targets("macro_f1", logits, target), got = predictions(logits);
  const auto classes = static_cast<size_t>(logits.size(1));
  std::vector<int64_t> right(classes), listed(classes);  // listed: times as a target plus times as a prediction
  for (size_t i = 0; i < want.size(); ++i) {
    right[static_cast<size_t>(want[i])] += want[i] == got[i];
    ++listed[static_cast<size_t>(want[i])];
    ++listed[static_cast<size_t>(got[i])];
  }
  double sum = 0;
  for (size_t c = 0; c < classes; ++c)
    if (listed[c] > 0) sum += 2 * static_cast<double>(right[c]) / static_cast<double>(listed[c]);
  return classes == 0 ? std::nan("") : sum / static_cast<double>(classes);
}

}  // namespace tutti::metrics
