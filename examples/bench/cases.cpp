#include "bench/cases.h"

#include <algorithm>

namespace bench {
namespace {

enum Passes { forward = 1, backward = 2, both = 3 };

struct List {
  std::vector<Case> cases;
  void add(const char* op, const Sizes& sizes, int passes, bool transposed = false) {
    if (passes & forward) cases.push_back({op, sizes, false, transposed});
    if (passes & backward) cases.push_back({op, sizes, true, transposed});
  }
};

}  // namespace

std::vector<Case> usual_cases() {
  List l;
  l.add("matmul", {1024, 1024, 1024}, both);
  l.add("matmul", {256, 256, 256}, both);
  l.add("matmul", {3136, 128, 128}, both);
  l.add("matmul", {8, 1024, 1024}, forward);
  l.add("matmul", {1, 1024, 1024}, forward);
  l.add("batched_matmul", {256, 49, 49, 32}, both);
  l.add("linear", {3136, 128, 512}, both);
  l.add("linear", {16, 384, 1536}, both);
  l.add("linear", {1, 384, 1536}, forward);
  l.add("grouped_linear", {3136, 128, 128, 4}, both);
  l.add("attention", {8, 8, 1024, 64}, both);
  l.add("causal_attention", {8, 8, 1024, 64}, both);
  l.add("attention", {64, 4, 49, 32}, both);
  for (const char* op : {"softmax", "softmax_dim0", "log_softmax", "logsumexp", "cross_entropy"})
    l.add(op, {4096, 1024}, both);
  for (const char* op : {"layer_norm", "rms_norm"}) l.add(op, {4096, 768}, both);
  for (const char* op :
       {"gelu", "gelu_tanh", "silu", "relu", "tanh", "exp", "pow", "clamp", "dropout", "mul", "add_bias"})
    l.add(op, {4096, 3072}, both);
  for (const char* op : {"add", "add_column", "gt", "where", "rand", "randn"}) l.add(op, {4096, 3072}, forward);
  for (const char* op : {"sum", "sum_dim0", "sum_dim1", "argmax_dim1"}) l.add(op, {4096, 3072}, forward);
  for (const char* op : {"max_dim1", "var_dim1", "norm"}) l.add(op, {4096, 3072}, both);
  l.add("topk", {4096, 1024}, forward);
  l.add("transpose", {4096, 3072}, forward);
  l.add("cat", {4096, 1536}, forward);
  l.add("embedding", {30000, 256, 8192}, both);
  for (const char* op : {"adamw", "sgd", "clip_grad_norm"}) l.add(op, {64, 200000}, forward);
  return l.cases;
}

std::vector<Case> odd_cases() {
  List l;
  constexpr int64_t numel = 1 << 20;
  for (int64_t cols : {1, 7, 31, 33, 1000, 4099}) {
    const Sizes sizes{numel / cols, cols};
    for (const char* op : {"softmax", "layer_norm", "cross_entropy", "softmax_dim0", "add_bias"})
      l.add(op, sizes, both);
    for (const char* op : {"add", "gelu", "tanh", "dropout"}) l.add(op, sizes, cols == 7 ? both : forward);
    for (const char* op : {"sum_dim0", "sum_dim1", "max_dim1", "var_dim1", "transpose"}) l.add(op, sizes, forward);
  }
  for (const char* op : {"softmax", "softmax_dim0", "layer_norm", "gelu", "add", "mul"})
    l.add(op, {1000, 1031}, both, /*transposed=*/true);
  for (const char* op : {"sum_dim0", "sum_dim1", "max_dim1", "add_bias", "add_column"})
    l.add(op, {1000, 1031}, forward, /*transposed=*/true);
  for (const Sizes& sizes : {Sizes{7, 33, 31}, {1000, 1000, 1000}, {4099, 31, 33}, {33, 4099, 1000}, {1, 4099, 1000}})
    l.add("matmul", sizes, both);
  l.add("matmul", {1000, 1000, 1000}, forward, /*transposed=*/true);
  l.add("batched_matmul", {64, 33, 31, 7}, both);
  l.add("linear", {4099, 31, 33}, both);
  l.add("linear", {7, 1000, 4099}, both);
  l.add("grouped_linear", {4099, 93, 93, 3}, both);
  for (const Sizes& sizes : {Sizes{2, 3, 33, 31}, {64, 4, 7, 16}, {1, 4, 1000, 33}}) {
    l.add("attention", sizes, both);
    l.add("causal_attention", sizes, both);
  }
  return l.cases;
}

std::vector<Case> shrunk(const std::vector<Case>& cases, int64_t most) {
  std::vector<Case> small;
  for (Case c : cases) {
    for (int64_t& size : c.sizes) size = std::min(size, most);
    const auto same = [&](const Case& other) { return text(other) == text(c); };
    if (std::none_of(small.begin(), small.end(), same)) small.push_back(c);
  }
  return small;
}

}  // namespace bench
