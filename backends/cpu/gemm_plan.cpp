// How a product is cut; the sizes were measured.
#include "tutti/backends/cpu/gemm_plan.h"

#include <algorithm>

#include "tutti/backends/cpu/gemm_block.h"

namespace tutti::kernel {
namespace {

/// Measured on two AVX-512 and two AVX2 cores: from about 4 MFLOP a piece is worth a thread, and sixteen pieces keep
/// two to six threads evenly busy.
constexpr int64_t least_work = int64_t{4} << 20, pieces_wanted = 16;

/// The least that pieces are worth cutting to.
struct Least {
  int64_t rows, cols, inner;
};
/// Packing its columns costs a piece as much as 30 of its rows do.
constexpr Least least_packed{96, 64, 512};
/// oneDNN runs pieces of 200 to 800 rows, or 32 x 128 with a long inner dimension, as fast as whole products.
constexpr Least least_onednn{32, 128, 256};
/// oneDNN needs a fifth longer for pieces of 130 to 200 rows than for twice as many, and packed products pack once for
/// more rows: once there are eight pieces, rows stay together.
constexpr int64_t pieces_enough = 8, rows_together = 224;
/// A small result of a long sum is cut into parts of the sum first: each reads long lines of both operands, once.
constexpr int64_t small_result = int64_t{1} << 17;

/// Measured against packing, limited to sse2, avx2 and avx512: dot products win up to 48 rows and more, 12 where every
/// other line straddles cache lines. A short sum is not worth its additions across lanes.
constexpr int64_t most_few_rows = 32, most_few_rows_unaligned = 12, least_few_inner = 96;
/// Fewer rows wait for b to come from memory: a piece costs what it would with so many. Columns in whole tiles.
constexpr int64_t rows_in_flight = 8, few_rows_cols = 24;
constexpr int64_t least_few_work = int64_t{3} << 19;

bool few_rows(const Plan& p) {
  const bool aligned = p.a.cols * static_cast<int64_t>(size_of(p.c.dtype)) % 64 == 0;
  return p.c.rows <= (aligned ? most_few_rows : most_few_rows_unaligned) && p.a.cols >= least_few_inner &&
         p.c.cols >= few_rows_cols && p.a.col_stride == 1 && p.b.row_stride == 1;
}

int64_t halved(int64_t x, int64_t multiple) { return ((x + 1) / 2 + multiple - 1) / multiple * multiple; }
int64_t parts(int64_t size, int64_t chunk) { return chunk > 0 ? (size + chunk - 1) / chunk : 1; }

void cut(Plan& p) {
  const int64_t inner = p.sums > 1 ? p.sums : p.a.cols;  // what is cut along the inner dimension
  const int64_t inner_unit = p.sums > 1 ? p.a.cols : 1;
  p.row_chunk = p.c.rows;
  p.col_chunk = p.c.cols;
  p.inner_chunk = inner;
  const int64_t rows = p.few_rows ? std::max(p.c.rows, rows_in_flight) : p.c.rows;
  Least least = p.by_onednn ? least_onednn : least_packed;
  if (p.few_rows) least.cols = few_rows_cols;
  // In double, which cannot overflow; every number here is exact or an estimate that decides the same way everywhere.
  const double each =
      2.0 * static_cast<double>(rows) * static_cast<double>(p.c.cols) * static_cast<double>(inner * inner_unit);
  const double target = std::max(each * static_cast<double>(p.matrices) / pieces_wanted,
                                 static_cast<double>(p.few_rows ? least_few_work : least_work));
  if (each <= target) {
    p.together = each > 0 ? static_cast<int64_t>(std::min(target / each, 1e9)) : p.matrices;
    p.together = std::max<int64_t>(p.together, 1);
    return;
  }
  const auto work = [&] {
    return 2.0 * static_cast<double>(p.few_rows ? rows : p.row_chunk) * static_cast<double>(p.col_chunk) *
           static_cast<double>(p.inner_chunk * inner_unit);
  };
  if (!p.few_rows && p.c.rows * p.c.cols <= small_result)
    while (work() > 1.25 * target && p.inner_chunk * inner_unit >= 2 * least.inner && p.inner_chunk > 1 &&
           p.matrices * parts(inner, p.inner_chunk) < pieces_enough)
      p.inner_chunk = halved(p.inner_chunk, 1);
  while (work() > 1.25 * target) {
    const bool tall = p.row_chunk >= 2 * least.rows, broad = p.col_chunk >= 2 * least.cols;
    if (tall && (2 * p.row_chunk >= p.col_chunk || !broad)) {
      if (p.row_chunk < 2 * rows_together &&
          p.matrices * parts(p.c.rows, p.row_chunk) * parts(p.c.cols, p.col_chunk) * parts(inner, p.inner_chunk) >=
              pieces_enough)
        break;
      p.row_chunk = halved(p.row_chunk, 4);
    } else if (broad)
      p.col_chunk = halved(p.col_chunk, p.few_rows ? few_rows_cols : gemm_pack::unit);
    else if (p.inner_chunk * inner_unit >= 2 * least.inner && p.inner_chunk > 1)
      p.inner_chunk = halved(p.inner_chunk, 1);
    else
      break;
  }
  p.row_parts = parts(p.c.rows, p.row_chunk);
  p.col_parts = parts(p.c.cols, p.col_chunk);
  p.inner_parts = parts(inner, p.inner_chunk);
}

}  // namespace

Plan plan(const Product& product) {
  Plan p{simplified(product)};
  if (p.matrices > 0 && p.c.rows > 0 && p.c.cols > 0 && p.sums > 0 && p.a.cols > 0) {
    p.few_rows = few_rows(p);
    p.by_onednn = !p.few_rows && p.c.dtype == DType::float32 && p.a.col_stride != 1 && p.a.row_stride == 1;
    cut(p);
    // Worth it for two pieces that need the same columns, and no more memory than there is anyway.
    p.pack_once = !p.few_rows && !p.by_onednn && p.sums == 1 && p.inner_parts == 1 && p.row_parts > 1 &&
                  p.b.rows * p.b.cols <= p.c.rows * (p.a.cols + p.c.cols);
  }
  return p;
}

}  // namespace tutti::kernel
