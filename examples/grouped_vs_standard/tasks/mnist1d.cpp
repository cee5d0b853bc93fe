#include "grouped_vs_standard/tasks/mnist1d.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "grouped_vs_standard/tasks/draws.h"
#include "grouped_vs_standard/tasks/options.h"
#include "tutti/tutti.h"

namespace comparison {

using namespace tutti;

namespace {

constexpr uint32_t task_number = 2;
constexpr size_t points = 12, least_padding = 36, most_padding = 60, stretched = points + most_padding, steps = 40;
constexpr double scaling = 0.4, smooth_noise = 0.25, noise = 0.02, shearing = 0.75;
constexpr int64_t moves = 48;

// Mean and deviation of all numbers, from 10^6 samples: constants, so that no sample depends on the others.
constexpr double mean_of_all = -0.0060970, deviation_of_all = 0.1547235;

using Series = std::vector<double>;

std::array<Series, 10> make_templates() {
  std::array<Series, 10> templates = {{
      {5, 6, 6.5, 6.75, 7, 7, 7, 7, 6.75, 6.5, 6, 5},
      {5, 3, 3, 3.4, 3.8, 4.2, 4.6, 5, 5.4, 5.8, 5, 5},
      {5, 6, 6.5, 6.5, 6, 5.25, 4.75, 4, 3.5, 3.5, 4, 5},
      {5, 6, 6.5, 6.5, 6, 5, 5, 6, 6.5, 6.5, 6, 5},
      {5, 4.4, 3.8, 3.2, 2.6, 2.6, 5, 5, 5, 5, 5, 5},
      {5, 3, 3, 3, 3, 5, 6, 6.5, 6.5, 6, 4.5, 5},
      {5, 4, 3.5, 3.25, 3, 3, 3, 3, 3.25, 3.5, 4, 5},
      {5, 7, 7, 6.6, 6.2, 5.8, 5.4, 5, 4.6, 4.2, 5, 5},
      {5, 4, 3.5, 3.5, 4, 5, 5, 4, 3.5, 3.5, 4, 5},
      {5, 4, 3.5, 3.5, 4, 5, 5, 5, 5, 4.7, 4.3, 5},
  }};
  for (Series& x : templates) {  // deviation 1/6, beginning and ending at 0
    double sum = 0, squares = 0;
    for (double v : x) sum += v;
    for (double v : x) squares += (v - sum / points) * (v - sum / points);
    const double deviation = std::sqrt(squares / points), first = x[0];
    for (double& v : x) v = (v - first) / deviation / 6;
  }
  return templates;
}

/// Read at n evenly spaced places, linearly between its points.
Series interpolated(const Series& x, size_t n) {
  Series y(n);
  for (size_t i = 0; i < n; ++i) {
    const double place = static_cast<double>(i) * static_cast<double>(x.size() - 1) / static_cast<double>(n - 1);
    const size_t left = std::min(static_cast<size_t>(place), x.size() - 2);
    y[i] = x[left] + (place - static_cast<double>(left)) * (x[left + 1] - x[left]);
  }
  return y;
}

/// Gaussian filter of deviation 2, cut at 4 deviations; beyond the ends the series is mirrored.
Series smoothed(const Series& x) {
  // exp(-i^2 / 8) / sum, written out: the library's exp need not be the same everywhere.
  constexpr std::array<double, 9> weight = {0.199474647864745,    0.17603575888479037,   0.12098748976534904,
                                            0.06475993660472744,  0.026995957967298846,  0.00876430436278587,
                                            0.002215963172596555, 0.0004363490205067883, 6.691628957263553e-05};
  const auto n = static_cast<int64_t>(x.size());
  Series y(x.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i - 8; j <= i + 8; ++j)
      y[static_cast<size_t>(i)] +=
          weight[static_cast<size_t>(std::abs(i - j))] * x[static_cast<size_t>(j < 0    ? -1 - j
                                                                               : j >= n ? 2 * n - 1 - j
                                                                                        : j)];
  return y;
}

Series normal(Draws& draw, size_t n, double deviation) {
  Series x(n);
  for (double& v : x) v = deviation * draw.normal();
  return x;
}

Series generate(const Series& digit, Draws& draw) {
  Series x = digit;
  for (double& v : x) v += 1e-8;  // tells the digit from its padding
  x.resize(points + least_padding + static_cast<size_t>(draw.below(most_padding - least_padding + 1)));
  x = interpolated(x, stretched);
  const double scale = 1 + scaling * (draw.uniform() - 0.5);
  for (double& v : x) v *= scale;
  std::rotate(x.begin(), x.end() - draw.below(moves), x.end());
  const Series background = smoothed(normal(draw, stretched, smooth_noise)),
               everywhere = normal(draw, stretched, noise);
  const double shear = shearing * (draw.uniform() - 0.5);
  for (size_t i = 0; i < stretched; ++i)
    x[i] =
        (x[i] != 0 ? x[i] : background[i]) + everywhere[i] - shear * (static_cast<double>(i) / (stretched - 1) - 0.5);
  return interpolated(x, steps);
}

Split generate(RandomKey key, int64_t n) {
  static const std::array<Series, 10> templates = make_templates();
  Draws draw(key);
  std::vector<float> x;
  std::vector<int64_t> y;
  for (int64_t i = 0; i < n; ++i) {
    y.push_back(i % 10);
    for (double v : generate(templates[static_cast<size_t>(i % 10)], draw))
      x.push_back(static_cast<float>((v - mean_of_all) / deviation_of_all));
  }
  return {Tensor::from(x, {n, steps}), Tensor::from(y, {n})};
}

}  // namespace

Task mnist1d(const TaskSpec& spec) {
  check(spec, {.shuffled = true});
  Task task{.spec = spec, .tokens = steps, .inputs = 1, .classes = 10};
  if (spec.train == 0) task.spec.train = 4000;
  const Split test = generate(part_key(task_number, spec.validation ? Part::validation : Part::test), 1000);
  task.sample = [n = task.spec.train, test](uint64_t seed) {
    return Sample{generate(part_key(task_number, Part::train, seed), n), test};
  };
  Generator draw(steps);
  task.tokens_of = [order = spec.shuffled ? randperm(steps, draw) : Tensor()](const Tensor& x, bool) {
    return reshape(order.defined() ? index_select(x, 1, order) : x, {-1, static_cast<int64_t>(steps), 1});
  };
  task.source = message("MNIST-1D (Greydanus and Kobak 2020), generated: ", task.spec.train,
                        " training samples a seed, 1000 test samples, 40 numbers, 10 classes",
                        spec.shuffled ? "; time steps permuted" : "");
  return task;
}

}  // namespace comparison
