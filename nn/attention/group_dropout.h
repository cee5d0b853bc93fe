// Dropout with a rate for each group of channels.
#pragma once
#include <vector>

#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct GroupDropoutOptions {
  std::vector<double> rates{};  ///< one for each group, or one for all; none: no dropout. 0 <= rate < 1
  bool whole_groups = false;    ///< whole groups of a sample are dropped (never all of them) instead of elements
};

/// ValueError "WHERErates has 3 entries for groups = 4; ..." unless there are no rates, one, or one for each group, all
/// of them at least 0 and below 1; also for whole_groups without rates. `where` is what stands before the option's
/// name.
void check_group_dropout(const std::string& where, const GroupDropoutOptions& options, int64_t groups);

/// With p_i the rate of group i, in training:
///   elements: y = x m / (1 - p_i), each m 1 with probability 1 - p_i, else 0 (Srivastava et al. 2014);
///   whole groups, for every sample on its own: each group is kept with probability 1 - p_i, given that at least one
///   is, so with probability k_i = (1 - p_i) / (1 - p_1 .. p_G); y_i = x_i / k_i if kept, else 0. (DropHead, Zhou et
///   al. 2020, with a rate for each group and the exact expectation.)
/// Either way the expectation of y is x. Draws from the default generator.
class GroupDropout : public Callable<GroupDropout> {
 public:
  explicit GroupDropout(int64_t groups, GroupDropoutOptions options = {});  ///< ValueError as check_group_dropout's
  /// x [B, T, C] (or [T, C], one sample) to the same shape; x itself in evaluation or if all rates are 0. ShapeError if
  /// groups does not divide C.
  Tensor forward(const Tensor& x) const;
  const std::vector<double>& rates() const { return rates_; }  ///< one for each group

 private:
  std::vector<double> rates_;
  bool whole_groups_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
