#include "tutti/nn/data/csv.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/nn/data/detail/gz_file.h"

namespace tutti::data {
namespace {

/// The text up to `separator`, which is taken off as well.
std::string_view take(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

std::string_view unquoted(std::string_view s) {
  s = trimmed(s);
  if (s.size() >= 2 && s.front() == '"' && s.back() == '"') s = trimmed(s.substr(1, s.size() - 2));
  return s;
}

bool parse(std::string_view s, double& value) {
  if (!s.empty() && s.front() == '+') s.remove_prefix(1);
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  return error == std::errc() && end == s.data() + s.size() && std::isfinite(value);
}

}  // namespace

Tensor read_csv(const std::string& path, const CsvOptions& options) {
  const std::string text = GzFile(path).read_all();
  std::string_view rest = text;
  std::vector<double> values;
  int64_t rows = 0, columns = 0;
  for (int64_t line = 1; !rest.empty(); ++line) {
    std::string_view row = trimmed(take(rest, '\n'));
    if ((line == 1 && options.header) || row.empty()) continue;
    int64_t column = 0;
    for (bool more = true; more;) {
      more = row.find(options.separator) != std::string_view::npos;
      const std::string_view field = unquoted(take(row, options.separator));
      ++column;
      double value = 0;
      if (field.empty() || field == "?") {
        if (!options.allow_missing)
          throw IoError(message(path, ": line ", line, ", column ", column, ": a value is missing"));
        value = options.missing;
      } else if (!parse(field, value)) {
        throw IoError(
            message(path, ": line ", line, ", column ", column, ": \"", field.substr(0, 40), "\" is not a number"));
      }
      values.push_back(value);
    }
    if (rows == 0) columns = column;
    if (column != columns)
      throw IoError(message(path, ": line ", line, " has ", column, " columns, the rows before it ", columns));
    ++rows;
  }
  if (rows == 0) throw IoError(message(path, ": there are no rows"));
  return Tensor::from(values, {rows, columns});
}

}  // namespace tutti::data
