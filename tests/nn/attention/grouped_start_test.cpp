// How the grouped layer starts: spread of scores, the schedule of gains, and LayerNorm that cancels it.
#include <cmath>

#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/nn/attention/grouped_attention.h"
#include "tutti/nn/init.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/random.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::AttentionScale;
using nn::GroupedMultiHeadAttention;
using nn::HeadMode;
using nn::ProjectionNorm;

namespace {

Tensor part(const Tensor& x, int64_t i, int64_t parts) { return chunk(x, parts, -1)[static_cast<size_t>(i)]; }

}  // namespace

TEST_CASE("grouped attention: the spread of scores at the start is 1 at H = G, and sqrt(G) for the literal map (C16)") {
  const auto spread = [](HeadMode mode, AttentionScale scale) {
    manual_seed(6);
    GroupedMultiHeadAttention layer({.embed_dim = 256, .head_mode = mode, .scale = scale});
    const Tensor qkv = grouped_linear(randn({64, 256}), layer.weight);
    const Tensor q = transpose(reshape(part(qkv, 0, 3), {64, layer.options().num_heads, -1}), 0, 1);
    const Tensor k = transpose(reshape(part(qkv, 1, 3), {64, layer.options().num_heads, -1}), 0, 1);
    return stddev(mul(matmul(q, transpose(k, -1, -2)), layer.score_scale())).item();
  };
  CHECK(spread(HeadMode::heads, AttentionScale::group_dim) == Approx(1).margin(0.05));
  CHECK(spread(HeadMode::heads, AttentionScale::embed_dim) == Approx(0.5).margin(0.025));
  CHECK(spread(HeadMode::literal, AttentionScale::group_dim) == Approx(2).margin(0.1));
  CHECK(spread(HeadMode::literal, AttentionScale::head_dim) == Approx(1).margin(0.05));
}

TEST_CASE("grouped attention: LayerNorm per group cancels the schedule's gain at the start, and multiplies gradients") {
  for (const auto on : {nn::ScheduledProjections::q, nn::ScheduledProjections::qk})
    for (int64_t kv_heads : {0, 4}) {
      const auto make = [&](nn::InitSchedule schedule, ProjectionNorm norm, double eps) {
        manual_seed(8);
        GroupedMultiHeadAttention layer({.embed_dim = 32,
                                         .num_heads = 8,
                                         .groups = 4,
                                         .num_kv_heads = kv_heads,
                                         .init = schedule,
                                         .init_on = on,
                                         .norm = norm,
                                         .norm_eps = eps});
        layer.to(DType::float64);
        // the gain again in float64: float32's thirds differ in the eighth digit
        const no_grad off;
        const bool own = layer.kv_weight.defined(), keys = on == nn::ScheduledProjections::qk;
        manual_seed(9);
        for (const nn::Parameter* w : {&layer.weight, &layer.kv_weight}) {
          if (!w->defined()) continue;
          nn::init::xavier_uniform_(*w);
          const int64_t scheduled = w == &layer.weight ? (keys && !own ? 2 : 1) : (keys ? 1 : 0);
          for (int64_t i = 0; i < 4 && schedule == nn::InitSchedule::inverse_index; ++i) {
            const Tensor blocks = select(slice(*w, 0, 0, scheduled), 1, i);
            copy_(blocks, div(blocks, static_cast<double>(i + 1)));
          }
        }
        return layer;
      };
      using nn::InitSchedule;
      const Tensor x = random_tensor({2, 7, 32}, DType::float64, 1), dy = random_tensor(x.shape(), DType::float64, 2);
      const auto difference = [&](ProjectionNorm norm, double eps) {
        return max(abs(make(InitSchedule::constant, norm, eps)(x) - make(InitSchedule::inverse_index, norm, eps)(x)))
            .item();
      };
      CHECK(difference(ProjectionNorm::per_group, 0) < 1e-12);
      CHECK(difference(ProjectionNorm::per_group, 1e-5) > 1e-9);
      CHECK(difference(ProjectionNorm::full, 0) > 1e-3);
      CHECK(difference(ProjectionNorm::none, 0) > 1e-3);

      GroupedMultiHeadAttention plain = make(InitSchedule::constant, ProjectionNorm::per_group, 0);
      GroupedMultiHeadAttention graded = make(InitSchedule::inverse_index, ProjectionNorm::per_group, 0);
      plain(x).backward(dy);
      graded(x).backward(dy);
      const auto compare = [&](const nn::Parameter& a, const nn::Parameter& b, int64_t map, bool scheduled) {
        for (int64_t i = 0; i < 4; ++i) {
          const Tensor want = select(select(a.tensor().grad(), 0, map), 0, i);
          const Tensor got = select(select(b.tensor().grad(), 0, map), 0, i);
          check_close(got, Array(mul(want, scheduled ? static_cast<double>(i + 1) : 1.0)), 1e-11);
          CHECK(norm(want).item() > 1e-4);
        }
      };
      const bool keys = on == nn::ScheduledProjections::qk;
      compare(plain.weight, graded.weight, 0, true);
      if (plain.kv_weight.defined())
        compare(plain.kv_weight, graded.kv_weight, 0, keys);
      else
        compare(plain.weight, graded.weight, 1, keys);
    }
}

TEST_CASE("grouped attention: the schedule scales q, k and v where k and v have a weight of their own (C30)") {
  const auto make = [](nn::InitSchedule schedule, nn::ScheduledProjections on) {
    manual_seed(14);
    return GroupedMultiHeadAttention({.embed_dim = 64,
                                      .num_heads = 8,
                                      .groups = 4,
                                      .num_kv_heads = 4,
                                      .inner_dim = 32,
                                      .init = schedule,
                                      .init_on = on});
  };
  using nn::ScheduledProjections;
  const auto plain = make(nn::InitSchedule::constant, ScheduledProjections::q);
  CHECK(plain.weight.shape() == Dims{1, 4, 8, 16});
  CHECK(plain.kv_weight.shape() == Dims{2, 4, 4, 16});
  const double bounds[] = {std::sqrt(6.0 / 24), std::sqrt(6.0 / 20)};  // Xavier of the blocks 8 x 16 and 4 x 16
  CHECK(max(abs(plain.weight)).item() == Approx(bounds[0]).epsilon(0.05));
  CHECK(max(abs(plain.kv_weight)).item() == Approx(bounds[1]).epsilon(0.05));
  CHECK(max(abs(plain.weight)).item() <= bounds[0]);
  CHECK(max(abs(plain.kv_weight)).item() <= bounds[1]);
  for (const auto& [on, scheduled] :
       {std::pair{ScheduledProjections::q, 1}, {ScheduledProjections::qk, 2}, {ScheduledProjections::qkv, 3}}) {
    const auto layer = make(nn::InitSchedule::inverse_index, on);
    for (int64_t p = 0; p < 3; ++p)
      for (int64_t g = 0; g < 4; ++g) {
        const double gain = p < scheduled ? 1.0 / static_cast<double>(g + 1) : 1;
        const auto value = [&](const GroupedMultiHeadAttention& l) {
          return p == 0 ? l.weight.tensor().at({0, g, 3, 5}) : l.kv_weight.tensor().at({p - 1, g, 3, 5});
        };
        CHECK(value(layer) == Approx(gain * value(plain)));
      }
  }
}
