// Fused attention, backward: the weights are computed again from the saved sums, tile by tile. Lanes run over keys. A
// piece of work is the keys of one head (or a part of them, if there are few heads and many keys) against all queries:
// dk and dv are complete in it, dq is the sum of the parts, added in order.
#include "tutti/backends/cpu/attention_tile.h"
#include "tutti/backends/cpu/small_product.h"

namespace tutti {
namespace {

inline constexpr double usual_base = usual_score + 64;
inline constexpr int64_t wanted_pieces = 16, most_parts = 8, part_keys = 2 * key_tile;

/// f(true or false as a constant).
template <class F>
TUTTI_INLINE void either(bool condition, const F& f) {
  condition ? f(std::true_type{}) : f(std::false_type{});
}

/// Of a log_sum: its maximum and the rest are one number.
template <class T>
TUTTI_INLINE bool is_usual(T log_sum) {
  return log_sum < static_cast<T>(usual_base) && log_sum > static_cast<T>(-usual_base);
}

template <class T>
struct Backward {
  const AttentionProblem& a;
  const ConstHeads &out, &d_out;
  const T* log_sums;
  const Heads &dq, &dk, &dv;
  int64_t group;       // query heads per key head
  int64_t row, v_row;  // padded widths

  // Of the block of keys: k, and k and v transposed (k scaled), and their gradients. Of the block of queries: q, O, dO.
  // Of a tile: the weights and the gradients of the scores, [query, key].
  T *k, *k_lanes, *v_lanes, *dk_sum, *dv_sum, *q, *o, *d, *weights, *grads, *bias, *drop;
  T* delta;   // of all queries of the group
  T* dq_sum;  // of all queries of the group: [head, query, row]

  Backward(const AttentionProblem& problem, const ConstHeads& y, const ConstHeads& dy, const T* sums, const Heads& gq,
           const Heads& gk, const Heads& gv)
      : a(problem),
        out(y),
        d_out(dy),
        log_sums(sums),
        dq(gq),
        dk(gk),
        dv(gv),
        group(a.q.heads / a.k.heads),
        row(round_up(a.q.width, lanes<T>)),
        v_row(round_up(a.v.width, lanes<T>)) {}
  int64_t cut(T* memory) {
    Cutter<T> cutter{memory};
    k = cutter(key_tile * row);
    k_lanes = cutter(key_tile * a.k.width);
    v_lanes = cutter(key_tile * a.v.width);
    dk_sum = cutter(key_tile * row);
    dv_sum = cutter(key_tile * v_row);
    q = cutter(query_tile * row);
    o = cutter(query_tile * v_row);
    d = cutter(query_tile * v_row);
    weights = cutter(query_tile * key_tile);
    grads = cutter(query_tile * key_tile);
    bias = cutter(query_tile * key_tile);
    drop = cutter(query_tile * key_tile);
    delta = cutter(group * a.q.tokens);
    return cutter.used;
  }
  int64_t query_count(int64_t query) const { return a.q.tokens - query < query_tile ? a.q.tokens - query : query_tile; }

  void piece(int64_t b, int64_t kv_head, int64_t key_begin, int64_t key_end);
  void deltas(int64_t b, int64_t h, T* to);
  template <bool masked, bool dropped, bool far>
  void score_gradients(const Tile& t, const T* log_sum, const T* rests, const T* delta_rows);
  void tile(const Tile& t, bool masked, const Packed<T>& keys, const T* delta_rows, T* dq_rows);
};

/// delta[i] = sum over channels of dO O, which is the sum over keys of P dP.
template <class T>
void Backward<T>::deltas(int64_t b, int64_t h, T* to) {
  for (int64_t query = 0; query < a.q.tokens; query += query_tile) {
    const int64_t n = query_count(query);
    const Packed<T> x = pack_rows(d_out, b, h, query, n, d, false), y = pack_rows(out, b, h, query, n, o, false);
    for (int64_t i = 0; i < n; ++i) {
      batch<T> sum(T(0));
      for (int64_t c = 0; c < v_row; c += lanes<T>)
        sum = multiply_add(batch<T>::load_unaligned(x.data + i * x.row + c),
                           batch<T>::load_unaligned(y.data + i * y.row + c), sum);
      to[query + i] = sum_lanes(sum);
    }
  }
}

/// In `weights` the scores become P (with dropout: as used for v), in `grads` dP becomes dS = P (dP - delta).
template <class T>
template <bool masked, bool dropped, bool far>
void Backward<T>::score_gradients(const Tile& t, const T* log_sum, const T* rests, const T* delta_rows) {
  using B = batch<T>;
  const B zero(T(0)), hidden(-infinity<T>);
  const int64_t padded = round_up(t.keys, lanes<T>);
  if (masked) fill_bias(a, t, bias);
  if (dropped) fill_dropout(a, t, drop);
  for (int64_t i = 0; i < t.queries; ++i) {
    const B base(log_sum[i]), rest(rests[i]), mean(delta_rows[i]);
    const B most(is_usual(log_sum[i]) ? infinity<T> : T(0));
    for (int64_t at = i * key_tile; at < i * key_tile + padded; at += lanes<T>) {
      const B add = masked ? B::load_unaligned(bias + at) : zero;
      B p = B::load_unaligned(weights + at), g = B::load_unaligned(grads + at);
      p = masked ? p + add - base : p - base;
      // A large score is rounded coarsely, and not as in the forward pass: it may not exceed the maximum for that.
      if (far) p = xsimd::min(most, p) - rest;
      p = power_of_two(p);
      if (dropped) {
        const B factor = B::load_unaligned(drop + at);
        g = p * (g * factor - mean);
        p = p * factor;
      } else {
        g = p * (g - mean);
      }
      if (masked) {
        p = xsimd::select(add == hidden, zero, p);
        g = xsimd::select(add == hidden, zero, g);
      }
      p.store_unaligned(weights + at);
      g.store_unaligned(grads + at);
    }
  }
}

template <class T>
void Backward<T>::tile(const Tile& t, bool masked, const Packed<T>& keys, const T* delta_rows, T* dq_rows) {
  constexpr int64_t L = lanes<T>;
  const Packed<T> queries = pack_rows(a.q, t.b, t.h, t.query, t.queries, q, masked);
  const Packed<T> grad = pack_rows(d_out, t.b, t.h, t.query, t.queries, d, masked);
  const int64_t vectors = round_up(t.keys, L) / L;
  product<false>(t.queries, vectors, a.q.width,
                 Blocks<T>{queries.data, queries.row, 1, k_lanes, key_tile, weights, key_tile});
  product<false>(t.queries, vectors, a.v.width, Blocks<T>{grad.data, grad.row, 1, v_lanes, key_tile, grads, key_tile});
  const T* const sums = log_sums + (t.b * a.q.heads + t.h) * a.q.tokens + t.query;
  const T* const rests = sums + a.q.batches * a.q.heads * a.q.tokens;
  bool far = false;
  for (int64_t i = 0; i < t.queries; ++i) far |= rests[i] != 0 || !is_usual(sums[i]);
  either(masked, [&]<class Masked>(Masked) {
    either(a.dropout > 0, [&]<class Dropped>(Dropped) {
      either(far, [&]<class Far>(Far) {
        score_gradients<Masked::value, Dropped::value, Far::value>(t, sums, rests, delta_rows);
      });
    });
  });
  const auto add = [](const Packed<T>& b, int64_t rows, int64_t columns, int64_t depth, const T* a_data, int64_t a_row,
                      int64_t a_col, T* c) {
    const Blocks<T> x{a_data, a_row, a_col, b.data, b.row, c, columns};
    if (b.finite)
      product<true>(rows, columns / L, depth, x);
    else
      product_hiding<true>(rows, columns / L, depth, x);
  };
  if (dv.data) add(grad, t.keys, v_row, t.queries, weights, 1, key_tile, dv_sum);
  if (dk.data) add(queries, t.keys, row, t.queries, grads, 1, key_tile, dk_sum);
  if (dq.data) add(keys, t.queries, row, t.keys, grads, key_tile, 1, dq_rows);
}

template <class T>
void clear(T* p, int64_t n) {
  for (int64_t i = 0; i < n; i += lanes<T>) batch<T>(T(0)).store_unaligned(p + i);
}

template <class T>
void Backward<T>::piece(int64_t b, int64_t kv_head, int64_t key_begin, int64_t key_end) {
  const int64_t Tq = a.q.tokens, first_head = kv_head * group;
  for (int64_t g = 0; g < group; ++g) deltas(b, first_head + g, delta + g * Tq);
  if (dq.data) clear(dq_sum, group * Tq * row);
  for (int64_t key = key_begin; key < key_end; key += key_tile) {
    const int64_t keys = key_end - key < key_tile ? key_end - key : key_tile;
    const bool hidden = a.mask.data || sight(a, 0, Tq, key, keys) != Sight::all;
    const Packed<T> key_rows = pack_rows(a.k, b, kv_head, key, keys, k, hidden);
    pack_transposed(a.k, b, kv_head, key, keys, static_cast<T>(a.scale * log2_e), k_lanes, key_tile);
    pack_transposed(a.v, b, kv_head, key, keys, T(1), v_lanes, key_tile);
    clear(dk_sum, keys * row);
    clear(dv_sum, keys * v_row);
    for (int64_t g = 0; g < group; ++g)
      for (int64_t query = 0; query < Tq; query += query_tile) {
        const Tile t{b, first_head + g, query, query_count(query), key, keys};
        const Sight seen = sight(a, query, t.queries, key, keys);
        if (seen == Sight::none) continue;
        const int64_t at = g * Tq + query;
        tile(t, seen == Sight::some || a.mask.data, key_rows, delta + at, dq_sum + at * row);
      }
    const auto scale = static_cast<T>(a.scale);
    if (dk.data) store_rows(dk_sum, row, dk, b, kv_head, key, keys, [&](int64_t) { return scale; });
    if (dv.data) store_rows(dv_sum, v_row, dv, b, kv_head, key, keys, [](int64_t) { return T(1); });
  }
}

template <class T>
void backward(const AttentionProblem& a, const ConstHeads& out, const T* log_sums, const ConstHeads& d_out,
              const Heads& dq, const Heads& dk, const Heads& dv) {
  const int64_t heads = a.q.batches * a.k.heads, Tq = a.q.tokens, Tk = a.k.tokens;
  if (heads == 0) return;
  int64_t parts = heads < wanted_pieces ? (wanted_pieces + heads - 1) / heads : 1;
  if (parts > most_parts) parts = most_parts;  // each has its own dq
  if (parts > Tk / part_keys) parts = Tk < part_keys ? 1 : Tk / part_keys;
  const int64_t part = round_up((Tk + parts - 1) / parts, key_tile);
  Backward<T> prototype(a, out, d_out, log_sums, dq, dk, dv);
  const int64_t width = prototype.row, rows = prototype.group * Tq;  // of dq in one piece
  const int64_t small = prototype.cut(nullptr), own = dq.data && parts == 1 ? rows * width : 0;
  const Scratch shared(static_cast<size_t>(dq.data && parts > 1 ? parts * heads * rows * width : 0) * sizeof(T));
  const auto store_dq = [&](int64_t head, const T* sum) {
    const int64_t b = head / a.k.heads, first = head % a.k.heads * prototype.group;
    for (int64_t g = 0; g < prototype.group; ++g)
      store_rows(sum + g * Tq * width, width, dq, b, first + g, 0, Tq,
                 [&](int64_t) { return static_cast<T>(a.scale); });
  };
  const int64_t cost = rows * (parts == 1 ? Tk : part) * (a.q.width + a.v.width) * 5 / 2 + 1;
  parallel_for(heads * parts, (int64_t{1} << 19) / cost + 1, [&](int64_t first, int64_t last) {
    const Scratch memory(static_cast<size_t>(small + own) * sizeof(T));
    Backward<T> work = prototype;
    work.cut(static_cast<T*>(memory.data()));
    for (int64_t i = first; i < last; ++i) {
      const int64_t head = i / parts, key = i % parts * part;
      work.dq_sum = own ? static_cast<T*>(memory.data()) + small : static_cast<T*>(shared.data()) + i * rows * width;
      work.piece(head / a.k.heads, head % a.k.heads, key, Tk - key < part ? Tk : key + part);
      if (own) store_dq(head, work.dq_sum);
    }
  });
  if (parts == 1 || !dq.data) return;
  parallel_for(heads, 1, [&](int64_t first, int64_t last) {
    for (int64_t head = first; head < last; ++head) {
      T* const sum = static_cast<T*>(shared.data()) + head * parts * rows * width;
      for (int64_t p = 1; p < parts; ++p)
        for (int64_t i = 0; i < rows * width; i += lanes<T>)
          (batch<T>::load_unaligned(sum + i) + batch<T>::load_unaligned(sum + p * rows * width + i))
              .store_unaligned(sum + i);
      store_dq(head, sum);
    }
  });
}

}  // namespace

template <>
void kernel::attention_backward::run<Here>(const AttentionProblem& a, const ConstHeads& out, const void* log_sums,
                                           const ConstHeads& d_out, const Heads& dq, const Heads& dk, const Heads& dv) {
  if (a.q.dtype == DType::float64)
    backward(a, out, static_cast<const double*>(log_sums), d_out, dq, dk, dv);
  else
    backward(a, out, static_cast<const float*>(log_sums), d_out, dq, dk, dv);
}

}  // namespace tutti
