// Fused attention, forward. Lanes run over queries, so that maxima and sums over the keys need no work across lanes; a
// piece of work is up to 256 queries of one head, in tiles of 64 x 64 scores.
#include "tutti/backends/cpu/attention_tile.h"
#include "tutti/backends/cpu/small_product.h"

namespace tutti {
namespace {

inline constexpr int64_t piece_queries = 4 * query_tile;

/// The scratch memory of a thread.
template <class T>
struct Forward {
  const AttentionProblem& a;
  const Heads& out;
  T* log_sums;
  int64_t v_row;  // padded width of v
  // Of the piece: q transposed (a block per tile), its output, maxima and sums. Of the block of keys: k, v. Of a tile.
  T *q, *o, *maxima, *sums, *k, *v, *scores, *drawn, *bias, *rescale;

  Forward(const AttentionProblem& problem, const Heads& y, T* s)
      : a(problem), out(y), log_sums(s), v_row(round_up(problem.v.width, lanes<T>)) {}
  int64_t cut(T* memory) {
    const int64_t queries = round_up(a.q.tokens < piece_queries ? a.q.tokens : piece_queries, query_tile);
    Cutter<T> cutter{memory};
    q = cutter(queries * a.q.width);
    o = cutter(queries * v_row);
    maxima = cutter(queries);
    sums = cutter(queries);
    k = cutter(key_tile * round_up(a.k.width, lanes<T>));
    v = cutter(key_tile * v_row);
    scores = cutter(key_tile * query_tile);
    drawn = cutter(key_tile * query_tile);  // [query, key], as masks and dropout are drawn
    bias = cutter(key_tile * query_tile);
    rescale = cutter(query_tile);
    return cutter.used;
  }

  void piece(int64_t b, int64_t h, int64_t begin, int64_t count);
  bool softmax(int64_t keys, int64_t padded, bool masked, T* m, T* l);
  void tile(const Tile& t, bool masked, int64_t at, const Packed<T>& keys, const Packed<T>& values);
  void finish(int64_t b, int64_t h, int64_t begin, int64_t count, int64_t at);
};

/// Scores to weights: exp2(score - maximum so far); what was summed before is to be multiplied by `rescale`. Whether
/// any of that differs from 1.
template <class T>
bool Forward<T>::softmax(int64_t keys, int64_t padded, bool masked, T* m, T* l) {
  using B = batch<T>;
  const B lowest(-infinity<T>);
  bool changed = false;
  for (int64_t i = 0; i < padded; i += lanes<T>) {
    T* const column = scores + i;
    B top[4] = {B::load_unaligned(m + i), lowest, lowest, lowest};
    const B before = top[0];
    if (masked)
      for (int64_t n = 0; n < keys; ++n) {
        const B add = B::load_unaligned(bias + n * query_tile + i);
        const B s = xsimd::select(add == lowest, lowest, B::load_unaligned(column + n * query_tile) + add);
        s.store_unaligned(column + n * query_tile);
        top[0] = xsimd::max(top[0], s);
      }
    else {
      int64_t n = 0;
      for (; n + 4 <= keys; n += 4)
        unroll<4>([&](auto j) __attribute__((always_inline)) {
          top[j] = xsimd::max(top[j], B::load_unaligned(column + (n + j) * query_tile));
        });
      for (; n < keys; ++n) top[0] = xsimd::max(top[0], B::load_unaligned(column + n * query_tile));
    }
    const B now = xsimd::max(xsimd::max(top[0], top[1]), xsimd::max(top[2], top[3]));
    const B safe = xsimd::select(now == lowest, B(T(0)), now);  // all masked so far: the weights become 2^-inf = 0
    B sum(T(0));
    for (int64_t n = 0; n < keys; ++n) {
      const B p = power_of_two(B::load_unaligned(column + n * query_tile) - safe);
      p.store_unaligned(column + n * query_tile);
      sum = sum + p;
    }
    const B factor = power_of_two(before - safe);
    factor.store_unaligned(rescale + i);
    changed |= xsimd::any(factor != B(T(1)));
    multiply_add(B::load_unaligned(l + i), factor, sum).store_unaligned(l + i);
    now.store_unaligned(m + i);
  }
  return changed;
}

template <class T>
void Forward<T>::tile(const Tile& t, bool masked, int64_t at, const Packed<T>& keys, const Packed<T>& values) {
  const int64_t padded = round_up(t.queries, lanes<T>);
  product<false>(t.keys, padded / lanes<T>, a.q.width,
                 Blocks<T>{keys.data, keys.row, 1, q + at * a.q.width, query_tile, scores, query_tile});
  if (masked) {
    fill_bias(a, t, drawn);
    transpose_tile(t, drawn, bias);
  }
  T* const o_tile = o + at * v_row;
  if (softmax(t.keys, padded, masked, maxima + at, sums + at))
    for (int64_t i = 0; i < t.queries; ++i)
      for (int64_t c = 0; c < v_row; c += lanes<T>) {
        T* p = o_tile + i * v_row + c;
        (batch<T>::load_unaligned(p) * batch<T>(rescale[i])).store_unaligned(p);
      }
  if (a.dropout > 0) {
    fill_dropout(a, t, drawn);
    transpose_tile(t, drawn, bias);
    for (int64_t n = 0; n < t.keys; ++n)
      for (int64_t i = 0; i < padded; i += lanes<T>) {
        T* p = scores + n * query_tile + i;
        (batch<T>::load_unaligned(p) * batch<T>::load_unaligned(bias + n * query_tile + i)).store_unaligned(p);
      }
  }
  const Blocks<T> weighted{scores, 1, query_tile, values.data, values.row, o_tile, v_row};
  if (values.finite)
    product<true>(t.queries, v_row / lanes<T>, t.keys, weighted);
  else
    product_hiding<true>(t.queries, v_row / lanes<T>, t.keys, weighted);
}

template <class T>
void Forward<T>::finish(int64_t b, int64_t h, int64_t begin, int64_t count, int64_t at) {
  using B = batch<T>;
  for (int64_t i = 0; i < round_up(count, lanes<T>); i += lanes<T>) {
    const B l = B::load_unaligned(sums + at + i), m = B::load_unaligned(maxima + at + i);
    const auto none = l == B(T(0));
    xsimd::select(none, l, B(T(1)) / l).store_unaligned(rescale + i);
    const B rest = xsimd::log2(l);
    const auto usual = xsimd::abs(m) < B(static_cast<T>(usual_score));
    xsimd::select(none, B(infinity<T>), xsimd::select(usual, m + rest, m)).store_unaligned(maxima + at + i);
    xsimd::select(none, B(T(0)), xsimd::select(usual, B(T(0)), rest)).store_unaligned(sums + at + i);
  }
  T* to = log_sums + (b * a.q.heads + h) * a.q.tokens + begin;
  for (int64_t i = 0; i < count; ++i) to[i] = maxima[at + i];
  to += a.q.batches * a.q.heads * a.q.tokens;
  for (int64_t i = 0; i < count; ++i) to[i] = sums[at + i];
  store_rows(o + at * v_row, v_row, out, b, h, begin, count, [&](int64_t i) { return rescale[i]; });
}

template <class T>
void Forward<T>::piece(int64_t b, int64_t h, int64_t begin, int64_t count) {
  const int64_t kv_head = h / (a.q.heads / a.k.heads), end = begin + count;
  const auto tile_size = [&](int64_t query) { return end - query < query_tile ? end - query : query_tile; };
  for (int64_t at = 0; at < count; at += query_tile)
    pack_transposed(a.q, b, h, begin + at, tile_size(begin + at), static_cast<T>(a.scale * log2_e), q + at * a.q.width,
                    query_tile);
  for (int64_t i = 0; i < round_up(count, query_tile); ++i) {
    maxima[i] = -infinity<T>;
    sums[i] = 0;
  }
  for (int64_t i = 0; i < count * v_row; i += lanes<T>) batch<T>(T(0)).store_unaligned(o + i);
  for (int64_t key = 0; key < a.k.tokens; key += key_tile) {
    const int64_t keys = a.k.tokens - key < key_tile ? a.k.tokens - key : key_tile;
    const Sight any = sight(a, begin, count, key, keys);
    if (any == Sight::none) continue;
    const Packed<T> key_rows = pack_rows(a.k, b, kv_head, key, keys, k, false);
    const Packed<T> values = pack_rows(a.v, b, kv_head, key, keys, v, any == Sight::some || a.mask.data);
    for (int64_t at = 0; at < count; at += query_tile) {
      const Tile t{b, h, begin + at, tile_size(begin + at), key, keys};
      const Sight seen = sight(a, t.query, t.queries, key, keys);
      if (seen != Sight::none) tile(t, seen == Sight::some || a.mask.data, at, key_rows, values);
    }
  }
  for (int64_t at = 0; at < count; at += query_tile) finish(b, h, begin + at, tile_size(begin + at), at);
}

template <class T>
void forward(const AttentionProblem& a, const Heads& out, T* log_sums) {
  const int64_t pieces = (a.q.tokens + piece_queries - 1) / piece_queries;
  const int64_t queries = a.q.tokens < piece_queries ? a.q.tokens : piece_queries;
  const int64_t cost = queries * a.k.tokens * (a.q.width + a.v.width) + 1;
  const int64_t bytes = Forward<T>(a, out, log_sums).cut(nullptr) * static_cast<int64_t>(sizeof(T));
  parallel_for(a.q.batches * a.q.heads * pieces, (int64_t{1} << 19) / cost + 1, [&](int64_t first, int64_t last) {
    const Scratch memory(static_cast<size_t>(bytes));
    Forward<T> work(a, out, log_sums);
    work.cut(static_cast<T*>(memory.data()));
    for (int64_t i = first; i < last; ++i) {
      const int64_t head = i / pieces, begin = i % pieces * piece_queries;
      const int64_t count = a.q.tokens - begin < piece_queries ? a.q.tokens - begin : piece_queries;
      work.piece(head / a.q.heads, head % a.q.heads, begin, count);
    }
  });
}

}  // namespace

template <>
void kernel::attention_forward::run<Here>(const AttentionProblem& a, const Heads& out, void* log_sums) {
  if (a.q.dtype == DType::float64)
    forward(a, out, static_cast<double*>(log_sums));
  else
    forward(a, out, static_cast<float*>(log_sums));
}

}  // namespace tutti
