// The rows and fields of a CSV text, without their meaning.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::data {

class CsvText {
 public:
  /// Called with (line, column, what) on text that cannot be cut into fields; must throw.
  using Fail = std::function<void(int64_t, size_t, const std::string&)>;

  /// `separator` '\0': any run of spaces and tabs.
  CsvText(std::string_view text, char separator, Fail fail);
  /// The fields of the next line that is not empty, valid until the next call; false at the end.
  bool next(std::vector<std::string_view>& row);
  /// On which line the row began, counted from 1.
  int64_t line() const { return row_line_; }

 private:
  bool at_end_of_line() const { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  bool at_blank() const { return at_ < text_.size() && blank(text_[at_]); }
  bool blank(char c) const { return (c == ' ' || c == '\t') && c != separator_; }
  bool at_separator() const { return separator_ ? at_ < text_.size() && text_[at_] == separator_ : at_blank(); }
  void skip_blanks();
  void end_line();
  std::string_view field(size_t column);
  std::string_view quoted(size_t column);

  std::string_view text_;
  char separator_;
  Fail fail_;
  std::deque<std::string> unescaped_;  // fields of this row with quotes in them
  size_t at_ = 0;
  int64_t line_ = 1, row_line_ = 0;
};

}  // namespace tutti::data
