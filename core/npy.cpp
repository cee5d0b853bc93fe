#include "tutti/core/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "tutti/core/detail/file.h"
#include "tutti/core/detail/foreign_format.h"
#include "tutti/core/detail/host_copy.h"
#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"
#include "tutti/core/output_file.h"

namespace tutti {
namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};

struct Name {
  std::string_view text;
  DType dtype;
};
constexpr std::array<Name, 7> names{{{"<f4", DType::float32},
                                     {"<f8", DType::float64},
                                     {"<f2", DType::float16},
                                     {"<i8", DType::int64},
                                     {"<i4", DType::int32},
                                     {"|u1", DType::uint8},
                                     {"|b1", DType::boolean}}};

struct Header {
  std::string dtype;
  bool fortran = false;
  Dims shape;
};

/// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class Parser {
 public:
  Parser(const detail::InputFile& file, std::string_view text) : file_(file), text_(text) {}

  Header header() {
    Header h;
    unsigned found = 0;
    expect("{");
    while (!accept("}")) {
      const std::string key = string();
      expect(":");
      const unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
      if (bit == 0 || found & bit) fail("unknown or repeated key '" + detail::printable(key) + "'");
      found |= bit;
      if (bit == 1)
        h.dtype = string();
      else if (bit == 2)
        h.fortran = boolean();
      else
        h.shape = tuple();
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    if (found != 7) fail("descr, fortran_order and shape are needed");
    space();
    if (!text_.empty()) fail("more text after the closing brace");
    return h;
  }

 private:
  std::string string() {
    space();
    const char quote = text_.empty() ? '\0' : text_[0];
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("expected a string");
    const std::string s(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return s;
  }
  bool boolean() {
    if (accept("True")) return true;
    expect("False");
    return false;
  }
  Dims tuple() {
    Dims shape;
    expect("(");
    while (!accept(")")) {
      if (shape.n == Dims::max_rank) fail("more than 8 dimensions");
      shape.push(number());
      if (accept(",")) continue;
      if (shape.n == 1) fail("expected ','");
      expect(")");
      break;
    }
    return shape;
  }
  int64_t number() {
    space();
    int64_t n = 0;
    size_t digits = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits)
      if (__builtin_mul_overflow(n, int64_t{10}, &n) || __builtin_add_overflow(n, int64_t{text_[digits] - '0'}, &n))
        fail("a size is too large");
    if (digits == 0) fail("expected a size that is not negative");
    text_.remove_prefix(digits);
    return n;
  }
  void space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }
  bool accept(std::string_view word) {
    space();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) fail("expected '" + std::string(word) + "'");
  }
  [[noreturn]] void fail(const std::string& what) const { file_.fail("header: " + what); }

  const detail::InputFile& file_;
  std::string_view text_;
};

/// From Fortran order: the bytes of a tensor whose first index runs fastest.
Output row_major(const Output& from, const Dims& shape) {
  const Tensor x = Access::tensor(Access::handle(from));
  Dims strides = shape;
  int64_t step = 1;
  for (int i = 0; i < shape.n; ++i) {
    strides[i] = step;
    step *= shape[i];
  }
  const HostCopy bytes(Access::tensor(Access::handle(view(x, shape, strides, 0))));
  Output y = output_like(x);
  std::memcpy(y.data(), bytes.data(), bytes.bytes());
  return y;
}

}  // namespace

Tensor load_npy(const std::string& path, Device device) {
  (void)backend(device);  // an error before the work
  const detail::InputFile file("load_npy", path);
  unsigned char start[12] = {};
  if (file.size() >= 10) file.read(start, 10, 0);
  if (std::memcmp(start, magic.data(), magic.size()) != 0) {
    const std::string format = detail::foreign_format(file.start());
    file.fail("not a .npy file" + (format.empty() ? "" : " but " + format));
  }
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    file.fail(message("version ", version, ".", int{start[7]}, " is unknown"));
  uint64_t length = start[8] | start[9] << 8;
  uint64_t begin = 10;
  if (version > 1) {
    begin = 12;
    if (file.size() < begin) file.fail("ends inside the header");
    file.read(start + 10, 2, 10);
    length |= uint64_t{start[10]} << 16 | uint64_t{start[11]} << 24;
  }
  if (length > file.size() - begin) file.fail(message("header of ", length, " bytes in a file of ", file.size()));
  std::string text(static_cast<size_t>(length), '\0');
  file.read(text.data(), text.size(), begin);
  begin += length;

  const Header header = Parser(file, text).header();
  const auto* name = std::find_if(names.begin(), names.end(), [&](const Name& n) { return header.dtype == n.text; });
  if (name == names.end()) file.fail("dtype '" + detail::printable(header.dtype) + "' is not supported");
  if (!fits_memory(header.shape, size_of(name->dtype))) file.fail(message("shape ", header.shape, " is too large"));
  const auto bytes = static_cast<uint64_t>(header.shape.product()) * size_of(name->dtype);
  if (bytes != file.size() - begin)
    file.fail(message("shape ", header.shape, " of ", name->dtype, " needs ", bytes, " bytes, there are ",
                      file.size() - begin));

  const Output y = output(header.shape, name->dtype, cpu);
  file.read(y.data(), static_cast<size_t>(bytes), begin);
  if (y.dtype() == DType::boolean) {
    const auto* p = static_cast<const uint8_t*>(y.data());
    if (std::any_of(p, p + bytes, [](uint8_t b) { return b > 1; })) file.fail("a bool that is neither 0 nor 1");
  }
  return placed(header.fortran && header.shape.n > 1 ? row_major(y, header.shape) : y, device);
}

void save_npy(const std::string& path, const Tensor& x) {
  const DType dtype = x.dtype();
  const auto* name = std::find_if(names.begin(), names.end(), [&](const Name& n) { return n.dtype == dtype; });
  if (name == names.end()) throw DTypeError(message("save_npy: NumPy has no ", dtype));
  std::string header = "{'descr': '" + std::string(name->text) + "', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < x.rank(); ++i) header += (i ? ", " : "") + std::to_string(x.shape()[i]);
  header += x.rank() == 1 ? ",), }" : "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // the data begins at a multiple of 64
  header += '\n';
  const char start[] = {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  const HostCopy bytes(x);
  OutputFile file("save_npy", path);
  file.write(magic.data(), magic.size());
  file.write(start, sizeof start);
  file.write(header.data(), header.size());
  file.write(bytes.data(), bytes.bytes());
  file.commit();
}

}  // namespace tutti
