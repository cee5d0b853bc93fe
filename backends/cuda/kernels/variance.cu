// Variances over any axes.
#include "tutti/backends/contract/reduce.h"

#include "tutti/backends/cuda/fold.h"

namespace tutti {
namespace {

/// Of floats shorter than float64, in one pass: sums of x - first and of its square in float64, where squares neither
/// overflow nor vanish. Since `first` is one of the elements, (first - mean)^2 is a part of the variance, and the
/// difference of the sums loses no more than a factor of the number of elements.
template <class T>
struct Moments : FoldSums<2> {
  double divisor;
  bool root;
  using Param = double;
  template <class C>
  __device__ double param(const Fold&, int64_t, C first) const {
    return static_cast<double>(first);
  }
  template <int V, class C>
  __device__ void add(Acc& a, const C (&x)[V], int64_t, double first) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) {
      const double d = static_cast<double>(x[j]) - first;
      a.v[0] += d;
      a.v[1] += d * d;
    }
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    double squares = x.count ? a.v[1] - a.v[0] * a.v[0] / static_cast<double>(x.count) : 0;
    if (squares < 0) squares = 0;
    const double v = squares / divisor;
    *fold_out<T>(x, r) = rounded<T>(root ? sqrt(v) : v);
  }
};

// Of float64 there is nothing wider, so the mean comes first; and both passes keep their sums at three scales, of which
// the last chooses one whose squares neither overflow nor vanish.
constexpr double down = 0x1p-600, up = 0x1p600;
constexpr double lost = 0x1p-1020;  // a sum of n squares below n times this has lost digits

/// The mean of x - first, at each scale.
struct Means : FoldSums<3> {
  double* means;
  using Param = double;
  __device__ double param(const Fold&, int64_t, double first) const { return first; }
  template <int V>
  __device__ void add(Acc& a, const double (&x)[V], int64_t, double first) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) {
      const double d = x[j] - first;
      a.v[0] += d;
      a.v[1] += x[j] * down - first * down;
      a.v[2] += d * up;
    }
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    for (int k = 0; k < 3; ++k) means[3 * r + k] = a.v[k] / static_cast<double>(x.count);
  }
};

struct Deviations : FoldSums<3> {
  const double* means;
  double divisor;
  bool root;
  struct Param {
    double first, mean[3];
  };
  __device__ Param param(const Fold&, int64_t r, double first) const {
    return {first, {means[3 * r], means[3 * r + 1], means[3 * r + 2]}};
  }
  template <int V>
  __device__ void add(Acc& a, const double (&x)[V], int64_t, const Param& p) const {
    TUTTI_UNROLL
    for (int j = 0; j < V; ++j) {
      const double d = x[j] - p.first;
      const double e[3] = {d - p.mean[0], (x[j] * down - p.first * down) - p.mean[1], d * up - p.mean[2]};
      TUTTI_UNROLL
      for (int k = 0; k < 3; ++k) a.v[k] += e[k] * e[k];
    }
  }
  __device__ void finish(const Fold& x, int64_t r, const Acc& a) const {
    const bool small = a.v[0] < static_cast<double>(x.count) * lost, large = !(a.v[0] < static_cast<double>(INFINITY));
    const double scale = small ? up : large ? down : 1, v = (small ? a.v[2] : large ? a.v[1] : a.v[0]) / divisor;
    *fold_out<double>(x, r) = root ? sqrt(v) / scale : v / scale / scale;
  }
};

}  // namespace

template <>
void kernel::variance::run<Here>(const Fold& x, double divisor, bool root) {
  for_float(x.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, double>) {
      const Buffer<double> means(3 * x.results);
      fold_all<T>(x, Means{{}, means.data()});
      fold_all<T>(x, Deviations{{}, means.data(), divisor, root});
    } else {
      fold_all<T>(x, Moments<T>{{}, divisor, root});
    }
  });
}

}  // namespace tutti
