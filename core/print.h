// Tensors as text, as NumPy prints them.
#pragma once
#include <iosfwd>
#include <string>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti {

struct PrintOptions {
  int precision = 4;         ///< digits after the point at most
  int64_t threshold = 1000;  ///< more elements than this are summarised with "..."
  int64_t edge_items = 3;    ///< at both ends of each axis when summarised
  int line_width = 75;
};
std::string to_string(const Tensor& x, const PrintOptions& options = {});
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace tutti
#pragma GCC visibility pop
