// Pictures of the report, drawn as SVG without any other program: self-contained, light background, 720 px wide, no
// scripts. Colours are Okabe & Ito's, which colour-blind readers can tell apart; series differ in marker and dash too.
// An id is the picture's file name: lower-case letters, digits, - and _ (else ValueError). Values that are NaN or
// infinite, or not above 0 on a logarithmic axis, are left out, and lines break there.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "grouped_vs_standard/statistics/interval.h"

namespace comparison {

struct Series {
  std::string name{};                 ///< for the legend; empty: not in it
  std::vector<double> x{}, y{};       ///< as long as each other
  std::vector<double> low{}, high{};  ///< error bars or a filled band around y; empty, or as long as y
  bool line = true, points = true;    ///< joined in the order given

  /// One point with its error bar.
  void add(double at, const Interval& value) {
    x.push_back(at), y.push_back(value.value);
    low.push_back(value.low), high.push_back(value.high);
  }
};

/// A shaded range of x.
struct Band {
  double from = 0, to = 0;
  std::string label{};
};

/// Lines or points over x. If several series have error bars, they stand up to 6 px apart in x, lest they hide one
/// another. A logarithmic x axis with few distinct x has its ticks there, and so has a
/// linear one with small whole numbers.
struct Figure {
  std::string id{}, title{}, x_label{}, y_label{};
  bool log_x = false, log_y = false;
  bool filled_bands = false;  ///< low and high as a filled band instead of error bars
  std::vector<Series> series{};
  std::vector<Band> bands{};
  std::vector<double> reference_y{};  ///< dashed horizontal lines
};

/// One interval per row, its numbers and a note beside it.
struct Forest {
  std::string id{}, title{}, x_label{};
  struct Row {
    std::string label{};
    Interval interval{};
    std::string note{};
  };
  std::vector<Row> rows{};
  double reference = 0;         ///< of no effect: a solid line; rows on one side of it are coloured
  std::vector<double> marks{};  ///< dashed lines: the article's 3.2
};

/// Maps of numbers in one colour scale: from the smallest to the largest value, or if there are values on both sides of
/// 0, symmetric about it.
struct Heatmaps {
  std::string id{}, title{};
  struct Map {
    std::string label{};
    int64_t rows = 0, columns = 0;
    std::vector<double> values{};  ///< [rows, columns]
  };
  std::vector<Map> maps{};
  int64_t per_row = 4;
};

using Picture = std::variant<Figure, Forest, Heatmaps>;

/// The picture as a document of its own, which may also stand inside an HTML page. ValueError for lists whose lengths
/// do not fit one another.
std::string svg(const Figure& figure);
std::string svg(const Forest& forest);
std::string svg(const Heatmaps& heatmaps);
std::string svg(const Picture& picture);

const std::string& id_of(const Picture& picture);
const std::string& title_of(const Picture& picture);

}  // namespace comparison
