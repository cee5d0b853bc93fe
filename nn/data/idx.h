// The IDX format of MNIST and its relatives.
#pragma once
#include <string>

#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::data {

/// Reads an IDX file, gzipped or not: uint8, int32, float32 or float64 data of any rank (big-endian on disk), onto the
/// default device unless said otherwise. IoError naming the file and what is wrong (magic, sizes that do not match the
/// data, truncation) before anything large is allocated.
Tensor read_idx(const std::string& path, Device device = default_device());

}  // namespace tutti::data
#pragma GCC visibility pop
