// Optimizer steps: every element of every parameter once, whatever the number of tensors.
#include "tutti/backends/contract/optimizer.h"

#include "tutti/backends/cuda/parameter_slots.h"

namespace tutti {
namespace {

template <class T>
__global__ void adam_kernel(ParameterSlots all, int64_t pieces, AdamConfig config) {
  using C = compute_t<T>;
  const C beta2 = static_cast<C>(config.beta2), rest1 = static_cast<C>(1 - config.beta1),
          rest2 = static_cast<C>(1 - config.beta2), eps = static_cast<C>(config.eps);
  for (int64_t piece = blockIdx.x; piece < pieces; piece += gridDim.x)
    for_parts<T>(all, piece, [&](const ParameterSlot& s, int64_t first, int64_t last) {
      const ParameterRates& r = all.rates[s.rates];
      const C c0 = static_cast<C>(r.correction[0]), c1 = static_cast<C>(r.correction[1]);
      const C keep = static_cast<C>(config.decoupled ? 1 - r.lr * r.weight_decay : 1),
              decay = static_cast<C>(config.decoupled ? 0 : r.weight_decay);
      T* w = static_cast<T*>(s.weight);
      const T* g = static_cast<const T*>(s.gradient);
      C *mean = static_cast<C*>(s.state[0]), *square = static_cast<C*>(s.state[1]);
      constexpr int most = pack_size<T>;
      const bool aligned = fits<T, most>(w) && fits<T, most>(g) && fits<C, most>(mean) && fits<C, most>(square);
      by_packs<most>(first, last, aligned, [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        auto x = load_pack<V>(w + i);
        const auto dx = load_pack<V>(g + i);
        auto m = load_pack<V>(mean + i), v = load_pack<V>(square + i);
        TUTTI_UNROLL
        for (int j = 0; j < V; ++j) {
          const C d = fma(decay, x.v[j], dx.v[j]);
          m.v[j] = fma(rest1, d - m.v[j], m.v[j]);
          v.v[j] = fma(beta2, v.v[j], rest2 * d * d);
          x.v[j] = x.v[j] * keep - c0 * m.v[j] / fma(sqrt(v.v[j]), c1, eps);
        }
        store_pack<V>(mean + i, m);
        store_pack<V>(square + i, v);
        store_pack<V>(w + i, x);
      });
    });
}

template <class T>
__global__ void sgd_kernel(ParameterSlots all, int64_t pieces, SgdConfig config) {
  using C = compute_t<T>;
  const C momentum = static_cast<C>(config.momentum);
  const bool nesterov = config.nesterov;
  for (int64_t piece = blockIdx.x; piece < pieces; piece += gridDim.x)
    for_parts<T>(all, piece, [&](const ParameterSlot& s, int64_t first, int64_t last) {
      const ParameterRates& r = all.rates[s.rates];
      const C lr = static_cast<C>(r.lr), decay = static_cast<C>(r.weight_decay);
      // The first velocity is the gradient.
      const C fresh = static_cast<C>(r.first != 0 ? 1 : 1 - config.dampening),
              kept = static_cast<C>(r.first != 0 ? 0 : config.momentum);
      T* w = static_cast<T*>(s.weight);
      const T* g = static_cast<const T*>(s.gradient);
      C* velocity = static_cast<C*>(s.state[0]);
      constexpr int most = pack_size<T>;
      // (null is aligned)
      const bool aligned = fits<T, most>(w) && fits<T, most>(g) && fits<C, most>(velocity);
      by_packs<most>(first, last, aligned, [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        auto x = load_pack<V>(w + i);
        auto d = load_pack<V>(g + i);
        TUTTI_UNROLL
        for (int j = 0; j < V; ++j) d.v[j] = fma(decay, x.v[j], d.v[j]);
        if (velocity) {
          auto v = load_pack<V>(velocity + i);
          TUTTI_UNROLL
          for (int j = 0; j < V; ++j) {
            v.v[j] = fma(kept, v.v[j], fresh * d.v[j]);
            d.v[j] = nesterov ? fma(momentum, v.v[j], d.v[j]) : v.v[j];
          }
          store_pack<V>(velocity + i, v);
        }
        TUTTI_UNROLL
        for (int j = 0; j < V; ++j) x.v[j] = x.v[j] - lr * d.v[j];
        store_pack<V>(w + i, x);
      });
    });
}

}  // namespace

template <>
void kernel::adam_step::run<Here>(ParameterSlots slots, AdamConfig config) {
  const int64_t pieces = slot_pieces(slots);
  if (pieces == 0) return;
  for_dtypes(slots,
             [&]<class T>(T) { start(adam_kernel<T>, blocks_for(pieces), slot_threads, 0, slots, pieces, config); });
}

template <>
void kernel::sgd_step::run<Here>(ParameterSlots slots, SgdConfig config) {
  const int64_t pieces = slot_pieces(slots);
  if (pieces == 0) return;
  for_dtypes(slots,
             [&]<class T>(T) { start(sgd_kernel<T>, blocks_for(pieces), slot_threads, 0, slots, pieces, config); });
}

}  // namespace tutti
