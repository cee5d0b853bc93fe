#include "support/xml.h"

#include <cctype>
#include <set>
#include <stdexcept>

namespace xml {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& s) : s_(s) {}

  Element document() {
    prolog();
    Element root = element();
    prolog();
    if (at_ < s_.size()) fail("text behind the last element");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("XML, byte " + std::to_string(at_) + ": " + what + ": " + s_.substr(at_, 60));
  }
  bool next(const std::string& what) const { return s_.compare(at_, what.size(), what) == 0; }
  void expect(const std::string& what) {
    if (!next(what)) fail("expected '" + what + "'");
    at_ += what.size();
  }
  void space() {
    while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) ++at_;
  }
  std::string until(const std::string& end) {
    const size_t found = s_.find(end, at_);
    if (found == std::string::npos) fail("no '" + end + "'");
    const std::string inside = s_.substr(at_, found - at_);
    at_ = found + end.size();
    return inside;
  }

  void prolog() {
    for (space(); next("<?") || next("<!"); space()) until(next("<!--") ? "-->" : ">");
  }

  std::string name() {
    const size_t start = at_;
    while (at_ < s_.size() &&
           (std::isalnum(static_cast<unsigned char>(s_[at_])) || s_[at_] == '-' || s_[at_] == ':' || s_[at_] == '_'))
      ++at_;
    if (at_ == start) fail("expected a name");
    return s_.substr(start, at_ - start);
  }

  /// Characters that may stand in text; every & begins a reference.
  void check(const std::string& text) const {
    static const std::set<std::string> known{"amp", "lt", "gt", "quot", "apos"};
    for (size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c < 0x20 && c != '\n' && c != '\t' && c != '\r') fail("control character in text");
      if (c != '&') continue;
      const size_t end = text.find(';', i);
      const std::string reference = end == std::string::npos ? "" : text.substr(i + 1, end - i - 1);
      const bool number = reference.size() > 1 && reference[0] == '#' &&
                          reference.find_first_not_of("0123456789", 1) == std::string::npos;
      if (!number && !known.count(reference)) fail("& that is no reference in '" + text + "'");
    }
  }

  Element element() {
    expect("<");
    Element e;
    e.name = name();
    for (space(); at_ < s_.size() && s_[at_] != '>' && s_[at_] != '/'; space()) {
      const std::string key = name();
      expect("=\"");
      const std::string value = until("\"");
      if (value.find('<') != std::string::npos) fail("< in an attribute");
      check(value);
      if (!e.attributes.emplace(key, value).second) fail("attribute '" + key + "' twice");
    }
    if (next("/>")) {
      at_ += 2;
      return e;
    }
    expect(">");
    while (!next("</")) {
      if (at_ >= s_.size()) fail("<" + e.name + "> is not closed");
      if (next("<!--"))
        until("-->");
      else if (next("<"))
        e.children.push_back(element());
      else {
        const size_t end = std::min(s_.find('<', at_), s_.size());
        const std::string text = s_.substr(at_, end - at_);
        check(text);
        e.text += text;
        at_ = end;
      }
    }
    expect("</" + e.name);
    space();
    expect(">");
    return e;
  }

  const std::string& s_;
  size_t at_ = 0;
};

}  // namespace

std::vector<Element> Element::all(const std::string& wanted) const {
  std::vector<Element> found;
  for (const Element& child : children) {
    if (child.name == wanted) found.push_back(child);
    for (Element& inner : child.all(wanted)) found.push_back(std::move(inner));
  }
  return found;
}

double Element::number(const std::string& attribute) const { return std::stod(attributes.at(attribute)); }

Element parse(const std::string& document) { return Reader(document).document(); }

}  // namespace xml
