// Cross-entropy on logits, forward and backward: each line is read from memory once and no probabilities are stored.
#include "tutti/backends/contract/loss.h"

#include "tutti/backends/cpu/elementwise.h"
#include "tutti/backends/cpu/round.h"
#include "tutti/backends/cpu/scratch.h"
#include "tutti/backends/cpu/softmax.h"

namespace tutti::kernel {
namespace {

TUTTI_INLINE int64_t target_of(const CrossEntropy& o, int64_t line, int64_t classes) {
  const int64_t t = o.target_dtype == DType::int64 ? static_cast<const int64_t*>(o.target)[line]
                                                   : static_cast<const int32_t*>(o.target)[line];
  if (t != o.ignore_index && (t < 0 || t >= classes)) throw_index_error("cross_entropy", "target", t, line, classes);
  return t;
}

template <class T, class C = compute_t<T>>
double sum_of(const T* weight, int64_t n) {
  if (!weight) return static_cast<double>(n);
  double s = 0;
  for (int64_t i = 0; i < n; ++i) s += static_cast<double>(load1(weight + i));
  return s;
}

/// sum_k w[k] (x[k] - shift)
template <class T, class C = compute_t<T>>
double weighted_sum(const T* x, const T* weight, int64_t n, C shift) {
  const batch<C> s(shift);
  double total = 0;
  for (int64_t start = 0; start < n; start += 1024) {
    batch<C> sum(C(0));
    const int64_t end = n - start < 1024 ? n : start + 1024;
    for_batches<C>(end - start, [&](int64_t i, int64_t k) {
      const auto v = load_strided(x + start + i, 1, k, shift) - s;
      sum = weight ? multiply_add(v, load_strided(weight + start + i, 1, k), sum) : sum + v;
    });
    total += static_cast<double>(sum_lanes(sum));
  }
  return total;
}

/// Beyond this a line's logarithm is kept in two numbers.
constexpr double far = 128;

/// out = a exp(x - lse - rest) - b w for one line.
template <class T, class C = compute_t<T>>
void gradient_line(const T* x, T* out, int64_t n, C lse, C rest, C a, C b, const T* weight) {
  const batch<C> shift(lse), last(rest), va(a), vb(b);
  for_batches<C>(n, [&](int64_t i, int64_t k) {
    const auto p = exp_normal<C>((load_strided(x + i, 1, k) - shift) - last) * va;
    store_strided(out + i, 1, k, b == 0 ? p : p - (weight ? vb * load_strided(weight + i, 1, k) : vb));
  });
}

}  // namespace

template <>
void cross_entropy_forward::run<Here>(const Lines<1>& x, const CrossEntropy& o, void* out, void* lse_out,
                                      double* divisor) {
  for_float(x.dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    const T* const weight = static_cast<const T*>(o.weight);
    C* const lse = static_cast<C*>(lse_out);
    const Buffer<double> losses(x.count);
    double* const loss = losses.data();
    const double smooth = o.smoothing / static_cast<double>(x.width), all = sum_of(weight, x.width);
    parallel_for(x.count, 1 + lines_work / x.width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t t = target_of(o, i, x.width);
        lse[i] = lse[x.count + i] = 0;
        loss[i] = 0;
        if (t == o.ignore_index) continue;
        const T* row = static_cast<const T*>(x.in[0]) + row_offset(x.outer, x.in_outer[0], i);
        const C most = largest_of(row, x.width);
        const C log_sum = log1(sum_of_exp(row, x.width, most, [](int64_t, int64_t, auto) {}));
        const bool apart = most > far || most < -far;
        lse[i] = apart ? most : most + log_sum;
        lse[x.count + i] = apart ? log_sum : 0;
        const double right = static_cast<double>(log_sum) - static_cast<double>(load1(row + t) - most);
        loss[i] = (1 - o.smoothing) * right * (weight ? static_cast<double>(load1(weight + t)) : 1);
        if (smooth > 0)
          loss[i] += smooth * (all * static_cast<double>(log_sum) - weighted_sum(row, weight, x.width, most));
      }
    });
    double total = 0;
    *divisor = 0;
    for (int64_t i = 0; i < x.count; ++i) {
      const int64_t t = target_of(o, i, x.width);
      total += loss[i];
      if (t != o.ignore_index) *divisor += weight ? static_cast<double>(load1(weight + t)) : 1;
      if (!o.reduce) store_double(static_cast<T*>(out) + i, loss[i]);
    }
    if (o.reduce) store_double(static_cast<T*>(out), !o.mean ? total : *divisor == 0 ? 0 : total / *divisor);
  });
}

template <>
void cross_entropy_backward::run<Here>(const Lines<1>& x, const CrossEntropy& o, const void* lse, const double* divisor,
                                       const void* dy) {
  for_float(x.dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    const T* const weight = static_cast<const T*>(o.weight);
    const double smooth = o.smoothing / static_cast<double>(x.width), all = sum_of(weight, x.width);
    parallel_for(x.count, 1 + lines_work / x.width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t t = target_of(o, i, x.width);
        T* out = static_cast<T*>(x.out) + row_offset(x.outer, x.out_outer, i);
        if (t == o.ignore_index || (o.mean && *divisor == 0)) {
          for (int64_t k = 0; k < x.width; ++k) store1(out + k, C(0));
          continue;
        }
        const double factor =
            static_cast<double>(load1(static_cast<const T*>(dy) + (o.reduce ? 0 : i))) / (o.mean ? *divisor : 1);
        const double right = (1 - o.smoothing) * (weight ? static_cast<double>(load1(weight + t)) : 1);
        const T* row = static_cast<const T*>(x.in[0]) + row_offset(x.outer, x.in_outer[0], i);
        const C shift = static_cast<const C*>(lse)[i], rest = static_cast<const C*>(lse)[x.count + i];
        gradient_line(row, out, x.width, shift, rest, static_cast<C>(factor * (right + smooth * all)),
                      static_cast<C>(factor * smooth), weight);
        // The target's own entry again, from one number: p - 1 where p is nearly 1 must not be rounded twice.
        const C p = exp1((load1(row + t) - shift) - rest);
        const double own = smooth * (weight ? static_cast<double>(load1(weight + t)) : 1);
        store_double(out + t, factor * ((right + smooth * all) * static_cast<double>(p) - right - own));
      }
    });
  });
}

template <>
void bce_with_logits::run<Here>(const Elements<2>& e) {
  for_real(e.out_dtype, [&]<class T>(T) {
    elementwise<T>(e, [](const batch<T>& x, const batch<T>& t) {
      const batch<T> zero(T(0));
      const auto tail = xsimd::log1p(exp_normal<T>(zero - xsimd::abs(x)));
      return (xsimd::select(x < zero, zero, x) - x * t) + tail;
    });
  });
}

}  // namespace tutti::kernel
