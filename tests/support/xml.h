// A small reader of well-formed XML, for the tests of what the programs write: elements, attributes, text. Anything
// that is not well-formed is an std::runtime_error that says where.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace xml {

struct Element {
  std::string name{}, text{};  ///< text: its own, as written, without that of the elements in it
  std::map<std::string, std::string> attributes{};
  std::vector<Element> children{};

  /// Every element of that name in it, in the order of the document.
  std::vector<Element> all(const std::string& wanted) const;
  /// An attribute as a number.
  double number(const std::string& attribute) const;
};

/// One document; an XML declaration, comments and <!DOCTYPE ...> are skipped.
Element parse(const std::string& document);

}  // namespace xml
