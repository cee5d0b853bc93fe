// MNIST-1D (Greydanus and Kobak 2020, arXiv 2011.14439): ten templates of digits, stretched, scaled, moved, sheared and
// noisy, as series of 40 numbers.
#pragma once
#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// Generated as the authors' code does it, from other random numbers: template of 12 points, 36 to 60 zeros after it,
/// stretched to 72 points, scaled by 0.8 to 1.2, moved by up to 47 points around the end, smooth noise (.25, Gaussian
/// filter of deviation 2) where there is no digit, independent noise of .02 everywhere, sheared by up to .375, and read
/// at 40 points; then standardised. Classes are equally frequent. tokens 40, inputs 1, classes 10; x is float32 [N,
/// 40].
///
/// 4000 training samples by default, other ones for every seed; 1000 test samples. shuffled: the 40 time steps in
/// another order. Published with the authors' 4000 samples: logistic regression 32 %, MLP 68, GRU 91, CNN 94.
Task mnist1d(const TaskSpec& spec);

}  // namespace comparison
