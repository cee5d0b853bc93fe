// The article's advice on the number of groups.
#pragma once
#include <cstdint>

#pragma GCC visibility push(default)
namespace tutti::nn {

/// A band of numbers of groups, and one within it.
struct GroupRecommendation {
  int64_t low, high;  ///< the article's band for this width; not all of its numbers divide the width
  int64_t groups;     ///< divides the width: 4, 4 or 8 in the three bands, or what is nearest to it in the band
};

/// The article, section 4.3: 2 to 4 groups for a width up to 256, 4 to 8 for 256 to 512, 8 to 16 from 512 on. It names
/// 256 and 512 twice; here C <= 256 -> 2-4, 256 < C < 512 -> 4-8, C >= 512 -> 8-16. Whether the advice is good is what
/// the sweep over groups measures. ValueError if embed_dim is not positive, or if nothing in the band divides it; it
/// names the nearest widths that work.
GroupRecommendation recommend_groups(int64_t embed_dim);

}  // namespace tutti::nn
#pragma GCC visibility pop
