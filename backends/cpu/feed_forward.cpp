// A feed-forward on the CPU: each thread takes some rows through both layers. The middle, of which only f's argument is
// kept, is worked on while it lies in the second-level cache. Many hidden columns take turns, so that their packed
// weights lie there, too.
#include "tutti/backends/contract/feed_forward.h"

#include <algorithm>

#include "tutti/backends/cpu/activate.h"
#include "tutti/backends/cpu/gemm_block.h"
#include "tutti/core/parallel.h"
#include "tutti/core/scratch.h"

namespace tutti::kernel {
namespace {

// Measured on two AVX-512 cores with 2 MB of second-level cache each.
constexpr int64_t most_rows = 256, pieces_wanted = 16, least_rows = 128, most_cols = activate_backward::max_cols;

/// How rows and hidden columns are cut: by the shapes alone, so that the bits do not depend on the threads.
struct Cut {
  explicit Cut(const FeedForward& p)
      : rows(equal_parts(p.rows, std::clamp(p.rows / pieces_wanted, least_rows, most_rows))),
        cols(equal_parts(p.hidden, most_cols)),
        pieces((p.rows + rows - 1) / rows) {}
  int64_t rows, cols, pieces;
};

struct Layers {
  const FeedForward& p;
  size_t element = size_of(p.dtype);

  template <class Void>
  Void* at(Void* base, int64_t elements) const {
    return advance(base, p.dtype, elements);
  }
  ConstMatrix in(const void* data, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride = 1) const {
    return {data, p.dtype, rows, cols, row_stride, col_stride, {}};
  }
  Matrix out(void* data, int64_t rows, int64_t cols, int64_t row_stride) const {
    return {data, p.dtype, rows, cols, row_stride, 1, {}};
  }
  /// body(first row, rows) for all pieces, in parallel.
  template <class Body>
  void for_pieces(const Cut& cut, const Body& body) const {
    parallel_for(cut.pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i * cut.rows, std::min(cut.rows, p.rows - i * cut.rows));
    });
  }
};

/// Two matrices, packed side by side.
struct PackedPair {
  PackedPair(const ConstMatrix& a, const ConstMatrix& b)
      : memory(Packed::bytes(a) + Packed::bytes(b)),
        first(a, memory.data()),
        second(b, static_cast<char*>(memory.data()) + Packed::bytes(a)) {
    parallel_for(first.parts() + second.parts(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (i < first.parts())
          first.pack(i);
        else
          second.pack(i - first.parts());
    });
  }
  Scratch memory;
  Packed first, second;
};

}  // namespace

template <>
void feed_forward::run<target::any_cpu>(const FeedForward& p, void* y, void* given) {
  if (p.rows == 0) return;
  const Layers l{p};
  const Cut cut(p);
  const auto middle = activate::on(cpu);
  for (int64_t col = 0; col < p.hidden; col += cut.cols) {
    const int64_t cols = std::min(cut.cols, p.hidden - col);
    const PackedPair layers(l.in(l.at(p.up, col * p.in), p.in, cols, 1, p.in),
                            l.in(l.at(p.down, col), cols, p.out, 1, p.hidden));
    l.for_pieces(cut, [&](int64_t row, int64_t rows) {
      const Scratch scratch(static_cast<size_t>(rows * cut.cols * (given ? 1 : 2)) * l.element);
      void* const result = scratch.data();
      void* const u = given ? l.at(given, row * p.hidden + col) : l.at(result, rows * cut.cols);
      const int64_t stride = given ? p.hidden : cut.cols;
      layers.first.multiply(l.in(l.at(p.x, row * p.in), rows, p.in, p.in), 0, l.out(u, rows, cols, stride), nullptr,
                            false);
      middle({p.f, p.dtype, rows, cols, stride}, u, l.at(p.up_bias, col), result, cut.cols);
      layers.second.multiply(l.in(result, rows, cols, cut.cols), 0, l.out(l.at(y, row * p.out), rows, p.out, p.out),
                             col ? nullptr : p.down_bias, col > 0);
    });
  }
}

template <>
void feed_forward_backward::run<target::any_cpu>(const FeedForward& p, const void* dy, const void* given, void* d_given,
                                                 void* d_up_bias, void* dx, void* result) {
  if (p.rows == 0) return;
  const Layers l{p};
  const Cut cut(p);
  const auto middle = activate_backward::on(cpu);
  const Scratch sums(d_up_bias ? static_cast<size_t>(cut.pieces * p.hidden) * sizeof(double) : 0);
  for (int64_t col = 0; col < p.hidden; col += cut.cols) {
    const int64_t cols = std::min(cut.cols, p.hidden - col);
    const PackedPair layers(l.in(l.at(p.down, col), p.out, cols, p.hidden),
                            l.in(l.at(p.up, col * p.in), dx ? cols : 0, p.in, p.in));
    l.for_pieces(cut, [&](int64_t row, int64_t rows) {
      double* const sum = d_up_bias ? static_cast<double*>(sums.data()) + row / cut.rows * p.hidden + col : nullptr;
      const int64_t at = row * p.hidden + col;
      void* const du = l.at(d_given, at);
      layers.first.multiply(l.in(l.at(dy, row * p.out), rows, p.out, p.out), 0, l.out(du, rows, cols, p.hidden),
                            nullptr, false);
      middle({p.f, p.dtype, rows, cols, p.hidden}, l.at(given, at), du, l.at(result, at), sum);
      if (dx)
        layers.second.multiply(l.in(du, rows, cols, p.hidden), 0, l.out(l.at(dx, row * p.in), rows, p.in, p.in),
                               nullptr, col > 0);
    });
  }
  if (!d_up_bias) return;
  const auto add_up = [&]<class T>(T* to) {
    for (int64_t c = 0; c < p.hidden; ++c) {
      double total = 0;
      for (int64_t i = 0; i < cut.pieces; ++i) total += static_cast<const double*>(sums.data())[i * p.hidden + c];
      to[c] = static_cast<T>(total);
    }
  };
  if (p.dtype == DType::float32)
    add_up(static_cast<float*>(d_up_bias));
  else
    add_up(static_cast<double*>(d_up_bias));
}

}  // namespace tutti::kernel
