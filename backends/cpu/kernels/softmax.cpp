// Softmax and log-softmax, forward and backward, and log-sum-exp.
#include "tutti/backends/contract/softmax.h"

#include "tutti/backends/cpu/softmax.h"

namespace tutti::kernel {
namespace {

template <class T, class C = compute_t<T>>
void forward_line(const T* x, T* y, int64_t n, bool log) {
  const C most = largest_of(x, n);
  if (log) {
    const C sum = sum_of_exp(x, n, most, [](int64_t, int64_t, auto) {});
    const batch<C> shift(most), offset(log1(sum));
    for_batches<C>(
        n, [&](int64_t i, int64_t k) { store_strided(y + i, 1, k, (load_strided(x + i, 1, k) - shift) - offset); });
    return;
  }
  if constexpr (is_half<T>) {  // the sum first, so that an exponential is rounded once
    const batch<C> shift(most), scale(1 / sum_of_exp(x, n, most, [](int64_t, int64_t, auto) {}));
    for_batches<C>(n, [&](int64_t i, int64_t k) {
      store_strided(y + i, 1, k, exp_normal<C>(load_strided(x + i, 1, k) - shift) * scale);
    });
  } else {
    const batch<C> scale(1 /
                         sum_of_exp(x, n, most, [y](int64_t i, int64_t k, auto e) { store_strided(y + i, 1, k, e); }));
    for_batches<C>(n, [&](int64_t i, int64_t k) { store_strided(y + i, 1, k, load_strided(y + i, 1, k) * scale); });
  }
}

template <class T, class C = compute_t<T>>
void forward_block(const Line<T, 1>& l, int64_t width, int64_t xs, int64_t ys, bool log) {
  alignas(64) C most[lines_block], sum[lines_block];
  block_statistics(l, width, xs, most, sum);
  for (int64_t j = 0; j < l.n; ++j) sum[j] = log ? log1(sum[j]) : 1 / sum[j];
  for (int64_t i = 0; i < width; ++i)
    for_batches<C>(l.n, [&](int64_t j, int64_t n) {
      const auto x =
          load_strided(l.in[0] + i * xs + j * l.in_step[0], l.in_step[0], n) - batch<C>::load_aligned(most + j);
      const auto s = batch<C>::load_aligned(sum + j);
      store_strided(l.out + i * ys + j * l.out_step, l.out_step, n, log ? x - s : exp_normal<C>(x) * s);
    });
}

template <class T, class C = compute_t<T>>
void backward_line(const T* y, const T* dy, T* dx, int64_t n, bool log) {
  batch<C> sum(C(0));
  for_batches<C>(n, [&](int64_t i, int64_t k) {
    const auto d = load_strided(dy + i, 1, k);
    sum = log ? sum + d : multiply_add(load_strided(y + i, 1, k), d, sum);
  });
  const batch<C> s(sum_lanes(sum));
  for_batches<C>(n, [&](int64_t i, int64_t k) {
    const auto p = load_strided(y + i, 1, k), d = load_strided(dy + i, 1, k);
    store_strided(dx + i, 1, k, log ? d - exp_normal<C>(p) * s : p * (d - s));
  });
}

template <class T, class C = compute_t<T>>
void backward_block(const Line<T, 2>& l, int64_t width, int64_t ys, int64_t ds, int64_t xs, bool log) {
  alignas(64) C sum[lines_block];
  const auto y = [&](int64_t i, int64_t j, int64_t n) {
    return load_strided(l.in[0] + i * ys + j * l.in_step[0], l.in_step[0], n);
  };
  const auto dy = [&](int64_t i, int64_t j, int64_t n) {
    return load_strided(l.in[1] + i * ds + j * l.in_step[1], l.in_step[1], n);
  };
  for (int64_t i = 0; i < width; ++i)
    for_batches<C>(l.n, [&](int64_t j, int64_t n) {
      const auto before = i ? batch<C>::load_aligned(sum + j) : batch<C>(C(0)), d = dy(i, j, n);
      (log ? before + d : multiply_add(y(i, j, n), d, before)).store_aligned(sum + j);
    });
  for (int64_t i = 0; i < width; ++i)
    for_batches<C>(l.n, [&](int64_t j, int64_t n) {
      const auto s = batch<C>::load_aligned(sum + j), p = y(i, j, n), d = dy(i, j, n);
      store_strided(l.out + i * xs + j * l.out_step, l.out_step, n, log ? d - exp_normal<C>(p) * s : p * (d - s));
    });
}

}  // namespace

template <>
void softmax_forward::run<Here>(const Lines<1>& x, bool log) {
  for_float(x.dtype, [&]<class T>(T) {
    for_lines<T>(
        x, [&](const Line<T, 1>& l) { forward_line(l.in[0], l.out, x.width, log); },
        [&](const Line<T, 1>& l) { forward_block(l, x.width, x.in_stride[0], x.out_stride, log); });
  });
}

template <>
void softmax_backward::run<Here>(const Lines<2>& x, bool log) {
  for_float(x.dtype, [&]<class T>(T) {
    for_lines<T>(
        x, [&](const Line<T, 2>& l) { backward_line(l.in[0], l.in[1], l.out, x.width, log); },
        [&](const Line<T, 2>& l) { backward_block(l, x.width, x.in_stride[0], x.in_stride[1], x.out_stride, log); });
  });
}

template <>
void log_sum_exp::run<Here>(const Lines<1>& x, void* out) {
  for_float(x.dtype, [&]<class T>(T) {
    using C = compute_t<T>;
    T* y = static_cast<T*>(out);
    const auto finite = [](C m) { return m - m == 0 ? m : C(0); };
    for (int64_t i = 0; x.width == 0 && i < x.count; ++i) store1(y + i, -infinity<C>);
    for_lines<T>(
        x,
        [&](const Line<T, 1>& l) {
          const C shift = finite(largest_of(l.in[0], x.width));
          store1(y + l.first, shift + log1(sum_of_exp(l.in[0], x.width, shift, [](int64_t, int64_t, auto) {})));
        },
        [&](const Line<T, 1>& l) {
          alignas(64) C most[lines_block], sum[lines_block];
          block_statistics(l, x.width, x.in_stride[0], most, sum);
          for (int64_t j = 0; j < l.n; ++j) store1(y + l.first + j, finite(most[j]) + log1(sum[j]));
        });
  });
}

}  // namespace tutti::kernel
