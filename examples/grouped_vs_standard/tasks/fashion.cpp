#include "grouped_vs_standard/tasks/fashion.h"

#include <filesystem>

#include "grouped_vs_standard/tasks/fingerprint.h"
#include "grouped_vs_standard/tasks/options.h"
#include "tutti/tutti.h"

namespace comparison {

using namespace tutti;

namespace {

constexpr int64_t training_set = 60000, test_set = 10000, held_apart = 5000, shift = 2, side = 28;
std::string folder = "/usr/share/datasets/fashion-mnist";

/// Bytes [N, 28, 28] and labels.
Split load(const std::string& part, int64_t count) {
  if (!std::filesystem::is_directory(folder))
    throw IoError(
        folder +
        ": no such folder; the data is in the Debian package dataset-fashion-mnist, or name its folder with --data");
  const Tensor pixels = data::read_idx(folder + "/" + part + "-images-idx3-ubyte.gz");
  const Tensor labels = data::read_idx(folder + "/" + part + "-labels-idx1-ubyte.gz");
  if (pixels.shape() != Dims{count, side, side} || labels.shape() != Dims{count})
    throw IoError(message(folder, ": ", part, " has images of shape ", pixels.shape(), " and labels of shape ",
                          labels.shape(), "; Fashion-MNIST has ", count));
  return {pixels, to(labels, DType::int64)};
}

const Split& training_images() {
  static const Split loaded = load("train", training_set);
  return loaded;
}

const Split& test_images() {
  static const Split loaded = load("t10k", test_set);
  return loaded;
}

Split subset(const Split& images, const Tensor& positions) {
  return {index_select(images.x, 0, positions), index_select(images.y, 0, positions)};
}

Tensor standardised(const Tensor& bytes) {
  return (to(bytes, DType::float32) / 255.0 - 0.2860) / 0.3530;  // the training set's mean and deviation
}

/// [B, 28, 28] to tokens [B, (28/p)^2, p^2].
Tensor patches(const Tensor& pixels, int64_t p) {
  const int64_t n = side / p;
  return reshape(permute(reshape(pixels, {-1, n, p, n, p}), {0, 1, 3, 2, 4}), {-1, n * n, p * p});
}

/// The fixed order of the 784 pixels.
Tensor pixel_order() {
  Generator draw(784);
  return randperm(side * side, draw);
}

/// The same distribution as a data::Loader with this transform; drawn from the batch itself.
Tensor augmented(const Tensor& bytes) {
  static const data::Transform transform = data::compose({data::random_shift(shift), data::random_flip()});
  return transform(bytes, {fingerprint(bytes), 0});
}

}  // namespace

void set_fashion_folder(const std::string& path) { folder = path; }

Task fashion(const TaskSpec& spec) {
  check(spec, {.variants = {"", "augmented"}, .patch = true, .shuffled = true});
  Task task{.spec = spec, .classes = 10};
  if (spec.train == 0) task.spec.train = 1000;
  if (spec.patch == 0) task.spec.patch = 4;
  const int64_t patch = task.spec.patch, n = task.spec.train;
  if (side % patch != 0)
    throw ValueError(message("task fashion: patch is ", patch, "; it must divide 28: 1, 2, 4, 7, 14 or 28"));
  task.tokens = (side / patch) * (side / patch);
  task.inputs = patch * patch;

  const int64_t available = spec.validation ? training_set - held_apart : training_set;
  if (n > available) throw ValueError(message("task fashion: train is ", n, "; there are ", available, " images"));
  task.sample = [n, available, validation = spec.validation](uint64_t seed) {
    Generator draw(seed);
    const Split& all = training_images();
    const Split train = subset(all, slice(randperm(available, draw), 0, 0, n));
    if (!validation) return Sample{train, test_images()};
    return Sample{train, {slice(all.x, 0, available, training_set), slice(all.y, 0, available, training_set)}};
  };
  task.tokens_of = [patch, augment = spec.variant == "augmented", order = spec.shuffled ? pixel_order() : Tensor()](
                       const Tensor& x, bool training) {
    Tensor pixels = training && augment ? augmented(x) : x;
    if (order.defined()) pixels = index_select(reshape(pixels, {-1, side * side}), 1, order);
    return patches(standardised(pixels), patch);
  };
  task.source = message("Fashion-MNIST (Xiao et al. 2017, MIT licence; Debian package dataset-fashion-mnist): ", n,
                        " of ", available, " training images a seed, ", spec.validation ? held_apart : test_set,
                        spec.validation ? " validation" : " test", " images, 28x28 grey, 10 classes",
                        spec.variant.empty() ? "" : "; random shifts of up to 2 pixels and mirroring",
                        spec.shuffled ? "; pixels permuted" : "");
  return task;
}

}  // namespace comparison
