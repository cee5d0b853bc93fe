#include <algorithm>

#include <fmt/format.h>

#include "grouped_vs_standard/claims/speeds.h"

namespace comparison {
namespace {

using tutti::nn::GroupedMultiHeadAttentionOptions;
using tutti::nn::GroupExchange;
using tutti::nn::Sparsity;

struct Way {
  const char* name;
  GroupedMultiHeadAttentionOptions options;
  int64_t longest;  ///< stored maps grow with T^2
};

std::vector<Way> ways() {
  std::vector<Way> list{{"dense, fused", {.groups = 4}, 8192}, {"maps stored", {.groups = 4}, 2048}};
  list[1].options.exchange = GroupExchange::talking_heads;
  constexpr std::pair<const char*, Sparsity> patterns[] = {{"sliding window 128", Sparsity::sliding_window},
                                                           {"block 64", Sparsity::block},
                                                           {"strided 4", Sparsity::strided},
                                                           {"global + window", Sparsity::global_window},
                                                           {"BigBird-like", Sparsity::big_bird}};
  for (const auto& [name, pattern] : patterns) {
    Way way{name, {.groups = 4}, 8192};
    way.options.sparsity.pattern = pattern;
    if (pattern == Sparsity::sliding_window) way.options.sparsity.window = 128;
    list.push_back(way);
  }
  return list;
}

}  // namespace

// Memory explodes only where attention maps are stored. The fused kernel stores none; there sparsity saves time.
Claim c40();
Claim c40() {
  return {40, "Above 1024 tokens use sparse attention, or memory explodes.",
          "Bytes and time of one layer (C = 128, batch 1, forward and backward) against T: fused dense attention, "
          "stored maps (talking heads need them), and every sparse pattern. Holds if the bytes of fused dense "
          "attention grow faster than T from 1024 to 8192; refuted if they stay within 1.1 times T.",
          [](Lab& lab) {
            Figure bytes{.id = "c40-bytes",
                         .title = "Memory of one layer against tokens",
                         .x_label = "tokens T",
                         .y_label = "MB above the inputs",
                         .log_x = true,
                         .log_y = true};
            Figure seconds{.id = "c40-seconds",
                           .title = "Time of one layer against tokens",
                           .x_label = "tokens T",
                           .y_label = "seconds, forward and backward",
                           .log_x = true,
                           .log_y = true};
            Table table{"One attention layer, C = 128", {"attention", "T", "MB", "milliseconds"}, {}};

            for (const Way& way : ways()) {
              Series b{.name = way.name}, s{.name = way.name};
              for (int64_t t = 512; t <= way.longest; t *= 2) {
                const LayerCost cost = layer_cost(lab, way.options, 128, t);
                const auto tokens = static_cast<double>(t);
                b.x.push_back(tokens), b.y.push_back(cost.bytes / 1e6);
                s.x.push_back(tokens), s.y.push_back(cost.seconds);
                table.rows.push_back(
                    {way.name, std::to_string(t), number(cost.bytes / 1e6, 1), number(1e3 * cost.seconds, 1)});
              }
              bytes.series.push_back(b);
              seconds.series.push_back(s);
            }
            if (!lab.complete()) return Finding{};
            const std::vector<double>& dense = bytes.series[0].y;   // at 512, 1024 ... 8192
            const std::vector<double>& stored = bytes.series[1].y;  // at 512, 1024, 2048
            const double growth = dense.at(4) / dense.at(1);
            double least[2] = {1e30, 1e30}, most[2] = {0, 0};  // bytes and seconds of sparse patterns, dense: 1
            for (size_t way = 2; way < bytes.series.size(); ++way)
              for (int i = 0; i < 2; ++i) {
                const auto& all = i == 0 ? bytes.series : seconds.series;
                const double share = all[way].y.at(4) / all[0].y.at(4);
                least[i] = std::min(least[i], share), most[i] = std::max(most[i], share);
              }
            Finding f;
            f.verdict = growth < 8.8 ? "refuted" : "holds";
            f.effect = fmt::format("8 times the tokens, {:.2f} times the bytes", growth);
            f.why = fmt::format(
                "Where maps are stored, 4 times the tokens take {:.1f} times the bytes. In the fused kernel, which "
                "stores none, the sparse patterns take {:.2f} to {:.2f} of the dense layer's bytes at 8192 tokens, and "
                "{:.2f} to {:.2f} of its time.",
                stored.at(2) / stored.at(0), least[0], most[0], least[1], most[1]);
            if (least[0] > 0.99 && most[0] < 1.01) bytes.title += " (all that store no maps coincide)";
            f.tables.push_back(table);
            f.pictures = {bytes, seconds};
            return f;
          }};
}

}  // namespace comparison
