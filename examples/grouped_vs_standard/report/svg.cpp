#include "grouped_vs_standard/report/svg.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "tutti/core/error.h"

namespace comparison {
namespace {

/// Up to two decimals, none that say nothing: 12, 12.5, 12.25.
std::string px(double v) {
  std::string s = fmt::format("{:.2f}", v);
  while (s.back() == '0') s.pop_back();
  if (s.back() == '.') s.pop_back();
  return s == "-0" ? "0" : s;
}

std::string points(const std::vector<double>& x, const std::vector<double>& y) {
  std::string s;
  for (size_t i = 0; i < x.size(); ++i) s += (i ? " " : "") + px(x[i]) + "," + px(y[i]);
  return s;
}

std::string dashes(const char* dash) { return *dash ? fmt::format(" stroke-dasharray=\"{}\"", dash) : ""; }

/// The number of bytes of the UTF-8 character at the start of s; 0 if there is none.
size_t character(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const size_t n = byte(0) < 0x80                      ? 1
                   : byte(0) >= 0xC2 && byte(0) < 0xE0 ? 2
                   : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3
                   : byte(0) >= 0xF0 && byte(0) < 0xF5 ? 4
                                                       : 0;
  if (n == 0 || n > s.size()) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return n;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string s;
  for (size_t i = 0; i < text.size();) {
    const size_t n = character(text.substr(i));
    const char c = text[i];
    if (n == 0)
      s += '?';
    else if (c == '&')
      s += "&amp;";
    else if (c == '<')
      s += "&lt;";
    else if (c == '>')
      s += "&gt;";
    else if (c == '"')
      s += "&quot;";
    else if (c == '\'')
      s += "&#39;";
    else if (n > 1 || static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
      s += text.substr(i, n);
    i += n ? n : 1;
  }
  return s;
}

double text_width(std::string_view text, double size) {
  double width = 0;
  for (char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;  // inside a character of several bytes
    // A wide font (DejaVu Sans), so that nothing runs over its border in a narrower one.
    const bool narrow = c && std::strchr("ijlftr.,:;|'!()[] ", c), wide = c && std::strchr("mwMW%@+=<>~", c);
    width += narrow ? 0.37 : wide ? 0.88 : c >= 'A' && c <= 'Z' ? 0.7 : 0.62;
  }
  return width * size;
}

std::vector<std::string> wrap(std::string_view text, double width, double size) {
  std::vector<std::string> lines(1);
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find(' ', i), text.size());
    const std::string word(text.substr(i, end - i));
    if (std::string& last = lines.back(); last.empty())
      last = word;
    else if (text_width(last + " " + word, size) <= width)
      last += " " + word;
    else
      lines.push_back(word);
    i = end + 1;
  }
  return lines;
}

const char* colour(size_t i) {
  constexpr const char* okabe_ito[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333"};
  return okabe_ito[i % std::size(okabe_ito)];
}

void Svg::text(double x, double y, std::string_view words, Text t) {
  constexpr const char* anchors[] = {"start", "middle", "end"};
  body_ +=
      fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}{}>{}</text>\n", px(x),
                  px(y), px(t.size), t.fill, anchors[static_cast<int>(t.anchor)], t.bold ? " font-weight=\"600\"" : "",
                  t.upright ? fmt::format(" transform=\"rotate(-90 {} {})\"", px(x), px(y)) : "", escape(words));
}

void Svg::line(double x1, double y1, double x2, double y2, const char* stroke, double thickness, const char* dash) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n", px(x1),
                       px(y1), px(x2), px(y2), stroke, px(thickness), dashes(dash));
}

void Svg::rectangle(double x, double y, double w, double h, const char* fill, const char* stroke) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"{}\"/>\n", px(x), px(y),
                       px(w), px(h), fill, stroke);
}

void Svg::polyline(const std::vector<double>& x, const std::vector<double>& y, const char* stroke, const char* dash) {
  body_ += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{}/>\n",
      points(x, y), stroke, dashes(dash));
}

void Svg::polygon(const std::vector<double>& x, const std::vector<double>& y, const char* fill, double opacity) {
  body_ += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n", points(x, y), fill, px(opacity));
}

void Svg::marker(Marker shape, double x, double y, const char* fill) {
  const double r = 4, s = 3.6;
  switch (shape) {
    case Marker::circle:
      body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", px(x), px(y), px(r), fill);
      break;
    case Marker::square:
      rectangle(x - s, y - s, 2 * s, 2 * s, fill);
      break;
    case Marker::triangle:
      polygon({x - r - 0.6, x, x + r + 0.6}, {y + r, y - r - 1, y + r}, fill, 1);
      break;
    case Marker::diamond:
      polygon({x - r - 1, x, x + r + 1, x}, {y, y - r - 1, y, y + r + 1}, fill, 1);
      break;
    case Marker::down:
      polygon({x - r - 0.6, x, x + r + 0.6}, {y - r, y + r + 1, y - r}, fill, 1);
      break;
    case Marker::cross:
      line(x - s, y - s, x + s, y + s, fill, 2.2);
      line(x - s, y + s, x + s, y - s, fill, 2.2);
      break;
  }
}

std::string Svg::shifted(double down) const {
  return fmt::format("<g transform=\"translate(0 {})\">\n{}</g>\n", px(down), body_);
}

std::string Svg::document(const std::string& title, double height) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\" font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{3}</svg>\n",
      px(width), px(height), escape(title), body_);
}

double put_title(Svg& page, const std::string& title) {
  double y = 10;
  if (!title.empty())
    for (const std::string& line : wrap(title, (Svg::width - 32) / 1.1, 15))  // bold is wider
      page.text(16, y += 18, line, {.size = 15, .bold = true});
  return y + 10;
}

void check_id(const std::string& id) {
  if (id.empty() || id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string::npos)
    throw tutti::ValueError(tutti::message("id '", id,
                                           "' of a picture: expected lower-case letters, digits, - and _, since it "
                                           "names a file"));
}

}  // namespace comparison
