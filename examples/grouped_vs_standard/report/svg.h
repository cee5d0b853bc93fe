// A page of SVG that shapes and text are put on one after another: what the pictures of figure.h are drawn with.
// Coordinates are pixels, y downwards; numbers are printed with up to two decimals.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace comparison {

/// Text as it must stand in XML and HTML: & < > " ' escaped, control characters dropped, bytes that are no UTF-8
/// replaced by "?".
std::string escape(std::string_view text);

/// About how wide text is, in px: the average of sans-serif fonts, by classes of letters.
double text_width(std::string_view text, double size);

/// Lines no wider than `width`, broken at spaces (a longer word stands alone); at least one.
std::vector<std::string> wrap(std::string_view text, double width, double size);

namespace ink {  // of everything but data
inline constexpr const char *text = "#1f2328", *soft = "#57606a", *frame = "#8c959f", *grid = "#e6e8eb",
                            *shade = "#eef1f4";
}

/// The colour of the i-th series; after the last one they start again.
const char* colour(size_t i);

enum class Anchor { start, middle, end };
enum class Marker { circle, square, triangle, diamond, down, cross };

class Svg {
 public:
  static constexpr double width = 720;

  struct Text {
    double size = 12;
    Anchor anchor = Anchor::start;
    const char* fill = ink::text;
    bool bold = false, upright = false;  ///< upright: reads from bottom to top
  };

  void text(double x, double y, std::string_view text, Text style);  ///< y: the base line
  void text(double x, double y, std::string_view words) { text(x, y, words, Text()); }
  void line(double x1, double y1, double x2, double y2, const char* stroke, double thickness = 1,
            const char* dash = "");
  void rectangle(double x, double y, double w, double h, const char* fill, const char* stroke = "none");
  void polyline(const std::vector<double>& x, const std::vector<double>& y, const char* stroke, const char* dash = "");
  void polygon(const std::vector<double>& x, const std::vector<double>& y, const char* fill, double opacity);
  void marker(Marker shape, double x, double y, const char* fill);
  void raw(const std::string& elements) { body_ += elements; }

  /// All that is on the page, moved down.
  std::string shifted(double down) const;

  /// The whole document, `height` px high.
  std::string document(const std::string& title, double height) const;

 private:
  std::string body_;
};

/// Heads a picture with its title, in as many lines as it needs; returns the y below it.
double put_title(Svg& page, const std::string& title);

/// ValueError unless `id` may be a file's name.
void check_id(const std::string& id);

}  // namespace comparison
