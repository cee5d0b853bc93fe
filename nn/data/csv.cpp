#include "tutti/nn/data/csv.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "tutti/core/detail/foreign_format.h"
#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"
#include "tutti/nn/data/detail/csv_number.h"
#include "tutti/nn/data/detail/csv_text.h"
#include "tutti/nn/data/detail/gz_file.h"

namespace tutti::data {
namespace {

class Table {
 public:
  Table(const std::string& path, const CsvOptions& options)
      : path_(path), options_(options), text_(GzFile("read_csv", path).read_all()) {}

  CsvTable read() {
    CsvTable table;
    CsvText lines(text_, options_.separator,
                  [this](int64_t line, size_t column, const std::string& what) { fail_at(line, column, what); });
    bool header = options_.header;
    while (lines.next(row_)) {
      line_ = lines.line();
      if (header) {
        table.header.assign(row_.begin(), row_.end());
        header = false;
        header_line_ = line_;
        continue;
      }
      if (rows_ == 0) begin(table);
      if (options_.header && table.header.size() != columns_)
        fail(message("line ", header_line_, " names ", table.header.size(), " columns, the rows after it have ",
                     columns_, runs_of_spaces()));
      if (row_.size() != columns_)
        fail(
            message("line ", line_, " has ", row_.size(), " columns, the rows before it ", columns_, runs_of_spaces()));
      for (size_t i = 0; i < columns_; ++i) values_.push_back(value(i));
      ++rows_;
    }
    if (rows_ == 0) fail(options_.header ? "there are no rows after the header" : "there are no rows");
    end(table);
    return table;
  }

 private:
  struct Column {
    bool text = false, open = false;
    std::map<std::string, int64_t, std::less<>> numbers;  // of the names; of an open list by first appearance
    std::vector<int64_t> found;                           // of an open list: every row's number, -1 where it is missing
  };

  /// With the first row the number of columns is known.
  void begin(CsvTable& table) {
    columns_ = row_.size();
    kinds_.resize(columns_);
    for (const auto& [at, names] : options_.categories) {
      const auto n = static_cast<int64_t>(columns_), i = at < 0 ? at + n : at;
      if (i < 0 || i >= n)
        throw IndexError(
            message("read_csv: ", path_, ": categories of column ", at, ", but there are ", n, " columns"));
      if (!table.categories.emplace(i, names).second)
        throw ValueError(message("read_csv: categories of column ", i, " are given twice"));
      Column& column = kinds_[static_cast<size_t>(i)];
      column.text = true;
      column.open = names.empty();
      for (const std::string& name : names)
        if (!column.numbers.emplace(name, column.numbers.size()).second)
          throw ValueError(message("read_csv: categories of column ", at, " have the name \"", name, "\" twice"));
    }
  }

  double value(size_t i) {
    const std::string_view field = row_[i];
    const std::string_view plain = trimmed(field);
    Column& column = kinds_[i];
    if (column.text && !column.open)
      if (const auto known = column.numbers.find(field); known != column.numbers.end())
        return static_cast<double>(known->second);
    const auto& na = options_.na_values;
    if (plain.empty() || std::find(na.begin(), na.end(), plain) != na.end()) {
      if (!options_.allow_missing)
        fail_at(line_, i + 1,
                message("a value is missing; .allow_missing = true reads it as .missing (", options_.missing, ")",
                        runs_of_spaces()));
      if (column.open) column.found.push_back(-1);
      return options_.missing;
    }
    if (column.open) {
      column.found.push_back(column.numbers.try_emplace(std::string(field), column.numbers.size()).first->second);
      return 0;  // until all names are known
    }
    if (column.text)
      fail_at(line_, i + 1, message(shown(field), " is none of the ", column.numbers.size(), " names in .categories"));
    double number = 0;
    if (!parse_number(plain, number)) fail_at(line_, i + 1, message(shown(field), " is not a number", hint(i)));
    return number;
  }

  /// The names that were found, in order, and the numbers of that order.
  void end(CsvTable& table) {
    for (size_t i = 0; i < columns_; ++i) {
      if (!kinds_[i].open) continue;
      auto& names = table.categories[static_cast<int64_t>(i)];
      std::vector<int64_t> place(kinds_[i].numbers.size());
      for (const auto& [name, number] : kinds_[i].numbers) {
        place[static_cast<size_t>(number)] = static_cast<int64_t>(names.size());
        names.push_back(name);
      }
      for (size_t r = 0; r < rows_; ++r)
        if (const int64_t number = kinds_[i].found[r]; number >= 0)
          values_[r * columns_ + i] = static_cast<double>(place[static_cast<size_t>(number)]);
    }
    table.values =
        Tensor::from(values_, {static_cast<int64_t>(rows_), static_cast<int64_t>(columns_)}, options_.device);
  }

  std::string hint(size_t i) const {
    const std::string_view field = row_[i];
    if (row_.size() == 1) {  // perhaps not what separates here
      for (const auto& [c, name] : {std::pair{',', "','"}, {';', "';'"}, {'\t', "'\\t'"}, {'|', "'|'"}})
        if (field.find(c) != field.npos) return message("; .separator = ", name, " would cut it into fields");
      std::vector<std::string_view> words;  // (without quotes nothing can fail)
      if (field.find('"') == field.npos)
        CsvText(field, whitespace, [](int64_t, size_t, const std::string&) {}).next(words);
      if (words.size() > 1 && std::all_of(words.begin(), words.end(), is_number))
        return "; .separator = data::whitespace would cut it into fields";
    }
    if (rows_ == 0 && !options_.header && std::none_of(row_.begin(), row_.end(), is_number))
      return "; .header = true takes this line for the columns' names";
    std::string lower(trimmed(field));
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const char* word : {"na", "n/a", "nan", "null", "none", "-", "."})
      if (lower == word)
        return message("; .allow_missing = true with .na_values = {", shown(field), "} reads it as .missing (",
                       options_.missing, ")");
    if (std::any_of(lower.begin(), lower.end(), [](unsigned char c) { return std::isdigit(c); })) return {};
    return message("; .categories = {{", i, ", {}}} numbers the words of this column (counted from 0)");
  }

  std::string runs_of_spaces() const {
    return options_.separator == ' ' ? "; .separator = data::whitespace takes any run of spaces as one" : "";
  }

  static std::string shown(std::string_view field) { return '"' + detail::printable(field, 40) + '"'; }

  [[noreturn]] void fail_at(int64_t line, size_t column, const std::string& what) const {
    fail(message("line ", line, ", column ", column, ": ", what));
  }
  [[noreturn]] void fail(const std::string& what) const {
    const std::string_view start = std::string_view(text_).substr(0, 512);
    if (const std::string format = detail::foreign_format(start); !format.empty())
      throw IoError(message("read_csv: ", path_, ": is no CSV file but ", format));
    throw IoError(message("read_csv: ", path_, ": ", what));
  }

  const std::string& path_;
  const CsvOptions& options_;
  const std::string text_;
  std::vector<std::string_view> row_;
  int64_t line_ = 0, header_line_ = 0;
  size_t rows_ = 0, columns_ = 0;
  std::vector<Column> kinds_;
  std::vector<double> values_;
};

}  // namespace

CsvTable read_csv_table(const std::string& path, const CsvOptions& options) {
  const char s = options.separator;
  if (std::isalnum(static_cast<unsigned char>(s)) ||
      (s && std::string_view("\"\r\n+-.").find(s) != std::string_view::npos))
    throw ValueError(message("read_csv: the separator '", detail::printable({&s, 1}), "' is part of fields or lines"));
  return Table(path, options).read();
}

Tensor read_csv(const std::string& path, const CsvOptions& options) { return read_csv_table(path, options).values; }

}  // namespace tutti::data
