// nvcuda::wmma on the CPU. Which element of a fragment is which of the matrix is scrambled on purpose: a GPU does not
// say it either. The rules of the toolkit (pointers aligned to 32 bytes, a pitch that is a multiple of 16 bytes) are
// checked.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "block.h"
#include "ptx.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}
template <class T>
struct stored {
  using type = T;
};
template <>
struct stored<precision::tf32> {
  using type = float;
};

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static constexpr bool shapes = (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32);
  static_assert(std::is_same_v<T, precision::tf32>
                    ? m == 16 && n == 16 && k == 8
                    : shapes && (k == 16 || (k == 8 && std::is_same_v<Use, accumulator>)),
                "no such shape on a GPU");
  static constexpr int rows = std::is_same_v<Use, matrix_b> ? k : m, columns = std::is_same_v<Use, matrix_a> ? k : n;
  static constexpr int num_elements = rows * columns / 32;
  using element_type = T;
  using storage_element_type = typename stored<T>::type;
  storage_element_type x[num_elements];
  /// Which element of the matrix x[i] of a lane is: row * columns + column. One to one, as 37 is odd.
  static constexpr int at(int lane, int i) { return (i * 32 + (lane ^ (i * 5 & 31))) * 37 % (rows * columns); }
};

inline float __float_to_tf32(float x) {
  const unsigned bits = ptx::to_tf32(x);
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <class F, class T>
EMULATOR_SILENT void fill_fragment(F& f, T value) {
  for (auto& e : f.x) e = value;
}

namespace emulated {
/// What the tensor core sees of a float: it ignores the last 13 bits.
inline float cut(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits &= 0xffffe000u;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
template <class T>
EMULATOR_SILENT void check(const T* p, unsigned pitch, emulator::Site site) {
  if (reinterpret_cast<uintptr_t>(p) % 32) emulator::fail("wmma: a matrix that is not aligned to 32 bytes", site);
  if (pitch * sizeof(T) % 16) emulator::fail("wmma: a pitch that is no multiple of 16 bytes", site);
}
template <class F, class T>
void load(F& f, const T* p, unsigned pitch, bool by_columns, emulator::Site site) {
  check(p, pitch, site);
  emulator::converge(site);
  for (int i = 0; i < F::num_elements; ++i) {
    const unsigned e = static_cast<unsigned>(F::at(emulator::lane(), i)), r = e / F::columns, c = e % F::columns;
    f.x[i] = by_columns ? p[c * pitch + r] : p[r * pitch + c];
  }
}
}  // namespace emulated

template <class Use, int m, int n, int k, class T, class Layout>
void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f, const typename stored<T>::type* p, unsigned pitch,
                      EMULATOR_SITE) {
  emulated::load(f, p, pitch, std::is_same_v<Layout, col_major>, site);
}
template <int m, int n, int k, class T>
void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const T* p, unsigned pitch, layout_t layout,
                      EMULATOR_SITE) {
  emulated::load(f, p, pitch, layout == mem_col_major, site);
}
template <int m, int n, int k, class T>
void store_matrix_sync(T* p, const fragment<accumulator, m, n, k, T>& f, unsigned pitch, layout_t layout,
                       EMULATOR_SITE) {
  emulated::check(p, pitch, site);
  emulator::converge(site);
  using F = fragment<accumulator, m, n, k, T>;
  for (int i = 0; i < F::num_elements; ++i) {
    const unsigned e = static_cast<unsigned>(F::at(emulator::lane(), i)), r = e / F::columns, c = e % F::columns;
    (layout == mem_col_major ? p[c * pitch + r] : p[r * pitch + c]) = f.x[i];
  }
}

template <int m, int n, int k, class C, class T, class LayoutA, class LayoutB>
EMULATOR_SILENT void mma_sync(fragment<accumulator, m, n, k, C>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                              const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                              const fragment<accumulator, m, n, k, C>& c, EMULATOR_SITE) {
  using A = fragment<matrix_a, m, n, k, T, LayoutA>;
  using B = fragment<matrix_b, m, n, k, T, LayoutB>;
  using Sum = fragment<accumulator, m, n, k, C>;
  struct Operands {
    const A* a;
    const B* b;
    const Sum* c;
  } operands{&a, &b, &c};
  emulator::collective(
      ~0u,
      [](emulator::Lanes& lanes) EMULATOR_SILENT {
        float ma[m * k], mb[k * n], mc[m * n];
        const auto exact = [](float v) { return std::is_same_v<T, precision::tf32> ? emulated::cut(v) : v; };
        for (int l = 0; l < 32; ++l) {
          const auto& in = *static_cast<const Operands*>(lanes.in[l]);
          for (int i = 0; i < A::num_elements; ++i) ma[A::at(l, i)] = exact(static_cast<float>(in.a->x[i]));
          for (int i = 0; i < B::num_elements; ++i) mb[B::at(l, i)] = exact(static_cast<float>(in.b->x[i]));
          for (int i = 0; i < Sum::num_elements; ++i) mc[Sum::at(l, i)] = static_cast<float>(in.c->x[i]);
        }
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < k; ++j)
            for (int q = 0; q < n; ++q) mc[i * n + q] += ma[i * k + j] * mb[j * n + q];
        for (int l = 0; l < 32; ++l)
          for (int i = 0; i < Sum::num_elements; ++i)
            static_cast<Sum*>(lanes.out[l])->x[i] = static_cast<C>(mc[Sum::at(l, i)]);
      },
      &operands, &d, 0, site);
}

}  // namespace nvcuda::wmma
