#include "grouped_vs_standard/fashion.h"

#include <filesystem>

#include "tutti/tutti.h"

namespace comparison {

using namespace tutti;

namespace {

Images load(const std::string& folder, const std::string& part) {
  const Tensor pixels = data::read_idx(folder + "/" + part + "-images-idx3-ubyte.gz");
  const Tensor labels = data::read_idx(folder + "/" + part + "-labels-idx1-ubyte.gz");
  if (pixels.rank() != 3 || pixels.size(1) != 28 || pixels.size(2) != 28 || labels.rank() != 1 ||
      labels.size(0) != pixels.size(0))
    throw IoError(
        message(folder, ": ", part, " has images of shape ", pixels.shape(), " and labels of shape ", labels.shape()));
  return {pixels, to(labels, DType::int64)};
}

}  // namespace

Fashion load_fashion_bytes(const std::string& folder) {
  if (!std::filesystem::is_directory(folder))
    throw IoError(
        folder +
        ": no such folder; the data is in the Debian package dataset-fashion-mnist, or name its folder with --data");
  return {load(folder, "train"), load(folder, "t10k")};
}

Tensor standardised(const Tensor& bytes) {
  return (to(bytes, DType::float32) / 255.0 - 0.2860) / 0.3530;  // the training set's mean and deviation
}

Fashion load_fashion(const std::string& folder) {
  Fashion f = load_fashion_bytes(folder);
  for (Images* part : {&f.train, &f.test}) part->pixels = standardised(part->pixels);
  return f;
}

Images subset(const Images& images, const Tensor& positions) {
  return {index_select(images.pixels, 0, positions), index_select(images.labels, 0, positions)};
}

Tensor patches(const Tensor& pixels, int64_t p) {
  const int64_t n = 28 / p;
  return reshape(permute(reshape(pixels, {-1, n, p, n, p}), {0, 1, 3, 2, 4}), {-1, n * n, p * p});
}

}  // namespace comparison
