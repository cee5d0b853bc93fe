// What the claims' experiments have in common: the models at the scale of two cores, and comparisons of two arms.
#pragma once
#include <array>

#include "grouped_vs_standard/claims/claim.h"
#include "grouped_vs_standard/headline/protocol.h"
#include "grouped_vs_standard/report/format.h"
#include "grouped_vs_standard/study/match.h"

namespace comparison {

/// Models and tasks of the experiments, as written down before they ran (README.md).
namespace base {

/// Fashion-MNIST, 1000 training images, 4x4 patches (T 49), C 64, 2 layers, 4 heads. plain: 800 steps without
/// augmentation; tuned: 1200 steps with random shifts and mirroring.
Setting headline_plain();
Setting headline_tuned();
/// The same in 7x7 patches (T 16), 400 steps: for sweeps and options.
Setting sweep();
/// The planted pair: variant "in", "across" or "across_v".
Setting planted(const std::string& variant);
/// A standard model for a task: width, layers, heads, steps.
Setting for_task(const TaskSpec& task, int64_t dim, int64_t layers, int64_t heads, int64_t steps);

}  // namespace base

/// The grouped layer's options, the heads of the standard arm kept.
tutti::nn::GroupedMultiHeadAttentionOptions grouped_options(int64_t groups, int64_t heads = 0);

/// The setting's grouped counterpart with the same parameters (or by another match mode).
Setting grouped_like(const Setting& standard, const tutti::nn::GroupedMultiHeadAttentionOptions& options,
                     Match match = Match::equal_ffn);
/// {standard, grouped with G = 4} by a match mode, which may change either. equal_depth: both of twice the blocks,
/// since with two blocks it would round to equal_ffn.
std::array<Setting, 2> matched(const Setting& standard, Match match);
/// The mode's name, with the blocks where the arms differ in them.
std::string name_of(Match match, const std::array<Setting, 2>& arms);
/// The setting with another attention layer, its feed-forward widened or narrowed to the parameters of `standard`.
Setting with_attention(const Setting& standard, const examples::AttentionChoice& attention,
                       bool equal_parameters = true);

/// Two arms over the same seeds.
struct Comparison {
  std::vector<Outcome> a, b;
  Interval difference;  ///< accuracy of b - a in points, two-level bootstrap
  double p = 1;         ///< two-sided, that the difference is 0, by the same bootstrap
  Interval accuracy_a, accuracy_b;
  int64_t seeds = 0, items = 0;
};
Comparison compare(Lab& lab, const Setting& a, const Setting& b, int64_t k, uint64_t first = 1);

/// Accuracy of every outcome, in percent.
std::vector<double> accuracies(const std::vector<Outcome>& outcomes);

/// By how much b has more parameters than a, in percent of a's: 0 unless "equal" is only nearly so.
double parameter_gap(const Comparison& comparison);

/// Accuracy of b - a, seed by seed, in points.
std::vector<double> gains(const Comparison& comparison);
/// By how much the gain of `here` exceeds that of `there`, over the same seeds and the same test items.
Interval excess_gain(const Comparison& here, const Comparison& there);
/// The verdict on an excess of one gain over another: without a gain to begin with, it does not hold.
std::string with_gain(const std::string& verdict, const Interval& gain);
/// Mean of b - a, values paired by seed.
Interval mean_difference(const std::vector<double>& a, const std::vector<double>& b);

/// One row of a table of comparisons: name, both accuracies, the difference with its interval, seeds.
std::vector<std::string> row_of(const std::string& name, const Comparison& comparison);
/// Their header.
std::vector<std::string> comparison_header(const std::string& first = "", const std::string& a = "standard (%)",
                                           const std::string& b = "grouped (%)");

/// Says a finding's effect and its interval: "gap narrower by +0.52 points" of before, 0.52, after.
void say_effect(Finding& finding, const std::string& before, const Interval& effect, const std::string& after,
                int digits = 2);

/// A finding whose effect is an accuracy difference, its row filled in; the verdict is still to be set.
Finding finding_of(const Comparison& comparison);

}  // namespace comparison
