#include "grouped_vs_standard/claims/scales.h"

#include <cmath>

#include "grouped_vs_standard/claims/exact.h"
#include "grouped_vs_standard/statistics/moments.h"

namespace comparison {

using namespace tutti;
using nn::AttentionScale;

const char* name_of(HeadLayout heads) {
  return heads == HeadLayout::literal ? "single map" : heads == HeadLayout::one_each ? "H = G" : "H = 2 G";
}

nn::GroupedMultiHeadAttentionOptions scaled_options(HeadLayout heads, AttentionScale scale) {
  auto options = grouped_options(4, heads == HeadLayout::two_each ? 8 : 0);
  if (heads == HeadLayout::literal) options.head_mode = nn::HeadMode::literal;
  if (scale == AttentionScale::head_dim && heads == HeadLayout::one_each) scale = AttentionScale::group_dim;
  if (scale == AttentionScale::head_dim && heads == HeadLayout::literal) scale = AttentionScale::embed_dim;
  options.scale = scale;
  return options;
}

Setting scaled_sweep(HeadLayout heads, AttentionScale scale) {
  return grouped_like(base::sweep(), scaled_options(heads, scale));
}

nn::AttentionStats stats_at_start(HeadLayout heads, AttentionScale scale) {
  auto options = scaled_options(heads, scale);
  options.embed_dim = 64;
  manual_seed(1);
  return nn::attention_stats(nn::GroupedMultiHeadAttention(options), normal_numbers({16, 48, 64}, DType::float32, 2));
}

double largest_stable_rate(Lab& lab, Setting setting, int64_t k) {
  setting.training.steps = 150;
  setting.training.constant_rate = true;
  double largest = 0;
  bool so_far = true;
  for (const double lr : {0.003, 0.01, 0.03, 0.1, 0.3}) {
    setting.training.lr = lr;
    for (const Outcome& o : lab.train(setting, lab.seeds(k)))
      so_far = so_far && o.losses.size() >= 20 &&
               mean({o.losses.end() - 20, o.losses.end()}) < std::log(10.0) / 2;  // NaN is no less
    if (so_far) largest = lr;
  }
  return largest;
}

}  // namespace comparison
