// Fashion-MNIST: 28x28 grey images of clothes in 10 classes (Debian package dataset-fashion-mnist).
#pragma once
#include <string>

#include "tutti/core/tensor.h"

namespace comparison {

struct Images {
  tutti::Tensor pixels;  ///< [N, 28, 28]: float32, standardised with the training set's mean and deviation, or bytes
  tutti::Tensor labels;  ///< int64 [N]
};

struct Fashion {
  Images train, test;
};

/// Reads the four IDX files in `folder`; pixels stay bytes (uint8). IoError naming the file, and the package where the
/// folder is missing.
Fashion load_fashion_bytes(const std::string& folder);
/// Bytes to standardised float32, as everyone uses this data set.
tutti::Tensor standardised(const tutti::Tensor& bytes);
/// Both.
Fashion load_fashion(const std::string& folder);

/// The images at these positions.
Images subset(const Images& images, const tutti::Tensor& positions);

/// [B, 28, 28] to tokens [B, (28/p)^2, p^2].
tutti::Tensor patches(const tutti::Tensor& pixels, int64_t p);

}  // namespace comparison
