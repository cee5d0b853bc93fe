#include "support/malformed.h"

#include <cstdio>
#include <fstream>

using namespace tutti;

namespace tutti_test {

void check_malformed(const std::vector<Malformed>& calls) {
  Given given;
  for (const Malformed& m : calls) {
    INFO(m.text);
    std::string kind = "nothing thrown", text;
    try {
      m.call(given);
      synchronize(default_device());  // a GPU says what it found when the host waits for it
    } catch (const Error& e) {
      kind = e.kind();
      text = e.what();
    } catch (const std::exception& e) {
      kind = "not a tutti::Error";
      text = e.what();
    }
    CHECK(kind == m.kind);
    CHECK(text == m.text);
  }
}

std::string file(const char* name, const std::string& bytes) {
  static struct Written {
    std::vector<std::string> names;
    ~Written() {
      for (const std::string& n : names) std::remove(n.c_str());
    }
  } written;
  written.names.push_back(std::string("malformed_") + name);
  std::ofstream(written.names.back(), std::ios::binary) << bytes;
  return written.names.back();
}

}  // namespace tutti_test
