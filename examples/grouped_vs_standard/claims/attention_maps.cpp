#include "grouped_vs_standard/claims/attention_maps.h"

#include <cmath>

#include <fmt/format.h>

#include "grouped_vs_standard/claims/trained_probe.h"

namespace comparison {

Heatmaps attention_maps(Lab& lab) {
  const Setting standard = base::sweep();
  const auto a = probes(lab, standard, 1), b = probes(lab, grouped_like(standard, grouped_options(4)), 1);
  Heatmaps pictures{.id = "attention-maps",
                    .title = "Attention weights of one test image (rows: queries, columns: keys)"};
  if (!lab.complete()) return pictures;
  const auto add = [&](const nlohmann::json& probe, const char* arm, const char* part) {
    const auto maps = probe.at("maps").get<std::vector<std::vector<std::vector<double>>>>();
    for (size_t layer = 0; layer < maps.size(); ++layer)
      for (size_t i = 0; i < maps[layer].size(); ++i) {
        const auto tokens = std::llround(std::sqrt(static_cast<double>(maps[layer][i].size())));
        pictures.maps.push_back({.label = fmt::format("{}, block {}, {} {}", arm, layer + 1, part, i + 1),
                                 .rows = tokens,
                                 .columns = tokens,
                                 .values = maps[layer][i]});
      }
  };
  add(a.at(0), "standard", "head");
  add(b.at(0), "grouped", "group");
  return pictures;
}

}  // namespace comparison
