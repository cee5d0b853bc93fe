// Sums over any axes.
#include "tutti/backends/contract/reduce.h"

#include "tutti/backends/contract/view.h"
#include "tutti/backends/cpu/simd.h"

namespace tutti::kernel {

template <>
void sum::run<Here>(const Fold& x, double scale) {
  for_any(x.dtype, [&]<class T>(T) {
    constexpr bool integer = std::is_integral_v<T>;
    using Wide = std::conditional_t<integer, int64_t, double>;
    parallel_for(x.results, 1 + 16384 / (x.count + 1), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* p = static_cast<const T*>(x.data) + row_offset(x.kept, x.kept_strides, r);
        Wide total = 0;
        for (int64_t i = 0; i < x.count; ++i)
          total += static_cast<Wide>(load1(p + row_offset(x.folded, x.folded_strides, i)));
        const int64_t at = row_offset(x.kept, x.out_strides, r);
        if constexpr (integer) {
          if (x.out_dtype == DType::int64)
            static_cast<int64_t*>(x.out)[at] = total;
          else
            static_cast<float*>(x.out)[at] = static_cast<float>(static_cast<double>(total) * scale);
        } else {
          store1(static_cast<T*>(x.out) + at, static_cast<compute_t<T>>(total * scale));
        }
      }
    });
  });
}

}  // namespace tutti::kernel
