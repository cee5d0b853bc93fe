// One interval per row: label, interval drawn, interval in numbers and note.
#include <algorithm>
#include <cmath>

#include "grouped_vs_standard/report/axis.h"
#include "grouped_vs_standard/report/figure.h"
#include "grouped_vs_standard/report/format.h"
#include "grouped_vs_standard/report/svg.h"

namespace comparison {
namespace {

constexpr double small = 12, line_height = 15, narrowest_plot = 200, gap = 12;

bool drawable(const Interval& i) { return std::isfinite(i.value) && std::isfinite(i.low) && std::isfinite(i.high); }

class Drawing {
 public:
  explicit Drawing(const Forest& f) : f_(f) {
    digits_ = digits();
    double labels = 0, numbers = 0, notes = 0;
    for (const Forest::Row& row : f.rows) {
      labels = std::max(labels, text_width(row.label, small));
      numbers = std::max(numbers, text_width(in_numbers(row), small));
      notes = std::max(notes, text_width(row.note, small));
    }
    // Long texts are broken into lines; the plot keeps its width.
    label_width_ = std::min(labels, 190.0);
    number_width_ = numbers;
    const double rest = Svg::width - 32 - 3 * gap - label_width_ - number_width_ - narrowest_plot;
    note_width_ = std::min(notes, std::max(rest, 60.0));
  }

  std::string document() {
    const double top = put_title(page_, f_.title) + (f_.marks.empty() ? 0 : 14);
    double bottom = top + 6;
    std::vector<double> heights;
    for (const Forest::Row& row : f_.rows) bottom += heights.emplace_back(height(row));
    const Axis x = axis();
    grid(x, top, bottom);
    double y = top + 6;
    for (size_t i = 0; i < f_.rows.size(); ++i) {
      row(x, f_.rows[i], y + heights[i] / 2);
      y += heights[i];
    }
    page_.text((left() + right()) / 2, bottom + 40, f_.x_label, {.size = 13, .anchor = Anchor::middle});
    return page_.document(f_.title, bottom + (f_.x_label.empty() ? 30 : 52));
  }

 private:
  double left() const { return 16 + label_width_ + gap; }
  double right() const { return Svg::width - 16 - (note_width_ > 0 ? note_width_ + gap : 0) - number_width_ - gap; }

  /// Two decimals, three where all is small.
  int digits() const {
    double most = 0;
    for (const Forest::Row& row : f_.rows)
      if (drawable(row.interval)) most = std::max({most, std::fabs(row.interval.low), std::fabs(row.interval.high)});
    return most < 0.1 ? 4 : most < 2 ? 3 : 2;
  }

  std::string in_numbers(const Forest::Row& row) const {
    return drawable(row.interval) ? with_range(row.interval, digits_, f_.reference == 0) : "no value";
  }

  std::vector<std::string> label(const Forest::Row& row) const { return wrap(row.label, label_width_, small); }
  std::vector<std::string> note(const Forest::Row& row) const { return wrap(row.note, note_width_, small); }
  double height(const Forest::Row& row) const {
    return 10 + line_height * static_cast<double>(std::max(label(row).size(), note(row).size()));
  }

  Axis axis() const {
    double low = f_.reference, high = f_.reference;
    const auto take = [&](double v) {
      if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
    };
    for (const Forest::Row& row : f_.rows)
      if (drawable(row.interval)) take(row.interval.low), take(row.interval.high), take(row.interval.value);
    for (double mark : f_.marks) take(mark);
    const double room = (high - low) * 0.05;
    return Axis(low - room, high + room, false, left(), right());
  }

  void grid(const Axis& x, double top, double bottom) {
    for (const Tick& t : x.ticks(45)) {
      page_.line(x.at(t.value), top, x.at(t.value), bottom, ink::grid);
      page_.text(x.at(t.value), bottom + 18, t.label, {.size = small, .anchor = Anchor::middle, .fill = ink::soft});
    }
    page_.line(left(), bottom, right(), bottom, ink::frame);
    page_.line(x.at(f_.reference), top, x.at(f_.reference), bottom, ink::text, 1.2);
    for (double mark : f_.marks) {
      page_.line(x.at(mark), top, x.at(mark), bottom, ink::soft, 1.2, "5 4");
      page_.text(x.at(mark), top - 4, tick_label(mark), {.size = 11, .anchor = Anchor::middle, .fill = ink::soft});
    }
  }

  void lines(double x, double middle, const std::vector<std::string>& list) {
    double y = middle + 4 - line_height * static_cast<double>(list.size() - 1) / 2;
    for (const std::string& line : list) {
      page_.text(x, y, line, {.size = small});
      y += line_height;
    }
  }

  void row(const Axis& x, const Forest::Row& row, double y) {
    lines(16, y, label(row));
    lines(right() + gap, y, {in_numbers(row)});
    if (!row.note.empty()) lines(Svg::width - 16 - note_width_, y, note(row));
    const Interval& i = row.interval;
    if (!drawable(i)) return;
    const char* fill = i.low > f_.reference ? colour(0) : i.high < f_.reference ? colour(1) : ink::soft;
    page_.line(x.at(i.low), y, x.at(i.high), y, fill, 2);
    for (double end : {i.low, i.high}) page_.line(x.at(end), y - 4, x.at(end), y + 4, fill, 2);
    page_.marker(Marker::square, x.at(i.value), y, fill);
  }

  const Forest& f_;
  int digits_ = 2;
  double label_width_ = 0, number_width_ = 0, note_width_ = 0;
  Svg page_;
};

}  // namespace

std::string svg(const Forest& forest) {
  check_id(forest.id);
  return Drawing(forest).document();
}

}  // namespace comparison
