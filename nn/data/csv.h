// Tables in text files: numbers, and columns of words that stand for classes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::data {

/// The names of the classes in a column of text, by column (counted from 0; from the end if negative): name i is read
/// as i. An empty list takes the names that the column has, in the order of their bytes ("A" < "B" < "a").
using Categories = std::map<int64_t, std::vector<std::string>>;

/// As CsvOptions::separator: any run of spaces and tabs, none before the first field or after the last.
constexpr char whitespace = '\0';

struct CsvOptions {
  char separator = ',';                     ///< each one separates: two in a row, or one at an end, miss a value
  bool header = false;                      ///< the first line that is not empty holds the columns' names
  double missing = 0;                       ///< what a missing value reads as
  bool allow_missing = false;               ///< else a missing value is an error
  std::vector<std::string> na_values{"?"};  ///< besides an empty field, what means that a value is missing
  Categories categories{};                  ///< columns of text; all others hold numbers
  Device device = default_device();         ///< where the values go
};

struct CsvTable {
  Tensor values;                    ///< float64 [rows, columns]
  std::vector<std::string> header;  ///< the columns' names if options.header, else empty
  /// The names of options.categories' columns (counted from 0), with those that were found: given as the options'
  /// categories they read a further file, such as the test data, with the same numbers.
  Categories categories;
};

/// Reads a table, gzipped or not. Empty lines, spaces around a field and double quotes around it are dropped; within
/// quotes separators and line ends are text, and "" is a quote. Lines end with \n, \r\n or \r; a UTF-8 byte order mark
/// is skipped. Numbers are what std::from_chars takes, or that after a +: with a decimal point in every locale; what is
/// nearer to 0 than any float64 reads as 0.
///
/// IoError naming file, line and column (counted from 1) of a missing value, of a field that is no finite number or
/// none of the given names, or of a row of another length, with the option that would read it; IoError if there are no
/// rows or the file is of another format. IndexError if categories names a column that is not there; ValueError on a
/// separator that could be part of a number, and on a name given twice.
CsvTable read_csv_table(const std::string& path, const CsvOptions& options = {});
/// Only the values.
Tensor read_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace tutti::data
#pragma GCC visibility pop
