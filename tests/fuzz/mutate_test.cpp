#include "fuzz/mutate.h"

#include <algorithm>
#include <set>

#include "support/catch.h"

namespace fuzz {

std::string Mutator::next() {
  if (below(4) == 0) return noise();
  std::string s = any();
  for (size_t changes = 1 + below(4); changes > 0; --changes) change(s);
  return s;
}

std::string Mutator::noise() {
  constexpr char text[] = "0123456789+-.eE,;\t \n\r\"?{}[]:'()abnif_\\u";
  std::string s(below(below(2) ? 20 : 300), '\0');
  const bool readable = below(2);
  for (char& c : s) c = readable ? text[below(sizeof text - 1)] : static_cast<char>(random_());
  if (below(2)) {  // behind a true beginning
    const std::string& start = any();
    s = start.substr(0, std::min<size_t>(start.size(), 4 + below(12))) + s;
  }
  return s;
}

void Mutator::change(std::string& s) {
  const size_t at = below(s.size() + 1);
  const auto byte = [&] { return static_cast<char>(random_()); };
  switch (below(9)) {
    case 0:
      if (at < s.size()) s[at] = static_cast<char>(s[at] ^ 1 << below(8));
      break;
    case 1:
      if (at < s.size()) s[at] = byte();
      break;
    case 2:
      s.resize(at);
      break;
    case 3:
      s.insert(at, below(12), byte());
      break;
    case 4:
      s.erase(at, below(12));
      break;
    case 5: {  // a splice
      const std::string& other = any();
      s = s.substr(0, at) + other.substr(below(other.size() + 1));
      break;
    }
    case 6: {  // a part of itself, again
      const std::string part = s.substr(at, below(40));
      s.insert(below(s.size() + 1), part);
      break;
    }
    case 7:
      length_field(s);
      break;
    default:
      decimal(s);
  }
}

void Mutator::length_field(std::string& s) {
  constexpr uint64_t values[]{0,          1,          0x7f,        0xff,      0x7fff,    0xffff,
                              0x7fffffff, 0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX};
  uint64_t v = below(3) ? values[below(std::size(values))] : s.size() + below(17) - 8;
  const size_t width = size_t{1} << below(4), at = below(below(2) ? 16 : s.size());
  const bool little = below(2);
  for (size_t i = 0; i < width; ++i, v >>= 8)
    if (const size_t j = at + (little ? i : width - 1 - i); j < s.size()) s[j] = static_cast<char>(v);
}

void Mutator::decimal(std::string& s) {
  const size_t begin = s.find_first_of("0123456789", below(s.size() + 1));
  if (begin == s.npos) return;
  const size_t end = std::min(s.find_first_not_of("0123456789", begin), s.size());
  constexpr const char* values[]{"0",
                                 "1",
                                 "-1",
                                 "2147483648",
                                 "4294967296",
                                 "9223372036854775807",
                                 "18446744073709551615",
                                 "18446744073709551616",
                                 "99999999999999999999999",
                                 "1e-400",
                                 "1e400",
                                 "+-5",
                                 "1.5",
                                 "?",
                                 ""};
  s.replace(begin, end - begin, values[below(std::size(values))]);
}

}  // namespace fuzz

TEST_CASE("mutator: the same inputs for the same seed, and many different ones") {
  const std::vector<std::string> valid{"1,2,3\n4,5,6\n", "{\"shape\":[1,2]}"};
  fuzz::Mutator a(valid, 1), b(valid, 1);
  std::set<std::string> different;
  for (int i = 0; i < 1000; ++i) {
    const std::string s = a.next();
    REQUIRE(s == b.next());
    different.insert(s);
  }
  CHECK(different.size() > 700);
}
