// How a product becomes pieces of work: cut by its shape and strides alone.
#pragma once
#include "tutti/backends/contract/simple_product.h"

namespace tutti::kernel {

struct Plan : SimpleProduct {
  // The pieces: row_parts x col_parts x inner_parts of each matrix, or `together` whole matrices at a time. The parts
  // of the inner dimension (of the sum axes, if there are any) are added up in order.
  int64_t row_chunk = 0, col_chunk = 0, inner_chunk = 0, together = 1;
  int64_t row_parts = 1, col_parts = 1, inner_parts = 1;
  // By gemm_few_rows, by oneDNN (if it can), else by our packed kernel: all pieces' b at once, or each its own.
  bool few_rows = false, by_onednn = false, pack_once = false;
};

Plan plan(const Product& product);

}  // namespace tutti::kernel
