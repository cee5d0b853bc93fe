#include "tutti/nn/data/detail/csv_text.h"

#include "tutti/core/detail/utf8.h"

namespace tutti::data {

CsvText::CsvText(std::string_view text, char separator, Fail fail)
    : text_(text), separator_(separator), fail_(std::move(fail)) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the byte order mark that Excel writes
}

bool CsvText::next(std::vector<std::string_view>& row) {
  for (skip_blanks(); at_end_of_line(); skip_blanks()) {
    if (at_ == text_.size()) return false;
    end_line();
  }
  row_line_ = line_;
  row.clear();
  unescaped_.clear();
  for (;;) {
    row.push_back(field(row.size() + 1));
    if (at_end_of_line()) break;
    if (separator_) {
      ++at_;
    } else {
      skip_blanks();
      if (at_end_of_line()) break;
    }
  }
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

std::string_view CsvText::field(size_t column) {
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == '"') return quoted(column);
  const char* const begin = text_.data() + at_;
  const char* end = begin;
  const char* const last = text_.data() + text_.size();
  // The second separator is another only for runs of blanks.
  for (const char one = separator_ ? separator_ : ' ', other = separator_ ? separator_ : '\t'; end != last; ++end)
    if (*end == one || *end == other || *end == '\n' || *end == '\r') break;
  at_ += static_cast<size_t>(end - begin);
  while (end != begin && blank(end[-1])) --end;
  return {begin, static_cast<size_t>(end - begin)};
}

std::string_view CsvText::quoted(size_t column) {
  const size_t begin = ++at_;
  bool pairs = false;
  for (;; at_ += 2, pairs = true) {
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\n') ++line_;
    if (at_ == text_.size()) fail_(row_line_, column, "a quote that nothing closes");
    if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') break;
  }
  std::string_view content = text_.substr(begin, at_ - begin);
  if (pairs) {
    std::string& s = unescaped_.emplace_back();
    for (size_t i = 0; i < content.size(); i += content[i] == '"' ? 2 : 1) s += content[i];
    content = s;
  }
  const size_t after = ++at_;
  if (separator_) skip_blanks();
  if (!at_end_of_line() && !at_separator())
    fail_(row_line_, column, "text after the closing quote: " + tutti::detail::printable(text_.substr(after), 20));
  return content;
}

}  // namespace tutti::data
