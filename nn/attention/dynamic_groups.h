// A projection whose number of groups is chosen by each sample's content.
#pragma once
#include <mutex>
#include <vector>

#include "tutti/nn/linear.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

struct DynamicGroupsOptions {
  std::vector<int64_t> candidates{};  ///< numbers of groups to choose from, each dividing the next: {1, 2, 4, 8}
  double temperature = 1;             ///< of the gate's softmax
};

/// An option that is a width, by its name.
struct NamedWidth {
  const char* option;
  int64_t value;
};
/// ValueError naming `where`, the option and what would fit, unless the candidates divide one another and both widths,
/// and the temperature is positive.
void check_dynamic(const char* where, const DynamicGroupsOptions& options, NamedWidth in, NamedWidth width);
/// Of that the temperature alone.
void check_temperature(const char* where, const DynamicGroupsOptions& options);

struct DynamicProjectionOptions {
  int64_t in = 0;     ///< C
  int64_t width = 0;  ///< E, of q (and of k, and of v)
  DynamicGroupsOptions dynamic{};
  bool bias = true;
};

/// q, k and v = (M_G * W) x + b, where M_G keeps the G blocks [E/G, C/G] on the diagonal of a dense W [3, E, C]. The
/// masks are nested: what G = 4 keeps, G = 2 keeps too. A gate, linear on the mean token, picks G from the candidates
/// for each sample (in the spirit of dynamic group convolution, Su et al., ECCV 2020).
/// Training: all candidates are computed, the choice is hard in value and has the gradient of the softmax
/// (straight-through, Bengio et al. 2013): with p the gate's softmax and s_i = <dy, result of candidate i>, logit i
/// gets p_i (s_i - sum_j p_j s_j) / temperature. Evaluation: samples are parted by choice and only the blocks that they
/// chose are computed; the gate gets no gradient.
/// Several threads may call one layer at once, as long as nobody changes its parameters or mode meanwhile: results do
/// not depend on it. What flops_share and choice say is then of the call that ended last.
class DynamicGroups : public Callable<DynamicGroups> {
  DynamicProjectionOptions options_;  // first: checked before the gate is made

 public:
  /// ValueError as check_dynamic's, or if a width is not positive.
  explicit DynamicGroups(DynamicProjectionOptions options);
  void children(Visitor& visit) override;
  /// x [B, T, C] (or [T, C]) to [B, T, 3 E]: q of all groups, then k, then v. `shown`, bool [B, T] or [1, T], says
  /// which tokens the gate's mean is taken over (undefined: all); a NaN in another does not reach the choice, and a
  /// sample that shows none is judged by the gate's bias alone.
  Tensor forward(const Tensor& x, const Tensor& shown = {});
  /// What share of the dense projection's multiplications the last forward needed, from 1 / largest candidate to 1,
  /// the mean over its samples; 0 of none. In training the gate's expectation sum_i p_i / G_i, differentiable, to be
  /// added to a loss as a penalty; in evaluation the choices'. ValueError before the first forward, and, while
  /// gradients are recorded, after a training forward that did not record, as those under checkpoint do not: a penalty
  /// without a gradient would do nothing.
  Tensor flops_share() const;
  Tensor choice() const;                ///< of the last forward: positions among the candidates, int64 [B]
  Tensor blocks(int64_t groups) const;  ///< W's diagonal blocks [3, G, E/G, C/G], as grouped_linear takes them
  Parameter weight;                     ///< W [3, E, C]: Xavier-uniform for the smallest candidate's blocks
  Parameter bias;                       ///< [3 E]
  Linear gate;  ///< C to one logit per candidate: Xavier-uniform, so that samples differ at once

 private:
  Tensor project(const Tensor& x, size_t candidate) const;
  Tensor blend(const Tensor& x, const Tensor& share, const Tensor& hard) const;
  Tensor partition(const Tensor& x, const Tensor& choice) const;

  /// Of the last forward.
  struct Found {
    Tensor flops_share, choice;
    bool recorded = true;  ///< false: a training forward without gradients
  };
  /// That, safe to replace and read from several threads at once.
  class Last {
   public:
    Last() = default;
    Last(const Last& other) noexcept : found_(other.get()) {}  // tensors are handles: nothing to throw
    Last& operator=(const Last& other) noexcept;
    Found get() const noexcept;
    void set(Found found) noexcept;

   private:
    mutable std::mutex mutex_;
    Found found_;
  };
  Last last_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
