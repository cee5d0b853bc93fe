#include "tutti/nn/data/detail/csv_text.h"

#include "tutti/core/detail/utf8.h"

namespace tutti::data {

CsvText::CsvText(std::string_view text, char separator, Fail fail)
    : text_(text), separator_(separator), fail_(std::move(fail)) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the byte order mark that Excel writes
}

bool CsvText::next(std::vector<std::string>& row) {
  for (skip_blanks(); at_end_of_line(); skip_blanks()) {
    if (at_ == text_.size()) return false;
    end_line();
  }
  row_line_ = line_;
  size_t column = 0;
  for (;; ++column) {
    if (row.size() == column) row.emplace_back();
    field(row[column], column + 1);
    if (at_end_of_line()) break;
    if (separator_) {
      ++at_;
    } else {
      skip_blanks();
      if (at_end_of_line()) break;
    }
  }
  row.resize(column + 1);
  if (at_ < text_.size()) end_line();
  return true;
}

void CsvText::skip_blanks() {
  while (at_blank()) ++at_;
}

void CsvText::end_line() {
  const bool two = text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
  at_ += two ? 2 : 1;
  ++line_;
}

void CsvText::field(std::string& to, size_t column) {
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == '"') return quoted(to, column);
  const size_t begin = at_;
  while (!at_end_of_line() && !at_separator()) ++at_;
  size_t end = at_;
  while (end > begin && blank(text_[end - 1])) --end;
  to = text_.substr(begin, end - begin);
}

void CsvText::quoted(std::string& to, size_t column) {
  to.clear();
  for (++at_;; ++at_) {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\n') ++line_;
      ++at_;
    }
    if (at_ == text_.size()) fail_(row_line_, column, "a quote that nothing closes");
    to += text_.substr(begin, at_ - begin);
    ++at_;
    if (at_ == text_.size() || text_[at_] != '"') break;
    to += '"';
  }
  const size_t begin = at_;
  if (separator_) skip_blanks();
  if (!at_end_of_line() && !at_separator())
    fail_(row_line_, column, "text after the closing quote: " + tutti::detail::printable(text_.substr(begin), 20));
}

}  // namespace tutti::data
