#include "grouped_vs_standard/tasks/fashion.h"

#include "grouped_vs_standard/fashion.h"
#include "grouped_vs_standard/tasks/fingerprint.h"
#include "grouped_vs_standard/tasks/options.h"
#include "tutti/tutti.h"

namespace comparison {

using namespace tutti;

namespace {

constexpr int64_t held_apart = 5000, shift = 2;

const Fashion& images() {
  static const Fashion loaded = load_fashion_bytes("/usr/share/datasets/fashion-mnist");
  return loaded;
}

/// The fixed order of the 784 pixels.
Tensor pixel_order() {
  Generator draw(784);
  return randperm(28 * 28, draw);
}

/// The same distribution as a data::Loader with this transform; drawn from the batch itself.
Tensor augmented(const Tensor& bytes) {
  static const data::Transform transform = data::compose({data::random_shift(shift), data::random_flip()});
  return transform(bytes, {fingerprint(bytes), 0});
}

}  // namespace

Task fashion(const TaskSpec& spec) {
  check(spec, {.variants = {"", "augmented"}, .patch = true, .shuffled = true});
  Task task{.spec = spec, .classes = 10};
  if (spec.train == 0) task.spec.train = 1000;
  if (spec.patch == 0) task.spec.patch = 4;
  const int64_t patch = task.spec.patch, n = task.spec.train;
  if (28 % patch != 0)
    throw ValueError(message("task fashion: patch is ", patch, "; it must divide 28: 1, 2, 4, 7, 14 or 28"));
  task.tokens = (28 / patch) * (28 / patch);
  task.inputs = patch * patch;

  const int64_t all = images().train.labels.size(0), available = spec.validation ? all - held_apart : all;
  if (n > available) throw ValueError(message("task fashion: train is ", n, "; there are ", available, " images"));
  const Images test = spec.validation
                          ? subset(images().train, arange(static_cast<double>(available), static_cast<double>(all), 1,
                                                          {.dtype = DType::int64}))
                          : images().test;
  task.sample = [n, available, test](uint64_t seed) {
    Generator draw(seed);
    const Images train = subset(images().train, slice(randperm(available, draw), 0, 0, n));
    return Sample{{train.pixels, train.labels}, {test.pixels, test.labels}};
  };
  task.tokens_of = [patch, augment = spec.variant == "augmented", order = spec.shuffled ? pixel_order() : Tensor()](
                       const Tensor& x, bool training) {
    Tensor pixels = training && augment ? augmented(x) : x;
    if (order.defined()) pixels = index_select(reshape(pixels, {-1, 28 * 28}), 1, order);
    return patches(standardised(pixels), patch);
  };
  task.source =
      message("Fashion-MNIST (Xiao et al. 2017, MIT licence; Debian package dataset-fashion-mnist): ", n, " of ",
              available, " training images a seed, ", test.labels.size(0), " test images, 28x28 grey, ", "10 classes",
              spec.variant.empty() ? "" : "; random shifts of up to 2 pixels and mirroring",
              spec.shuffled ? "; pixels permuted" : "");
  return task;
}

}  // namespace comparison
