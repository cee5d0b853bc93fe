// The k largest or smallest elements along an axis, sorted; and the gradient's scatter.
#include "tutti/backends/contract/extrema.h"
#include "tutti/backends/contract/view.h"
#include "tutti/backends/cpu/extrema.h"
#include "tutti/backends/cpu/scratch.h"

namespace tutti::kernel {
namespace {

constexpr int64_t few = 64;  // up to here insertion beats sorting the line

/// The positions of the k first in rank, by insertion into a sorted list.
template <bool largest, class T>
void insert(const T* x, int64_t stride, int64_t n, int64_t k, int64_t* at) {
  const auto value = [&](int64_t i) { return load1(x + i * stride); };
  int64_t held = 0;
  for (int64_t i = 0; i < n && k > 0; ++i) {
    if (held == k && !beats<largest>(value(i), value(at[k - 1]))) continue;
    int64_t j = held < k ? held++ : k - 1;
    for (; j > 0 && beats<largest>(value(i), value(at[j - 1])); --j) at[j] = at[j - 1];
    at[j] = i;
  }
}

/// All positions in order of rank: a merge sort, stable. Returns which of the two buffers has them.
template <bool largest, class T>
int64_t* sort(const T* x, int64_t stride, int64_t n, int64_t* a, int64_t* b) {
  for (int64_t i = 0; i < n; ++i) a[i] = i;
  for (int64_t half = 1; half < n; half *= 2) {
    for (int64_t start = 0; start < n; start += 2 * half) {
      const int64_t middle = start + half < n ? start + half : n, end = middle + half < n ? middle + half : n;
      int64_t l = start, r = middle;
      for (int64_t i = start; i < end; ++i) {
        const bool right =
            l == middle || (r < end && beats<largest>(load1(x + a[r] * stride), load1(x + a[l] * stride)));
        b[i] = a[right ? r++ : l++];
      }
    }
    int64_t* t = a;
    a = b;
    b = t;
  }
  return a;
}

template <bool largest, class T>
void rank_lines(const Lines<1>& x, T* values, int64_t* indices, int64_t k, int64_t inner) {
  parallel_for(x.count, 1 + 8192 / (x.width + 1), [&](int64_t begin, int64_t end) {
    const Buffer<int64_t> room(k <= few ? k : 2 * x.width);
    for (int64_t i = begin; i < end; ++i) {
      const T* p = static_cast<const T*>(x.in[0]) + row_offset(x.outer, x.in_outer[0], i);
      int64_t* at = room.data();
      if (k <= few)
        insert<largest>(p, x.in_stride[0], x.width, k, at);
      else
        at = sort<largest>(p, x.in_stride[0], x.width, at, at + x.width);
      const int64_t start = i / inner * inner * k + i % inner;
      for (int64_t j = 0; j < k; ++j) {
        values[start + j * inner] = p[at[j] * x.in_stride[0]];
        indices[start + j * inner] = at[j];
      }
    }
  });
}

}  // namespace

template <>
void topk::run<Here>(const Lines<1>& x, void* values, int64_t* indices, int64_t k, int64_t inner, bool largest) {
  for_any(x.dtype, [&]<class T>(T) {
    if (largest)
      rank_lines<true>(x, static_cast<T*>(values), indices, k, inner);
    else
      rank_lines<false>(x, static_cast<T*>(values), indices, k, inner);
  });
}

template <>
void place::run<Here>(DType dtype, const void* values, const int64_t* indices, void* out, int64_t lines, int64_t k,
                      int64_t width, int64_t inner) {
  for_float(dtype, [&]<class T>(T) {
    const int64_t groups = inner > 0 ? lines / inner : 0;  // the lines of a group are one stretch of memory
    parallel_for(groups, 1 + 32768 / (width * inner + 1), [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g) {
        T* to = static_cast<T*>(out) + g * width * inner;
        __builtin_memset(static_cast<void*>(to), 0, static_cast<size_t>(width * inner) * sizeof(T));
        for (int64_t i = 0; i < k * inner; ++i) {
          const int64_t from = g * k * inner + i;
          to[indices[from] * inner + i % inner] = static_cast<const T*>(values)[from];
        }
      }
    });
  });
}

}  // namespace tutti::kernel
