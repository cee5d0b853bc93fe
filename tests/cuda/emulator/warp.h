// Warp collectives: shuffles, votes, matches, reductions.
#pragma once
#include <concepts>
#include <cstring>

#include "block.h"

namespace emulator {

template <class T>
EMULATOR_SILENT void shuffle_lanes(Lanes& lanes) {
  for (int i = 0; i < 32; ++i) {
    if (!lanes.has(i)) continue;
    const int from = lanes.parameter[i];
    if (lanes.has(from))
      std::memcpy(lanes.out[i], lanes.in[from], sizeof(T));
    else
      std::memset(lanes.out[i], 0xff, sizeof(T));  // undefined on a GPU
  }
}
template <class T>
EMULATOR_SILENT T shuffle(unsigned mask, T value, int from, Site site) {
  T result;
  collective(mask, shuffle_lanes<T>, &value, &result, from, site);
  return result;
}
/// Every lane of the mask gets fold(all their values).
template <class T, class Fold>
EMULATOR_SILENT T reduce_lanes(unsigned mask, T value, Fold, Site site) {
  T result;
  collective(
      mask,
      [](Lanes& lanes) EMULATOR_SILENT {
        T all{};
        bool first = true;
        for (int i = 0; i < 32; ++i) {
          if (!lanes.has(i)) continue;
          const T v = *static_cast<const T*>(lanes.in[i]);
          all = first ? v : Fold{}(all, v);
          first = false;
        }
        for (int i = 0; i < 32; ++i)
          if (lanes.has(i)) *static_cast<T*>(lanes.out[i]) = all;
      },
      &value, &result, 0, site);
  return result;
}
EMULATOR_SILENT inline void ballot_lanes(Lanes& lanes) {
  unsigned bits = 0;
  for (int i = 0; i < 32; ++i)
    if (lanes.has(i) && lanes.parameter[i]) bits |= 1u << i;
  for (int i = 0; i < 32; ++i)
    if (lanes.has(i)) *static_cast<unsigned*>(lanes.out[i]) = bits;
}
template <class T>
EMULATOR_SILENT void match_lanes(Lanes& lanes) {
  for (int i = 0; i < 32; ++i) {
    if (!lanes.has(i)) continue;
    unsigned bits = 0;
    for (int j = 0; j < 32; ++j)
      if (lanes.has(j) && std::memcmp(lanes.in[i], lanes.in[j], sizeof(T)) == 0) bits |= 1u << j;
    *static_cast<unsigned*>(lanes.out[i]) = bits;
  }
}
struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Most {
  template <class T>
  T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
template <class T>
concept Reducible = std::same_as<T, int> || std::same_as<T, unsigned>;

}  // namespace emulator

EMULATOR_SILENT inline void __syncwarp(unsigned mask = ~0u, EMULATOR_SITE) { emulator::synchronize_warp(mask, site); }

template <class T>
EMULATOR_SILENT T __shfl_sync(unsigned mask, T value, int from, int width = 32, EMULATOR_SITE) {
  return emulator::shuffle(mask, value, (emulator::lane() & ~(width - 1)) | (from & (width - 1)), site);
}
template <class T>
EMULATOR_SILENT T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, EMULATOR_SITE) {
  const int me = emulator::lane(), from = me ^ bits;
  return emulator::shuffle(mask, value, from >= (me & ~(width - 1)) + width ? me : from, site);
}
template <class T>
EMULATOR_SILENT T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32, EMULATOR_SITE) {
  const int me = emulator::lane(), d = static_cast<int>(distance);
  return emulator::shuffle(mask, value, (me & (width - 1)) + d >= width ? me : me + d, site);
}
template <class T>
EMULATOR_SILENT T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32, EMULATOR_SITE) {
  const int me = emulator::lane(), d = static_cast<int>(distance);
  return emulator::shuffle(mask, value, (me & (width - 1)) - d < 0 ? me : me - d, site);
}
EMULATOR_SILENT inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATOR_SITE) {
  unsigned result;
  emulator::collective(mask, emulator::ballot_lanes, nullptr, &result, predicate != 0, site);
  return result;
}
EMULATOR_SILENT inline int __any_sync(unsigned mask, int predicate, EMULATOR_SITE) {
  return __ballot_sync(mask, predicate, site) != 0;
}
EMULATOR_SILENT inline int __all_sync(unsigned mask, int predicate, EMULATOR_SITE) {
  return __ballot_sync(mask, predicate, site) == mask;
}
template <class T>
EMULATOR_SILENT unsigned __match_any_sync(unsigned mask, T value, EMULATOR_SITE) {
  unsigned result;
  emulator::collective(mask, emulator::match_lanes<T>, &value, &result, 0, site);
  return result;
}
template <class T>
EMULATOR_SILENT unsigned __match_all_sync(unsigned mask, T value, int* all, EMULATOR_SITE) {
  const bool same = __match_any_sync(mask, value, site) == mask;
  *all = same;
  return same ? mask : 0;
}
// As in the toolkit: integers of 32 bits only.
#define EMULATOR_REDUCE(name, Fold)                                     \
  template <emulator::Reducible T>                                      \
  EMULATOR_SILENT T name(unsigned mask, T value, EMULATOR_SITE) {       \
    return emulator::reduce_lanes(mask, value, emulator::Fold{}, site); \
  }
EMULATOR_REDUCE(__reduce_add_sync, Sum)
EMULATOR_REDUCE(__reduce_min_sync, Least)
EMULATOR_REDUCE(__reduce_max_sync, Most)
EMULATOR_REDUCE(__reduce_and_sync, And)
EMULATOR_REDUCE(__reduce_or_sync, Or)
EMULATOR_REDUCE(__reduce_xor_sync, Xor)
#undef EMULATOR_REDUCE
