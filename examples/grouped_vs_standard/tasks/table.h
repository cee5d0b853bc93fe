// Tables of measurements: read from the shipped files, scaled by their training part, cut into tokens.
#pragma once
#include <string>
#include <vector>

#include "tutti/core/tensor.h"

namespace comparison {

/// A data file that comes with the program (data/README.md): in the folder that the environment variable TUTTI_DATA
/// names, if it is set, else where the sources are. IoError naming file and folders if it is in none.
std::string data_file(const std::string& name);

struct DataTable {
  tutti::Tensor features;  ///< float64 [N, features]; missing values are NaN
  tutti::Tensor labels;    ///< int64 [N]
};

/// What a data file must hold. Its last column is the class.
struct TableShape {
  int64_t rows = 0, features = 0, classes = 0;
  bool header = true;  ///< a first line with names
};
/// Reads a data file. IoError if its shape is another, or if a class is not in [0, classes).
DataTable read_table(const std::string& name, const TableShape& shape);

/// What scales a table, measured on the training part alone.
struct Scaling {
  std::vector<double> median, mean, deviation;  ///< of each column; median of the values present

  /// float64 [N, features] to float32: missing values become the median, then (x - mean) / deviation, cut to +-5 (a
  /// lead's rare wave is a hundred deviations of a training part in which it hardly occurs). A column that is constant
  /// in the training part keeps deviation 1.
  tutti::Tensor operator()(const tutti::Tensor& features) const;
};
/// ValueError if there are no rows; a column without any value has median 0.
Scaling scaling_of(const tutti::Tensor& training_features);

/// [N, features] to [N, families, widest family]: family i is the next sizes[i] columns, followed by zeros. ShapeError
/// if the sizes do not add up.
tutti::Tensor tokens_of_families(const tutti::Tensor& features, const std::vector<int64_t>& sizes);

}  // namespace comparison
