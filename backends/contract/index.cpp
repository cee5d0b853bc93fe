#include "tutti/backends/contract/index.h"

#include "tutti/core/error.h"

namespace tutti::kernel {

void throw_no_half(const char* kernel, DType dtype) {
  throw DTypeError(message("kernel ", kernel, ": no sums of ", dtype, "; add in float32"));
}

}  // namespace tutti::kernel
