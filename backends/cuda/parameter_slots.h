// For kernel files: passes over all parameters of an optimizer at once. The list is one range of elements, cut into
// pieces by its length alone; a block takes a piece, finds the slots in it and walks them by packs.
#pragma once
#include "tutti/backends/contract/optimizer.h"
#include "tutti/backends/cuda/device.h"

namespace tutti {
namespace {

constexpr int64_t slot_piece = 4096;  // elements: enough blocks for a small model, few partial results for a large one
constexpr int slot_threads = 256;
/// Elements that a thread takes at once: 16 bytes of weights or gradients.
template <class T>
constexpr int pack_size = static_cast<int>(16 / sizeof(T));
static_assert(slot_piece % ParameterSlots::alignment == 0);

inline int64_t slot_pieces(const ParameterSlots& all) { return (all.total + slot_piece - 1) / slot_piece; }

/// f(T{}) for every dtype of the list: a kernel for one type keeps its registers, and most models have one.
template <class F>
void for_dtypes(const ParameterSlots& all, F&& f) {
  for (DType t : {DType::float32, DType::float64, DType::bfloat16, DType::float16})
    if (all.dtypes >> static_cast<int>(t) & 1u) for_float(t, f);
}

/// body(slot, first, last) for the parts of slots of type T in this piece; `first` is a multiple of the alignment.
template <class T, class F>
__device__ void for_parts(const ParameterSlots& all, int64_t piece, F&& body) {
  const int64_t begin = piece * slot_piece, end = begin + slot_piece;
  int64_t low = 0, high = all.count - 1;  // the last slot that begins at or before `begin`
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (all.slots[middle].begin <= begin)
      low = middle;
    else
      high = middle - 1;
  }
  for (int64_t i = low; i < all.count && all.slots[i].begin < end; ++i) {
    const ParameterSlot& slot = all.slots[i];
    const int64_t first = begin > slot.begin ? begin - slot.begin : 0;
    const int64_t last = end - slot.begin < slot.numel ? end - slot.begin : slot.numel;
    if (slot.dtype == dtype_of<T>() && first < last) body(slot, first, last);
  }
}

/// step(a constant V, i) for packs of V elements, then step(a constant 1, i) for what is left, or for all if packs do
/// not fit the addresses.
template <int V, class F>
__device__ void by_packs(int64_t first, int64_t last, bool aligned, F&& step) {
  const int64_t whole = aligned ? first + (last - first) / V * V : first;
  for (int64_t i = first + threadIdx.x * V; i < whole; i += slot_threads * V) step(std::integral_constant<int, V>{}, i);
  for (int64_t i = whole + threadIdx.x; i < last; i += slot_threads) step(std::integral_constant<int, 1>{}, i);
}

template <class T, int V>
__device__ bool fits(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % sizeof(Pack<T, V>) == 0;
}
template <int V, class T>
__device__ Pack<compute_t<T>, V> load_pack(const T* p) {
  const auto stored = *reinterpret_cast<const Pack<T, V>*>(p);
  Pack<compute_t<T>, V> x;
  TUTTI_UNROLL
  for (int j = 0; j < V; ++j) x.v[j] = load(&stored.v[j]);
  return x;
}
template <int V, class T>
__device__ void store_pack(T* p, const Pack<compute_t<T>, V>& x) {
  Pack<T, V> stored;
  TUTTI_UNROLL
  for (int j = 0; j < V; ++j) store(&stored.v[j], x.v[j]);
  *reinterpret_cast<Pack<T, V>*>(p) = stored;
}

}  // namespace
}  // namespace tutti
