// Triangles of matrices: tril and triu of index.h.
#include <algorithm>

#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/index.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"
#include "tutti/ops/index.h"

namespace tutti {
namespace {

Tensor triangle(const char* op, const Tensor& x, int64_t diagonal, bool lower) {
  check_defined(op, "x", x);
  if (x.rank() < 2) throw ShapeError(message(op, ": shape ", x.shape(), " has fewer than 2 axes"));
  const int last = x.rank() - 1;
  const int64_t height = x.shape()[last - 1], width = x.shape()[last];
  // Beyond the corners nothing changes; and the kernel's sums cannot overflow.
  const int64_t d = std::clamp(diagonal, -height - 1, width + 1);
  const Output y = output_like(x);
  kernel::triangle::on(x.device())(rows(y, last), rows(x, last), height, d, lower);
  return with_grad(op, y, {x},
                   [d, lower](Saved&, const Tensor& dy) { return Grads{lower ? tril(dy, d) : triu(dy, d)}; });
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", x, diagonal, false); }

}  // namespace tutti
