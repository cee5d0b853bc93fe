// Numbers in text files.
#pragma once
#include <string>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::data {

struct CsvOptions {
  char separator = ',';
  bool header = false;         ///< skip the first line
  double missing = 0;          ///< what an empty field or "?" reads as
  bool allow_missing = false;  ///< else such a field is an error
};
/// Reads a table of numbers, gzipped or not, as float64 [rows, columns]. Spaces around a field and double quotes around
/// it are dropped, empty lines skipped; numbers have a decimal point in every locale. IoError naming file, line and
/// column of a field that is no finite number or of a row of another length, or if there are no rows.
Tensor read_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace tutti::data
#pragma GCC visibility pop
