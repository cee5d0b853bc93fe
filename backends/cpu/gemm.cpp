// Matrix products on the CPU: each piece of the plan by one thread, with our packed kernel, our dot products, or oneDNN
// where the plan says so.
#include "tutti/backends/contract/gemm.h"

#include <optional>
#include <type_traits>

#include "tutti/backends/cpu/gemm_block.h"
#include "tutti/backends/cpu/gemm_plan.h"
#include "tutti/backends/cpu/onednn.h"
#include "tutti/core/detail/signals.h"
#include "tutti/core/parallel.h"
#include "tutti/core/scratch.h"

namespace tutti::kernel {
namespace {

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

struct Runner {
  const Plan& p;
  void* packed = nullptr;  // every matrix's b, if the plan says pack_once
  decltype(gemm_few_rows::on(cpu)) few_rows = gemm_few_rows::on(cpu);
  decltype(gemm_add::on(cpu)) add = gemm_add::on(cpu);

  void block(const Block& g) const {
    if (p.few_rows)
      few_rows(g);
    else if (!p.by_onednn || !onednn_product(g))
      multiply(g);
    else if (g.bias)
      add(g.c, g.bias, 0);  // measured: cheaper than oneDNN adding to a c filled with it
  }

  Packed packed_b(int64_t matrix) const {
    ConstMatrix b = p.b;
    b.data = advance(b.data, b.dtype, row_offset(p.kept.shape, p.kept.b, matrix));
    return {b, static_cast<char*>(packed) + static_cast<size_t>(matrix) * Packed::bytes(b)};
  }
  void pack() const {
    const int64_t parts = packed_b(0).parts();
    parallel_for(p.matrices * parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) packed_b(i / parts).pack(i % parts);
    });
  }

  /// One piece of matrix `matrix`; c is where it goes.
  void piece(int64_t matrix, int64_t row, int64_t rows, int64_t col, int64_t cols, int64_t inner, int64_t inners,
             const Matrix& c, const void* bias, bool accumulate) const {
    const DType dtype = c.dtype;
    const Plan::Axes &k = p.kept, &s = p.summed;
    ConstMatrix a = p.a, b = p.b;
    a.data = advance(a.data, dtype, row_offset(k.shape, k.a, matrix));
    b.data = advance(b.data, dtype, row_offset(k.shape, k.b, matrix));
    if (packed) {
      packed_b(matrix).multiply(part(a, row, rows, 0, a.cols), col, c, bias, accumulate);
      return;
    }
    if (p.sums == 1) {
      block({part(a, row, rows, inner, inners), part(b, inner, inners, col, cols), c, bias, accumulate});
      return;
    }
    for (int64_t i = inner; i < inner + inners; ++i) {
      ConstMatrix ai = part(a, row, rows, 0, a.cols), bi = part(b, 0, b.rows, col, cols);
      ai.data = advance(ai.data, dtype, row_offset(s.shape, s.a, i));
      bi.data = advance(bi.data, dtype, row_offset(s.shape, s.b, i));
      block({ai, bi, c, i == inner ? bias : nullptr, accumulate || i > inner});
    }
  }

  Matrix result(int64_t matrix) const {
    Matrix c = p.c;
    c.data = advance(c.data, c.dtype, row_offset(p.kept.shape, p.kept.c, matrix));
    return c;
  }
  const void* bias(int64_t matrix, int64_t col) const {
    return advance(p.bias, p.c.dtype, row_offset(p.kept.shape, p.kept.bias, matrix) + col);
  }

  void whole_matrices() const {
    const int64_t inners = p.sums > 1 ? p.sums : p.a.cols;
    parallel_for(p.matrices, p.together, [&](int64_t begin, int64_t end) {
      const OneDnnAlone guard(p.by_onednn);
      for (int64_t i = begin; i < end; ++i)
        piece(i, 0, p.c.rows, 0, p.c.cols, 0, inners, result(i), bias(i, 0), p.accumulate);
    });
  }

  void parts() const {
    const int64_t all_inner = p.sums > 1 ? p.sums : p.a.cols, area = p.c.rows * p.c.cols;
    const int64_t tiles = p.row_parts * p.col_parts, per_matrix = tiles * p.inner_parts;
    // Parts of the inner dimension after the first go to memory of their own, and are added in order afterwards.
    const Scratch partial(static_cast<size_t>(p.matrices * (p.inner_parts - 1) * area) * size_of(p.c.dtype));
    const auto partial_of = [&](int64_t matrix, int64_t inner_part) {
      return Matrix{advance(partial.data(), p.c.dtype, (matrix * (p.inner_parts - 1) + inner_part - 1) * area),
                    p.c.dtype,
                    p.c.rows,
                    p.c.cols,
                    p.c.cols,
                    1,
                    {}};
    };
    parallel_for(p.matrices * per_matrix, 1, [&](int64_t begin, int64_t end) {
      const OneDnnAlone guard(p.by_onednn);
      for (int64_t at = begin; at < end; ++at) {
        const int64_t matrix = at / per_matrix, inner_part = at % per_matrix / tiles, tile = at % tiles;
        const int64_t row = tile / p.col_parts * p.row_chunk, col = tile % p.col_parts * p.col_chunk;
        const int64_t inner = inner_part * p.inner_chunk;
        const int64_t rows = least(p.row_chunk, p.c.rows - row), cols = least(p.col_chunk, p.c.cols - col);
        const Matrix c = inner_part ? partial_of(matrix, inner_part) : result(matrix);
        piece(matrix, row, rows, col, cols, inner, least(p.inner_chunk, all_inner - inner),
              part(c, row, rows, col, cols), inner_part ? nullptr : bias(matrix, col), !inner_part && p.accumulate);
      }
    });
    if (p.inner_parts == 1) return;
    const int64_t lines = p.c.rows * p.matrices;
    parallel_for(lines, 1 + 32768 / (p.c.cols * p.inner_parts), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t matrix = at / p.c.rows, row = at % p.c.rows;
        const Matrix c = part(result(matrix), row, 1, 0, p.c.cols);
        for (int64_t i = 1; i < p.inner_parts; ++i) add(c, part(partial_of(matrix, i), row, 1, 0, p.c.cols).data, 0);
      }
    });
  }

  /// Nothing to sum: zeros or the bias.
  void fill() const {
    const auto all = [&]<class T>(T) {
      for (int64_t i = 0; i < p.matrices; ++i) {
        const Matrix c = result(i);
        const auto* from = static_cast<const T*>(bias(i, 0));
        for (int64_t r = 0; r < c.rows; ++r)
          for (int64_t j = 0; j < c.cols; ++j)
            static_cast<T*>(c.data)[r * c.row_stride + j * c.col_stride] = from ? from[j] : T{0};
      }
    };
    if (p.accumulate) return;
    if (p.c.dtype == DType::float32)
      all(float{});
    else
      all(double{});
  }
};

}  // namespace

template <>
void gemm::run<target::any_cpu>(const Product& product) {
  const Plan p = plan(product);
  if (p.matrices == 0 || p.c.rows == 0 || p.c.cols == 0) return;
  const Scratch packed(p.pack_once ? static_cast<size_t>(p.matrices) * Packed::bytes(p.b) : 0);
  const Runner runner{p, p.pack_once ? packed.data() : nullptr};
  if (p.pack_once) runner.pack();
  // oneDNN's sgemm points the stack pointer into the heap while it works: a signal then, and the kernel would write the
  // handler's frame over whatever lies there. (Workers of the pool never take one.)
  std::optional<SignalsHeld> held;
  if (p.by_onednn) held.emplace();
  if (p.a.cols == 0 || p.sums == 0)
    runner.fill();
  else if (p.row_parts * p.col_parts * p.inner_parts == 1)
    runner.whole_matrices();
  else
    runner.parts();
}

}  // namespace tutti::kernel
