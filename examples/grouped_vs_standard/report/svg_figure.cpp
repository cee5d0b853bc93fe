// Lines and points over x.
#include <algorithm>
#include <cmath>
#include <set>

#include "grouped_vs_standard/report/axis.h"
#include "grouped_vs_standard/report/figure.h"
#include "grouped_vs_standard/report/svg.h"
#include "tutti/core/error.h"

namespace comparison {
namespace {

constexpr double small = 12, plot_height = 300;
constexpr const char* dashes[] = {"", "7 3", "2 3", "9 3 2 3"};

/// Lines without markers differ in dash at once, others when the colours start again.
const char* dash_of(const Series& s, size_t i) { return dashes[(s.points ? i / 7 : i) % std::size(dashes)]; }
Marker marker_of(size_t series) { return static_cast<Marker>(series % 6); }

void check(const Figure& f) {
  check_id(f.id);
  for (const Series& s : f.series) {
    const auto fits = [&](const std::vector<double>& v, const char* what, bool may_be_empty) {
      if (v.size() != s.x.size() && !(may_be_empty && v.empty()))
        throw tutti::ValueError(
            tutti::message("figure '", f.id, "', series '", s.name, "': ", s.x.size(), " x and ", v.size(), " ", what));
    };
    fits(s.y, "y", false);
    fits(s.low, "low", true);
    fits(s.high, "high", true);
    if (s.low.empty() != s.high.empty())
      throw tutti::ValueError(tutti::message("figure '", f.id, "', series '", s.name, "': low and high go together"));
  }
}

/// The smallest and largest of what an axis can show.
struct Extent {
  explicit Extent(bool logarithmic) : log(logarithmic) {}
  void take(double v) {
    if (std::isfinite(v) && (!log || v > 0)) low = std::min(low, v), high = std::max(high, v);
  }
  void take(const std::vector<double>& list) {
    for (double v : list) take(v);
  }
  /// Room of `share` of the range on either side.
  Axis axis(double share, double first, double last) const {
    if (!(high > low)) return Axis(low, high, log, first, last);
    const double room = log ? std::pow(high / low, share) : (high - low) * share;
    return log ? Axis(low / room, high * room, true, first, last) : Axis(low - room, high + room, false, first, last);
  }
  bool log;
  double low = INFINITY, high = -INFINITY;
};

class Drawing {
 public:
  explicit Drawing(const Figure& f) : f_(f), y_(vertical()), x_(horizontal()) {}

  std::string document() {
    double top = put_title(page_, f_.title);
    top = legend(top) + 6;
    Svg titled = page_;
    page_ = Svg();
    top += bands();
    grid();
    references();
    for (size_t i = 0; i < f_.series.size(); ++i) intervals(f_.series[i], i);
    for (size_t i = 0; i < f_.series.size(); ++i) series(f_.series[i], i);
    if (empty())
      page_.text((left() + right()) / 2, plot_height / 2, "no values",
                 {.size = 14, .anchor = Anchor::middle, .fill = ink::soft});
    titled.raw(page_.shifted(top));
    return titled.document(f_.title, top + plot_height + (f_.x_label.empty() ? 30 : 52));
  }

 private:
  // What follows draws with the plot's upper edge at y = 0.
  double left() const { return left_; }
  double right() const { return Svg::width - (f_.reference_y.empty() ? 18 : 52); }

  Axis vertical() {
    Extent e(f_.log_y);
    for (const Series& s : f_.series) e.take(s.y), e.take(s.low), e.take(s.high);
    e.take(f_.reference_y);
    const Axis axis = e.axis(0.05, plot_height, 0);
    double widest = 0;
    for (const Tick& t : axis.ticks(48)) widest = std::max(widest, text_width(t.label, small));
    left_ = 16 + widest + 8 + (f_.y_label.empty() ? 0 : 22);
    return axis;
  }

  Axis horizontal() const {
    Extent e(f_.log_x);
    for (const Series& s : f_.series) e.take(s.x);
    for (const Band& b : f_.bands) e.take(b.from), e.take(b.to);
    return e.axis(0.04, left(), right());
  }

  std::vector<Tick> x_ticks() const {
    std::set<double> distinct;
    for (const Series& s : f_.series)
      for (double x : s.x)
        if (x_.shows(x)) distinct.insert(x);
    bool whole = true;  // 1, 2, 3, 4: ticks between them would say nothing
    for (double x : distinct) whole = whole && x == std::floor(x) && x - *distinct.begin() <= 10;
    if (!distinct.empty() && (f_.log_x ? distinct.size() <= 12 : whole))
      return x_.ticks_at({distinct.begin(), distinct.end()}, small);
    return x_.ticks(80);
  }

  bool empty() const {
    for (const Series& s : f_.series)
      for (size_t i = 0; i < s.x.size(); ++i)
        if (shows(s, i)) return false;
    return true;
  }

  bool shows(const Series& s, size_t i) const { return x_.shows(s.x[i]) && y_.shows(s.y[i]); }

  /// Shades the bands and writes their labels above the plot, where no data are; returns how high those are.
  double bands() {
    double row = 0, highest = 0, taken = -1e9;
    for (const Band& b : f_.bands) {
      if (!x_.shows(b.from) || !x_.shows(b.to)) continue;
      const double from = x_.at(b.from), to = x_.at(b.to), half = text_width(b.label, 11) / 2;
      page_.rectangle(std::min(from, to), 0, std::fabs(to - from), plot_height, ink::shade);
      if (b.label.empty()) continue;
      const double middle = std::clamp((from + to) / 2, left() + half, std::max(left() + half, right() - half));
      row = middle - half < taken ? row + 14 : 0;
      taken = std::max(taken, middle + half + 8);
      highest = std::max(highest, row + 14);
      page_.text(middle, -6 - row, b.label, {.size = 11, .anchor = Anchor::middle, .fill = ink::soft});
    }
    return highest;
  }

  void grid() {
    for (const Tick& t : y_.ticks(48)) {
      const double y = y_.at(t.value);
      page_.line(left(), y, right(), y, ink::grid);
      page_.text(left() - 8, y + 4, t.label, {.size = small, .anchor = Anchor::end, .fill = ink::soft});
    }
    for (const Tick& t : x_ticks()) {
      const double x = x_.at(t.value);
      page_.line(x, plot_height, x, plot_height + 5, ink::frame);
      page_.text(x, plot_height + 19, t.label, {.size = small, .anchor = Anchor::middle, .fill = ink::soft});
    }
    page_.line(left(), plot_height, right(), plot_height, ink::frame);
    page_.line(left(), 0, left(), plot_height, ink::frame);
    page_.text((left() + right()) / 2, plot_height + 40, f_.x_label, {.size = 13, .anchor = Anchor::middle});
    if (!f_.y_label.empty())
      page_.text(26, plot_height / 2, f_.y_label, {.size = 13, .anchor = Anchor::middle, .upright = true});
  }

  void references() {
    for (double v : f_.reference_y) {
      if (!y_.shows(v)) continue;
      page_.line(left(), y_.at(v), right(), y_.at(v), ink::soft, 1.2, "5 4");
      page_.text(right() + 6, y_.at(v) + 4, tick_label(v), {.size = small, .fill = ink::soft});
    }
  }

  /// How far the i-th series stands beside its x, so that error bars do not hide one another.
  double aside(size_t i) const {
    size_t with_bars = 0;
    for (const Series& s : f_.series) with_bars += !s.low.empty();
    if (f_.filled_bands || with_bars < 2) return 0;
    const double last = static_cast<double>(f_.series.size() - 1);
    return (static_cast<double>(i) - last / 2) * std::min(6.0, 24 / last);
  }

  void intervals(const Series& s, size_t index) {
    if (s.low.empty()) return;
    std::vector<double> x, low, high;
    const auto finish_band = [&] {
      std::vector<double> around_x(x), around_y(low);
      around_x.insert(around_x.end(), x.rbegin(), x.rend());
      around_y.insert(around_y.end(), high.rbegin(), high.rend());
      if (x.size() > 1) page_.polygon(around_x, around_y, colour(index), 0.18);
      x.clear(), low.clear(), high.clear();
    };
    for (size_t i = 0; i < s.x.size(); ++i) {
      if (!shows(s, i) || !y_.shows(s.low[i]) || !y_.shows(s.high[i])) {
        finish_band();
        continue;
      }
      const double at = x_.at(s.x[i]) + aside(index), from = y_.at(s.low[i]), to = y_.at(s.high[i]);
      x.push_back(at), low.push_back(from), high.push_back(to);
      if (f_.filled_bands) continue;
      page_.line(at, from, at, to, colour(index), 1.5);
      for (double end : {from, to}) page_.line(at - 3, end, at + 3, end, colour(index), 1.5);
    }
    if (f_.filled_bands) finish_band();
  }

  void series(const Series& s, size_t index) {
    std::vector<double> x, y;
    const auto finish_line = [&] {
      if (s.line && x.size() > 1) page_.polyline(x, y, colour(index), dash_of(s, index));
      // A single value without a marker would not be seen.
      for (size_t i = 0; i < x.size() && (s.points || x.size() == 1); ++i)
        page_.marker(marker_of(index), x[i], y[i], colour(index));
      x.clear(), y.clear();
    };
    for (size_t i = 0; i < s.x.size(); ++i)
      if (shows(s, i))
        x.push_back(x_.at(s.x[i]) + aside(index)), y.push_back(y_.at(s.y[i]));
      else
        finish_line();
    finish_line();
  }

  /// Between title and plot; returns the y below it.
  double legend(double top) {
    double x = 16, y = top;
    bool any = false;
    for (size_t i = 0; i < f_.series.size(); ++i) {
      const Series& s = f_.series[i];
      if (s.name.empty()) continue;
      const double wide = 34 + text_width(s.name, small) + 16;
      if (any && x + wide > Svg::width) x = 16, y += 19;
      any = true;
      if (s.line) page_.polyline({x, x + 26}, {y + 8, y + 8}, colour(i), dash_of(s, i));
      if (s.points) page_.marker(marker_of(i), x + 13, y + 8, colour(i));
      page_.text(x + 32, y + 12, s.name, {.size = small});
      x += wide;
    }
    return any ? y + 22 : y;
  }

  const Figure& f_;
  double left_ = 0;
  Axis y_, x_;
  Svg page_;
};

}  // namespace

std::string svg(const Figure& figure) {
  check(figure);
  return Drawing(figure).document();
}

}  // namespace comparison
