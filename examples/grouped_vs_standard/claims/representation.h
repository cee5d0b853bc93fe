// How rich and how alike representations are: rows are samples, columns are channels.
#pragma once
#include <vector>

#include "grouped_vs_standard/tasks/task.h"

namespace comparison {

/// Linear CKA of a [N, p] and b [N, q]: ||A^T B||^2 / (||A^T A|| ||B^T B||) of the centred columns (Kornblith et al.
/// 2019, "Similarity of neural network representations revisited"). 1: alike up to rotation and scale; 0: uncorrelated.
double linear_cka(const tutti::Tensor& a, const tutti::Tensor& b);

/// Eigenvalues of a symmetric n x n matrix (row after row), largest first, by cyclic Jacobi rotations (Golub & Van
/// Loan, Matrix Computations, section 8.5).
std::vector<double> eigenvalues(std::vector<double> symmetric, int64_t n);

/// exp of the entropy of the covariance's normalised eigenvalues (Roy & Vetterli 2007, there of singular values): from
/// 1, all in one direction, to p, all alike. x [N, p].
double effective_rank(const tutti::Tensor& x);

/// Test accuracy (percent) of multinomial logistic regression on features [N, p], scaled by the training part's mean
/// and deviation: from 0, full-batch Adam, 300 steps of rate .05 (a linear probe, Alain & Bengio 2016).
double linear_probe(const Split& train, const Split& test, int64_t classes);

}  // namespace comparison
