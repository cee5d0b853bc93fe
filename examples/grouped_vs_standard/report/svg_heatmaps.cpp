// Maps of numbers in one colour scale.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "grouped_vs_standard/report/axis.h"
#include "grouped_vs_standard/report/figure.h"
#include "grouped_vs_standard/report/format.h"
#include "grouped_vs_standard/report/svg.h"
#include "tutti/core/error.h"

namespace comparison {
namespace {

using Rgb = std::array<double, 3>;
// Light to dark blue, after ColorBrewer's "Blues": lightness alone tells the values apart.
constexpr Rgb sequential[] = {{247, 251, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}};
// Vermillion over white to blue: negative, zero, positive.
constexpr Rgb diverging[] = {{160, 62, 0}, {224, 130, 74}, {247, 247, 247}, {90, 160, 208}, {0, 70, 130}};
constexpr int shades = 64;  // few enough that cells of one shade are one path

class Scale {
 public:
  explicit Scale(const Heatmaps& h) {
    double low = INFINITY, high = -INFINITY;
    for (const auto& map : h.maps)
      for (double v : map.values)
        if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
    if (low > high) low = 0, high = 1;
    signed_ = low < 0 && high > 0;
    if (signed_) high = std::max(-low, high), low = -high;
    low_ = low, high_ = high > low ? high : low + 1;
  }

  double low() const { return low_; }
  double high() const { return high_; }

  int shade(double v) const {
    return std::clamp(static_cast<int>(std::lround((v - low_) / (high_ - low_) * (shades - 1))), 0, shades - 1);
  }

  /// Whether text on the value's colour must be light.
  bool dark(double v) const { return std::isfinite(v) && std::fabs(v - middle()) > 0.55 * (high_ - middle()); }

  std::string colour(int shade) const {
    const Rgb* stops = signed_ ? diverging : sequential;
    const size_t last = (signed_ ? std::size(diverging) : std::size(sequential)) - 1;
    const double place = static_cast<double>(shade) / (shades - 1) * static_cast<double>(last);
    const size_t i = std::min(static_cast<size_t>(place), last - 1);
    const double t = place - static_cast<double>(i);
    const auto mix = [&](size_t c) {
      return static_cast<int>(std::lround(stops[i][c] * (1 - t) + stops[i + 1][c] * t));
    };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2));
  }

 private:
  double middle() const { return signed_ ? 0 : low_; }
  double low_ = 0, high_ = 1;
  bool signed_ = false;
};

/// The cells of one map as one path per shade, in units of cells; neighbours in a row are one rectangle.
std::string cells(const Heatmaps::Map& map, const Scale& scale) {
  std::map<int, std::string> paths;
  const auto at = [&](int64_t r, int64_t c) {
    const double v = map.values[static_cast<size_t>(r * map.columns + c)];
    return std::isfinite(v) ? scale.shade(v) : -1;
  };
  for (int64_t r = 0; r < map.rows; ++r)
    for (int64_t c = 0, end; c < map.columns; c = end) {
      const int shade = at(r, c);
      for (end = c + 1; end < map.columns && at(r, end) == shade;) ++end;
      if (shade >= 0) paths[shade] += fmt::format("M{} {}h{}v1h-{}z", c, r, end - c, end - c);
    }
  std::string s;
  for (const auto& [shade, path] : paths) s += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", scale.colour(shade), path);
  return s;
}

/// The values themselves, where the cells have room for them.
void numbers(Svg& page, const Heatmaps::Map& map, const Scale& scale, double x, double y, double cell) {
  if (cell < 36) return;
  for (int64_t r = 0; r < map.rows; ++r)
    for (int64_t c = 0; c < map.columns; ++c) {
      const double v = map.values[static_cast<size_t>(r * map.columns + c)];
      page.text(x + (static_cast<double>(c) + 0.5) * cell, y + (static_cast<double>(r) + 0.5) * cell + 4, number(v),
                {.size = 11, .anchor = Anchor::middle, .fill = scale.dark(v) ? "#ffffff" : ink::text});
    }
}

void check(const Heatmaps& h) {
  check_id(h.id);
  if (h.per_row < 1)
    throw tutti::ValueError(tutti::message("heatmaps '", h.id, "': per_row ", h.per_row, ": at least 1"));
  for (const auto& map : h.maps)
    if (map.rows < 0 || map.columns < 0 || map.values.size() != static_cast<size_t>(map.rows * map.columns))
      throw tutti::ValueError(tutti::message("heatmaps '", h.id, "', map '", map.label, "': ", map.values.size(),
                                             " values for ", map.rows, " rows and ", map.columns, " columns"));
}

/// Returns the y below it.
double colour_bar(Svg& page, const Scale& scale, double y) {
  const double left = 16, wide = 240;
  for (int i = 0; i < shades; ++i)
    page.rectangle(left + wide * i / shades, y, wide / shades + 0.5, 10, scale.colour(i).c_str());
  const Axis axis(scale.low(), scale.high(), false, left, left + wide);
  for (const Tick& t : axis.ticks(60)) {
    page.line(axis.at(t.value), y + 10, axis.at(t.value), y + 14, ink::frame);
    page.text(axis.at(t.value), y + 26, t.label, {.size = 11, .anchor = Anchor::middle, .fill = ink::soft});
  }
  return y + 40;
}

}  // namespace

std::string svg(const Heatmaps& h) {
  check(h);
  const Scale scale(h);
  Svg page;
  double y = colour_bar(page, scale, put_title(page, h.title));
  const double gap = 16,
               across = static_cast<double>(std::min<int64_t>(h.per_row, std::max<int64_t>(1, std::ssize(h.maps))));
  const double wide = std::min(320.0, (Svg::width - 32 - gap * (across - 1)) / across);
  for (size_t first = 0; first < h.maps.size(); first += static_cast<size_t>(across)) {
    const size_t last = std::min(h.maps.size(), first + static_cast<size_t>(across));
    size_t label_lines = 0;
    double tallest = 0;
    for (size_t i = first; i < last; ++i) label_lines = std::max(label_lines, wrap(h.maps[i].label, wide, 12).size());
    for (size_t i = first; i < last; ++i) {
      const auto& map = h.maps[i];
      double x = 16 + static_cast<double>(i - first) * (wide + gap), line = y;
      for (const std::string& words : wrap(map.label, wide, 12)) page.text(x, line += 14, words, {.size = 12});
      const double top = y + 14 * static_cast<double>(label_lines) + 6;
      if (map.values.empty()) continue;
      // Square cells, no map taller than twice its width.
      const double cell =
          std::min({wide / static_cast<double>(map.columns), 2 * wide / static_cast<double>(map.rows), 52.0});
      const double w = cell * static_cast<double>(map.columns), tall = cell * static_cast<double>(map.rows);
      page.rectangle(x, top, w, tall, "#d0d3d6", ink::frame);  // shows where a value is missing
      page.raw(fmt::format(
          "<g transform=\"translate({:.2f} {:.2f}) scale({:.4f})\" shape-rendering=\"crispEdges\">\n{}</g>\n", x, top,
          cell, cells(map, scale)));
      numbers(page, map, scale, x, top, cell);
      tallest = std::max(tallest, tall);
    }
    y += 14 * static_cast<double>(label_lines) + 6 + tallest + 14;
  }
  return page.document(h.title, y);
}

std::string svg(const Picture& picture) {
  return std::visit([](const auto& p) { return svg(p); }, picture);
}

const std::string& id_of(const Picture& picture) {
  return std::visit([](const auto& p) -> const std::string& { return p.id; }, picture);
}

const std::string& title_of(const Picture& picture) {
  return std::visit([](const auto& p) -> const std::string& { return p.title; }, picture);
}

}  // namespace comparison
