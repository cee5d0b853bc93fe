#include "grouped_vs_standard/tasks/planted.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "grouped_vs_standard/tasks/draws.h"
#include "grouped_vs_standard/tasks/options.h"
#include "tutti/core/error.h"

namespace comparison {

using namespace tutti;

namespace {

constexpr int blocks = 4, items = 8, bits = 8, width = 15, channels = blocks * width, value_at = bits;
constexpr uint32_t task_number = 1;

struct Shifts {
  int key, value;  // sk and sv
};

struct Variant {
  std::string name;
  Shifts shifts{};
  uint32_t test_set = 0;  // 0: the first one
};

Variant variant_of(const TaskSpec& spec) {
  const size_t slash = std::min(spec.variant.find('/'), spec.variant.size());
  Variant v{.name = spec.variant.substr(0, slash)};
  TaskSpec base = spec;
  base.variant = v.name;
  check(base, {.variants = {"in", "across", "across_v"}});
  v.shifts = {v.name == "across", v.name != "in"};
  if (slash < spec.variant.size()) {
    uint32_t number = 0;
    const char *begin = spec.variant.data() + slash + 1, *end = spec.variant.data() + spec.variant.size();
    const auto [stop, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || stop != end || number < 1 || number > 1000)
      throw ValueError(message("task planted: variant '", spec.variant, "': expected ", v.name,
                               "/n with the number n of a test set from 1 to 1000"));
    v.test_set = number - 1;
  }
  return v;
}

float sign(bool up) { return up ? 1.0f : -1.0f; }

void write_code(float* to, int64_t code) {
  for (int i = 0; i < bits; ++i) to[i] = sign(code >> i & 1);
}

/// Writes one sample [9, 60] and gives its label.
int64_t generate(Draws& draw, Shifts shifts, float* x) {
  std::array<std::array<int64_t, items>, blocks> codes{};
  for (auto& block : codes)
    for (auto at = block.begin(); at != block.end(); ++at) do
        *at = draw.below(1 << bits);
      while (std::find(block.begin(), at, *at) != at);

  for (int t = 0; t < items; ++t)
    for (int b = 0; b < blocks; ++b) {
      float* token = x + (1 + t) * channels + b * width;
      write_code(token, codes[static_cast<size_t>(b)][static_cast<size_t>(t)]);
      for (int c = value_at; c < width; ++c) token[c] = sign(draw.bit());  // the value, then noise
    }
  std::array<int64_t, blocks> asked{};
  for (int b = 0; b < blocks; ++b) {
    float* token = x + b * width;
    asked[static_cast<size_t>(b)] = draw.below(items);
    write_code(
        token,
        codes[static_cast<size_t>((b + shifts.key) % blocks)][static_cast<size_t>(asked[static_cast<size_t>(b)])]);
    token[value_at] = 0;
    for (int c = value_at + 1; c < width; ++c) token[c] = sign(draw.bit());
  }
  return x[(1 + asked[0]) * channels + shifts.value * width + value_at] > 0;
}

Split generate(RandomKey key, Shifts shifts, int64_t n) {
  Draws draw(key);
  std::vector<float> x(static_cast<size_t>(n * (1 + items) * channels));
  std::vector<int64_t> y(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    y[static_cast<size_t>(i)] = generate(draw, shifts, x.data() + i * (1 + items) * channels);
  return {Tensor::from(x, {n, 1 + items, channels}), Tensor::from(y, {n})};
}

}  // namespace

Task planted(const TaskSpec& spec) {
  const Variant variant = variant_of(spec);
  Task task{.spec = spec, .tokens = 1 + items, .inputs = channels, .classes = 2};
  if (spec.train == 0) task.spec.train = 2500;
  const Part part =
      spec.validation ? Part::validation : static_cast<Part>(static_cast<uint32_t>(Part::test) + variant.test_set);
  const Split test = generate(part_key(task_number, part), variant.shifts, 4000);
  task.sample = [n = task.spec.train, shifts = variant.shifts, test](uint64_t seed) {
    return Sample{generate(part_key(task_number, Part::train, seed), shifts, n), test};
  };
  task.tokens_of = [](const Tensor& x, bool) { return x; };
  task.source = message("planted (", variant.name, "), generated: ", task.spec.train,
                        " training samples a seed, 4000 test samples, 9 tokens of 60 channels, 2 classes");
  return task;
}

}  // namespace comparison
