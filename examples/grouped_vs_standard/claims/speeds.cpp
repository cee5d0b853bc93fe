#include "grouped_vs_standard/claims/speeds.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "grouped_vs_standard/headline/measure.h"
#include "grouped_vs_standard/statistics/bootstrap.h"
#include "grouped_vs_standard/statistics/moments.h"
#include "grouped_vs_standard/study/attention_json.h"

namespace comparison {

using namespace tutti;
using nlohmann::json;

SpeedRatio speed_ratio(Lab& lab, const Setting& a, const Setting& b, int64_t blocks, int64_t steps) {
  const json j = lab.measure(
      "speed", {{"a", json_of(a)}, {"b", json_of(b)}, {"blocks", blocks}, {"steps", steps}},
      [=] {
        const Speed speed = measure_speed(a, b, blocks, steps);
        return json{{"a", speed.rates[0]}, {"b", speed.rates[1]}};
      },
      20, Run::exclusive);
  if (j.empty()) return {};
  const auto rates_a = j.at("a").get<std::vector<double>>(), rates_b = j.at("b").get<std::vector<double>>();
  return {median(rates_a), median(rates_b), ratio(rates_a, rates_b)};
}

StepBytes step_bytes(Lab& lab, const Setting& setting) {
  const json j = lab.measure("bytes of a training step", json_of(setting), [=] {
    const Memory memory = measure_memory(setting);
    return json{{"peak", memory.tensor_bytes}, {"kept", memory.kept_bytes}};
  });
  return {number(j, "peak"), number(j, "kept")};
}

double resident_bytes(Lab& lab, Match match, bool grouped, int64_t layers) {
  std::string arguments = fmt::format("--arm {} --match {} --layers {} --threads 1", grouped ? "grouped" : "standard",
                                      name_of(match), layers);
  if (default_device() != cpu) arguments += " --device " + to_string(default_device());
  const auto work = [=] { return json{{"bytes", measure_memory_apart(arguments).rss_bytes}}; };
  return number(lab.measure("resident bytes", arguments, work), "bytes");
}

LayerCost layer_cost(Lab& lab, const examples::AttentionChoice& attention, int64_t width, int64_t tokens) {
  const json j = lab.measure(
      "layer over T", {{"attention", json_of(attention)}, {"width", width}, {"tokens", tokens}},
      [=] {
        manual_seed(1);
        auto layer = examples::make_attention(attention, width);
        const Tensor x = randn({1, tokens, width}).requires_grad_();
        const auto pass = [&] { sum(std::visit([&](auto& l) -> Tensor { return l(x); }, layer)).backward(); };
        pass();
        synchronize(default_device());
        const auto before = memory::stats().current;
        memory::reset_peak();
        double best = 1e30;
        for (int i = 0; i < 3; ++i) {
          const auto start = std::chrono::steady_clock::now();
          pass();
          synchronize(default_device());  // a GPU is done later than the calls
          best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
        return json{{"bytes", memory::stats().peak - before}, {"seconds", best}};
      },
      2 + 1e-7 * static_cast<double>(tokens * tokens), Run::exclusive);
  return {number(j, "bytes"), number(j, "seconds")};
}

}  // namespace comparison
