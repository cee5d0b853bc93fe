#include "tutti/core/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <vector>

#include "tutti/core/detail/host_copy.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

/// The indices of an axis that are shown; -1 stands for "...".
std::vector<int64_t> shown(int64_t size, bool summarise, int64_t edge) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < size; ++i) {
    if (summarise && size - edge > edge && i == edge) {
      list.push_back(-1);
      i = size - edge;
    }
    if (i < size) list.push_back(i);
  }
  return list;
}

std::string digits(double v, std::chars_format format, int precision = -1) {
  char text[512];
  const auto end = precision < 0 ? std::to_chars(text, text + sizeof text, v, format)
                                 : std::to_chars(text, text + sizeof text, v, format, precision);
  return {text, end.ptr};
}
std::string digits(float v, std::chars_format format) {
  char text[128];
  return {text, std::to_chars(text, text + sizeof text, v, format).ptr};
}
/// Of a half type: the shortest that reads back in that type, so 0.66 where a float needs 0.66015625.
template <class Half>
std::string digits(Half v, std::chars_format format) {
  const auto wide = static_cast<double>(static_cast<float>(v));
  double shortest = wide;
  for (int precision = 0; precision < 5; ++precision) {  // five digits tell all of them apart
    const std::string text = digits(wide, std::chars_format::scientific, precision);
    std::from_chars(text.data(), text.data() + text.size(), shortest);
    if (Half::from(shortest).bits == v.bits) break;
  }
  return digits(shortest, format);
}

template <class T>
double widened(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return v;
  else
    return static_cast<double>(static_cast<float>(v));
}

/// A number as sign and digits before the point, digits after it, and exponent ("e+05" or nothing).
struct Parts {
  std::string whole, fraction, exponent;
};

/// The shortest digits that read back, or `precision` after the point if those are fewer.
template <class T>
Parts split(T v, bool scientific, int precision) {
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  const auto parts = [](const std::string& s) {
    const size_t e = std::min(s.find('e'), s.size()), point = std::min(s.find('.'), e);
    return Parts{s.substr(0, point), point < e ? s.substr(point + 1, e - point - 1) : "", s.substr(e)};
  };
  Parts n = parts(digits(v, format));
  if (static_cast<int>(n.fraction.size()) > precision) {
    n = parts(digits(widened(v), format, precision));
    while (!n.fraction.empty() && n.fraction.back() == '0') n.fraction.pop_back();
  }
  return n;
}

/// Turns the shown numbers into texts of one width, by NumPy's rules.
template <class T>
std::vector<std::string> format_floats(const std::vector<T>& values, int precision) {
  double largest = 0, smallest = INFINITY;
  for (T v : values) {
    const double a = std::abs(widened(v));
    if (a == 0 || !std::isfinite(a)) continue;
    largest = std::max(largest, a);
    smallest = std::min(smallest, a);
  }
  const bool scientific = largest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
  std::vector<Parts> numbers;
  size_t whole = 1, fraction = 0;
  for (T v : values) {
    if (!std::isfinite(widened(v))) {
      numbers.push_back({std::isnan(widened(v)) ? "nan" : widened(v) > 0 ? "inf" : "-inf", "", ""});
      continue;
    }
    numbers.push_back(split(v, scientific, precision));
    whole = std::max(whole, numbers.back().whole.size());
    fraction = std::max(fraction, numbers.back().fraction.size());
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < values.size(); ++i) {
    Parts& n = numbers[i];
    if (!std::isfinite(widened(values[i]))) {
      texts.push_back(n.whole);
      continue;
    }
    // 1.5e+08 and 1.0e+00, but 1.5 and "1. ".
    n.fraction.append(fraction - n.fraction.size(), scientific ? '0' : ' ');
    texts.push_back(std::string(whole - n.whole.size(), ' ') + n.whole + "." + n.fraction + n.exponent);
  }
  return texts;
}

template <class T>
std::vector<std::string> format(const std::vector<T>& values, int precision) {
  std::vector<std::string> texts;
  if constexpr (is_floating(dtype_of<T>())) {
    texts = format_floats(values, precision);
  } else if constexpr (std::is_same_v<T, bool>) {
    for (bool v : values) texts.push_back(v ? "True" : "False");
  } else {
    for (T v : values) texts.push_back(std::to_string(v));
  }
  size_t width = 0;
  for (const auto& s : texts) width = std::max(width, s.size());
  for (auto& s : texts) s.insert(0, width - s.size(), ' ');
  return texts;
}

class Printer {
 public:
  Printer(const Tensor& x, const PrintOptions& options) : x_(x), options_(options) {
    summarised_ = x.numel() > options.threshold;
    if (x.numel() == 0) return;  // its other axes may be huge
    for (int64_t n : x.shape()) axes_.push_back(shown(n, summarised_, std::max<int64_t>(1, options.edge_items)));
    tutti::visit(x.dtype(), [&]<class T>(T) {
      std::vector<T> values;
      if (x.device() != cpu && !summarised_) {  // one transfer instead of one per element
        const HostCopy host(x);
        const T* first = reinterpret_cast<const T*>(host.data());
        values.assign(first, first + x.numel());
      } else {
        collect(values, 0, static_cast<const char*>(x.data()));
      }
      texts_ = format(values, std::clamp(options.precision, 0, 64));
    });
  }

  std::string text() {
    std::string s = "Tensor(";
    if (x_.numel() == 0) {
      s += "[]";
    } else {
      put(s, 0, static_cast<int>(s.size()));
    }
    if (x_.numel() == 0 || summarised_) s += message(", shape=", x_.shape());
    if (x_.dtype() != DType::float32 && x_.dtype() != DType::int64 && x_.dtype() != DType::boolean)
      s += message(", dtype=", x_.dtype());
    if (x_.device() != cpu) s += message(", device=", x_.device());
    return s + ")";
  }

 private:
  /// The shown elements in order.
  template <class T>
  void collect(std::vector<T>& values, int axis, const char* at) {
    if (axis == x_.rank()) {
      T v;
      backend(x_.device()).copy(&v, cpu, at, x_.device(), sizeof v);
      values.push_back(v);
      return;
    }
    for (int64_t i : axes_[static_cast<size_t>(axis)])
      if (i >= 0) collect(values, axis + 1, at + i * x_.strides()[axis] * static_cast<int64_t>(sizeof(T)));
  }

  void put(std::string& s, int axis, int indent) {
    if (axis == x_.rank()) {
      s += texts_[next_++];
      return;
    }
    s += '[';
    ++indent;
    const bool innermost = axis == x_.rank() - 1;
    const auto& list = axes_[static_cast<size_t>(axis)];
    // What must fit behind a word: a comma, or the closing brackets.
    const size_t room = static_cast<size_t>(std::max(1, options_.line_width - std::max(1, axis + 1)));
    size_t line = s.rfind('\n') == std::string::npos ? s.size() : s.size() - s.rfind('\n') - 1;
    for (size_t k = 0; k < list.size(); ++k) {
      if (innermost) {
        const std::string& word = list[k] < 0 ? ellipsis_ : texts_[next_++];
        if (k > 0) {
          s += ',';
          if (line + 2 + word.size() > room) {
            s += '\n' + std::string(static_cast<size_t>(indent), ' ');
            line = static_cast<size_t>(indent);
          } else {
            s += ' ';
            line += 2;
          }
        }
        s += word;
        line += word.size();
      } else {
        if (k > 0) {
          s += ',' + std::string(static_cast<size_t>(x_.rank() - 1 - axis), '\n');
          s.append(static_cast<size_t>(indent), ' ');
        }
        if (list[k] < 0)
          s += ellipsis_;
        else
          put(s, axis + 1, indent);
      }
    }
    s += ']';
  }

  const Tensor& x_;
  const PrintOptions& options_;
  std::vector<std::vector<int64_t>> axes_;
  std::vector<std::string> texts_;
  size_t next_ = 0;
  bool summarised_ = false;
  const std::string ellipsis_ = "...";
};

}  // namespace

std::string to_string(const Tensor& x, const PrintOptions& options) {
  return x.defined() ? Printer(x, options).text() : "Tensor()";
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

}  // namespace tutti
