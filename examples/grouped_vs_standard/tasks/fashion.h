// Fashion-MNIST as a task: images cut into patches.
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// 28x28 grey images of clothes in 10 classes; a token is a patch of patch x patch pixels, row by row: T = (28 /
/// patch)^2, inputs = patch^2. patch divides 28 and is 4 by default; 1 makes every pixel a token. 1000 training images
/// by default, drawn per seed from all 60000; all 10000 test images. validation: tests on the last 5000 training images
/// and draws from the others. shuffled: the pixels of all images in another order before they are cut. x is uint8 [N,
/// 28, 28].
///
/// Variants: "" plain; "augmented": training images are shifted by up to 2 pixels and mirrored at random.
/// The files are read with the first sample: IoError naming the file, and the package where the folder is missing.
Task fashion(const TaskSpec& spec);

/// Where the four IDX files are, instead of where the Debian package puts them. To be called before the first sample.
void set_fashion_folder(const std::string& path);

}  // namespace comparison
