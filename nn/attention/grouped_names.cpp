#include <array>
#include <cstddef>

#include "tutti/nn/attention/grouped_options.h"

namespace tutti::nn {
namespace {

template <class E, size_t N>
const char* find(E x, const std::array<const char*, N>& names) {
  const auto i = static_cast<size_t>(x);
  return i < N ? names[i] : "unknown";
}

}  // namespace

const char* name_of(HeadMode x) { return find(x, std::array{"heads", "literal"}); }
const char* name_of(AttentionScale x) { return find(x, std::array{"group_dim", "head_dim", "embed_dim", "learned"}); }
const char* name_of(OutputProjection x) { return find(x, std::array{"none", "dense", "grouped"}); }
const char* name_of(InitSchedule x) { return find(x, std::array{"constant", "inverse_index"}); }
const char* name_of(ScheduledProjections x) { return find(x, std::array{"q", "qk", "qkv"}); }
const char* name_of(ProjectionNorm x) { return find(x, std::array{"none", "per_group", "full"}); }
const char* name_of(GroupExchange x) {
  return find(x, std::array{"none", "shuffle", "talking_heads", "inter_group", "tokens_over_groups", "cascade"});
}
const char* name_of(Sparsity x) {
  return find(x, std::array{"dense", "sliding_window", "block", "strided", "global_window", "big_bird"});
}

}  // namespace tutti::nn
