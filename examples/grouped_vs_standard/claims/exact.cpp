#include "grouped_vs_standard/claims/exact.h"

#include <cstring>

#include <fmt/format.h>

namespace comparison {

using namespace tutti;

Tensor normal_numbers(const Dims& shape, DType dtype, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, {.dtype = dtype}, generator);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = to(contiguous(a.detach()), cpu), y = to(contiguous(b.detach()), cpu);
  return std::memcmp(x.data(), y.data(), static_cast<size_t>(x.numel()) * size_of(x.dtype())) == 0;
}

double relative_difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) throw ShapeError(message("relative_difference: ", a.shape(), " and ", b.shape()));
  const Tensor x = to(a.detach(), DType::float64), y = to(b.detach(), DType::float64);
  const double difference = max(abs(x - y)).item(), size = max(abs(y)).item();
  return difference == 0 ? 0 : difference / size;
}

Tensor block_diagonal(const Tensor& blocks) {
  const no_grad off;
  const int64_t groups = blocks.size(0), out = blocks.size(1), in = blocks.size(2);
  const Tensor dense = zeros({groups, out, groups, in}, {.dtype = blocks.dtype()});
  for (int64_t i = 0; i < groups; ++i) copy_(select(select(dense, 0, i), 1, i), select(blocks, 0, i));
  return reshape(dense, {groups * out, groups * in});
}

void randomize(nn::Module& module, uint64_t seed) {
  const no_grad off;
  for (const Tensor& p : module.parameters()) copy_(p, normal_numbers(p.shape(), p.dtype(), ++seed) * 0.3);
}

std::vector<std::vector<bool>> reach(nn::GroupedMultiHeadAttention& layer, uint64_t seed) {
  const int64_t groups = layer.options().groups, c = layer.options().embed_dim, g = c / groups;
  std::vector<std::vector<bool>> rows(static_cast<size_t>(groups));
  for (int64_t j = 0; j < groups; ++j) {
    Tensor x = normal_numbers({2, 5, c}, DType::float64, seed);
    x.requires_grad_();
    const Tensor y = slice(layer(x), 2, j * g, (j + 1) * g);
    y.backward(normal_numbers(y.shape(), DType::float64, seed + 1));
    for (int64_t i = 0; i < groups; ++i)
      rows[static_cast<size_t>(j)].push_back(max(abs(slice(x.grad(), 2, i * g, (i + 1) * g))).item() > 0);
  }
  return rows;
}

void ExactChecks::add(const std::string& what, const std::string& result, bool passed) {
  table_.rows.push_back({what, result, passed ? "yes" : "NO"});
  if (passed) ++passed_;
}

void ExactChecks::add_difference(const std::string& what, double difference, double tolerance) {
  add(what, fmt::format("{:.1e} (at most {:.0e})", difference, tolerance), difference <= tolerance);
}

Finding ExactChecks::finding() const {
  Finding f;
  const size_t all = table_.rows.size();
  f.verdict = passed_ == all ? "holds" : "refuted";
  f.effect = fmt::format("{} of {} exact checks passed", passed_, all);
  f.tables.push_back(table_);
  return f;
}

}  // namespace comparison
