// oneDNN's float32 product, on the calling thread alone.
#pragma once
#include "tutti/backends/cpu/gemm_block.h"

namespace tutti::kernel {

/// While one lives that is `needed`, oneDNN keeps the work of this thread's calls on this thread. (By itself it would
/// share one call among as many threads as there are, and round differently for each number of them.)
class OneDnnAlone {
 public:
  explicit OneDnnAlone(bool needed);
  ~OneDnnAlone();
  OneDnnAlone(const OneDnnAlone&) = delete;
  OneDnnAlone& operator=(const OneDnnAlone&) = delete;

 private:
  int before_ = 0;
};

/// c = a b or c += a b (the bias is not looked at). False if oneDNN cannot: another dtype, a matrix with gaps along
/// both axes or with overlapping lines, no memory. Its instruction set is its own choice: TUTTI_ISA does not change it.
bool onednn_product(const Block& block);

}  // namespace tutti::kernel
