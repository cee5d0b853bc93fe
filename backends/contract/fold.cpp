#include "tutti/backends/contract/make_fold.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

Axes split(const Tensor& x, unsigned mask, bool keepdim) {
  Axes a{mask, x.shape(), {}, 1};
  for (int i = 0; i < x.rank(); ++i) {
    if (mask >> i & 1u) {
      a.ones[i] = 1;
      a.count *= x.shape()[i];
    } else {
      a.shape.push(x.shape()[i]);
    }
  }
  if (keepdim) a.shape = a.ones;
  return a;
}

struct Axis {
  int64_t size, stride, out;
};

/// Sorts by falling stride (stable, so that equal layouts give equal orders), then merges neighbours.
int arrange(Axis* axes, int n) {
  for (int i = 1; i < n; ++i)
    for (int j = i; j > 0 && axes[j - 1].stride < axes[j].stride; --j) {
      const Axis t = axes[j];
      axes[j] = axes[j - 1];
      axes[j - 1] = t;
    }
  int w = 0;
  for (int i = 0; i < n; ++i) {
    if (axes[i].size == 1) continue;
    if (w > 0) {
      Axis& last = axes[w - 1];
      if (last.stride == axes[i].stride * axes[i].size && last.out == axes[i].out * axes[i].size) {
        last = {last.size * axes[i].size, axes[i].stride, axes[i].out};
        continue;
      }
    }
    axes[w++] = axes[i];
  }
  return w;
}

}  // namespace

Axes all_axes(const char* op, const Tensor& x, bool keepdim) {
  check_defined(op, "x", x);
  return split(x, ~0u, keepdim);
}

Axes some_axes(const char* op, const Tensor& x, const Dims& axes, bool keepdim) {
  check_defined(op, "x", x);
  unsigned mask = 0;
  for (int64_t axis : axes) {
    const unsigned bit = 1u << normalize_dim(op, axis, x);
    if (mask & bit) throw ValueError(message(op, ": axis ", axis, " is given twice in ", axes));
    mask |= bit;
  }
  return split(x, mask, keepdim);
}

Fold fold(const Tensor& x, const Axes& axes, const Output& y) {
  Axis kept[Dims::max_rank], folded[Dims::max_rank];
  int n_kept = 0, n_folded = 0;
  const bool keepdim = axes.shape.n == x.rank();
  for (int i = 0; i < x.rank(); ++i) {
    if (axes.mask >> i & 1u) {
      folded[n_folded++] = {x.shape()[i], x.strides()[i], 0};
    } else {
      kept[n_kept] = {x.shape()[i], x.strides()[i], y.strides()[keepdim ? i : n_kept]};
      ++n_kept;
    }
  }
  n_kept = arrange(kept, n_kept);
  n_folded = arrange(folded, n_folded);
  Fold f{x.data(), y.data(), x.dtype(), y.dtype(), {}, {}, {}, {}, {}, 1, 1};
  for (int i = 0; i < n_kept; ++i) {
    f.kept.push(kept[i].size);
    f.kept_strides.push(kept[i].stride);
    f.out_strides.push(kept[i].out);
  }
  for (int i = 0; i < n_folded; ++i) {
    f.folded.push(folded[i].size);
    f.folded_strides.push(folded[i].stride);
  }
  f.results = f.kept.product();
  f.count = f.folded.product();
  return f;
}

}  // namespace tutti
