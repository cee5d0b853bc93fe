// oneDNN on one thread, whatever OpenMP runtime it came with.
#include "tutti/backends/cpu/onednn.h"

#include <dlfcn.h>
#include <dnnl.h>

#include <algorithm>

namespace tutti::kernel {
namespace {

/// The OpenMP runtime that oneDNN itself is linked with, whichever that is (this library may have another, or none).
struct Runtime {
  int (*threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
  bool usable = false;  // oneDNN can be kept on one thread
  Runtime() {
    if (dnnl_version()->cpu_runtime == DNNL_RUNTIME_OMP) {
      threads = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
      set_threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
      usable = threads && set_threads;
    } else {
      usable = dnnl_version()->cpu_runtime == DNNL_RUNTIME_SEQ;
    }
  }
};
const Runtime& runtime() {
  static const Runtime r;
  return r;
}

/// How oneDNN reads a matrix: as it is or transposed, and the distance between its lines; false if it cannot.
struct Lines {
  char transposed;
  int64_t distance;
};
template <class M>
bool describe(const M& m, Lines& lines) {
  if (m.col_stride == 1 && (m.row_stride >= m.cols || m.rows == 1))
    lines = {'N', m.rows == 1 ? m.cols : m.row_stride};
  else if (m.row_stride == 1 && (m.col_stride >= m.rows || m.cols == 1))
    lines = {'T', m.cols == 1 ? m.rows : m.col_stride};
  else
    return false;
  return true;
}

}  // namespace

OneDnnAlone::OneDnnAlone(bool needed) {
  if (!needed) return;
  const Runtime& r = runtime();
  if (!r.threads) return;
  before_ = r.threads();
  if (before_ != 1) r.set_threads(1);
}
OneDnnAlone::~OneDnnAlone() {
  if (before_ > 1) runtime().set_threads(before_);
}

bool onednn_product(const Block& g) {
  Lines a, b, c;
  if (g.c.dtype != DType::float32 || !runtime().usable || !describe(g.a, a) || !describe(g.b, b) || !describe(g.c, c) ||
      c.transposed == 'T')
    return false;
  // A long sum over the first axis of both: in slices, whose lines the caches and their page tables hold until they are
  // used. Measured: whole it takes 1.3 to 1.6 times as long.
  const int64_t longest = a.transposed == 'T' && b.transposed == 'N' ? 512 : g.a.cols;
  const int64_t slice = equal_parts(g.a.cols, longest);
  const auto *x = static_cast<const float*>(g.a.data), *y = static_cast<const float*>(g.b.data);
  for (int64_t at = 0; at < g.a.cols; at += slice)
    if (dnnl_sgemm(a.transposed, b.transposed, g.c.rows, g.c.cols, std::min(slice, g.a.cols - at), 1,
                   x + at * g.a.col_stride, a.distance, y + at * g.b.row_stride, b.distance,
                   g.accumulate || at > 0 ? 1 : 0, static_cast<float*>(g.c.data), c.distance) != dnnl_success)
      return false;
  return true;
}

}  // namespace tutti::kernel
