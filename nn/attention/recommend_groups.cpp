#include "tutti/nn/attention/recommend_groups.h"

#include <limits>

#include "tutti/core/error.h"
#include "tutti/nn/option.h"

namespace tutti::nn {
namespace {

/// groups = 0: nothing in the band divides the width.
GroupRecommendation look_up(int64_t width) {
  GroupRecommendation r = width <= 256  ? GroupRecommendation{2, 4, 0}
                          : width < 512 ? GroupRecommendation{4, 8, 0}
                                        : GroupRecommendation{8, 16, 0};
  const int64_t wanted = width < 512 ? 4 : 8;
  for (int64_t distance = 0; r.groups == 0 && distance <= r.high - r.low; ++distance)
    for (int64_t groups : {wanted - distance, wanted + distance})
      if (r.groups == 0 && groups >= r.low && groups <= r.high && width % groups == 0) r.groups = groups;
  return r;
}

}  // namespace

GroupRecommendation recommend_groups(int64_t embed_dim) {
  check_positive("recommend_groups", "embed_dim", embed_dim);
  const GroupRecommendation r = look_up(embed_dim);
  if (r.groups != 0) return r;
  int64_t below = embed_dim, above = embed_dim;
  while (below > 0 && look_up(below).groups == 0) --below;
  while (above > 0 && look_up(above).groups == 0) above = above == std::numeric_limits<int64_t>::max() ? 0 : above + 1;
  std::string fits = below > 0 ? message(below) : "";
  if (above > 0) fits += message(below > 0 ? " and " : "", above);
  throw ValueError(message("recommend_groups: no number of groups from ", r.low, " to ", r.high,
                           " divides embed_dim = ", embed_dim, "; the nearest widths that work: ", fits));
}

}  // namespace tutti::nn
