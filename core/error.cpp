#include "tutti/core/error.h"

#include <charconv>

namespace tutti {

Error::Error(const char* kind, std::string message)
    : std::runtime_error(message), kind_(kind), message_(std::move(message)), text_(message_) {}

void Error::prepend(const std::string& name) {
  path_ = path_.empty() ? name : name + "." + path_;
  text_ = "in " + path_ + ": " + message_;
}

namespace detail {
namespace {
template <class T>
void append_number(std::string& to, T x) {
  char text[32];
  to.append(text, std::to_chars(text, text + sizeof text, x).ptr);
}
}  // namespace

void append(std::string& to, std::string_view x) { to += x; }
void append(std::string& to, const Dims& x) { to += to_string(x); }
void append(std::string& to, DType x) { to += name_of(x); }
void append(std::string& to, Device x) { to += to_string(x); }
void append(std::string& to, double x) { append_number(to, x); }
void append(std::string& to, float x) { append_number(to, x); }
void append(std::string& to, long long x) { append_number(to, x); }
void append(std::string& to, unsigned long long x) { append_number(to, x); }
}  // namespace detail

}  // namespace tutti
