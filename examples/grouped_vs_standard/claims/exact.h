// Exact checks: mathematics that needs no training, only a few random numbers.
#pragma once
#include <string>

#include "grouped_vs_standard/report/finding.h"
#include "tutti/tutti.h"

namespace comparison {

/// Standard normal, always the same for one seed.
tutti::Tensor normal_numbers(const tutti::Dims& shape, tutti::DType dtype, uint64_t seed);

/// Equal shape, dtype and bits.
bool same_bits(const tutti::Tensor& a, const tutti::Tensor& b);

/// max |a - b| / max |b|, in float64; 0 if both are all 0. ShapeError if the shapes differ.
double relative_difference(const tutti::Tensor& a, const tutti::Tensor& b);

/// Blocks [G, out, in] as the dense [G out, G in].
tutti::Tensor block_diagonal(const tutti::Tensor& blocks);

/// Every parameter of the module normal with deviation 0.3 (norms and biases too), so that none is tested at 0 or 1.
void randomize(tutti::nn::Module& module, uint64_t seed);

/// Whether output group j (row) depends on input group i (column), by the layer's Jacobian in float64: exact zeros, or
/// not. The layer must be float64.
std::vector<std::vector<bool>> reach(tutti::nn::GroupedMultiHeadAttention& layer, uint64_t seed);

/// A finding that holds if every row passed. Each row of the table: what was checked, what came out, whether it passed.
class ExactChecks {
 public:
  explicit ExactChecks(std::string title) : table_{std::move(title), {"check", "result", "passed"}, {}} {}
  void add(const std::string& what, const std::string& result, bool passed);
  /// Passed if difference <= tolerance.
  void add_difference(const std::string& what, double difference, double tolerance);
  Finding finding() const;

 private:
  Table table_;
  size_t passed_ = 0;
};

}  // namespace comparison
