// Right kernels on the emulator, against float64 loops: at sizes 1, 31, 33, a prime and beyond the grid's stride; every
// thread order gives the same bits.
#include "kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "cuda/device_array.h"
#include "cuda/emulator/emulator.h"
#include "support/catch.h"

using namespace tutti_test;

namespace {

/// Numbers between -1 and 1 that bfloat16 and TF32 hold exactly.
std::vector<float> numbers(size_t n, unsigned seed) {
  std::vector<float> v(n);
  uint32_t state = seed * 2654435761u + 1;
  for (float& x : v) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<int>(state >> 24) - 128) / 128;
  }
  return v;
}
std::vector<__nv_bfloat16> halves(const std::vector<float>& v) {
  std::vector<__nv_bfloat16> h;
  for (const float x : v) h.push_back(__float2bfloat16(x));
  return h;
}
double furthest(const std::vector<float>& x, const std::vector<double>& y) {
  REQUIRE(x.size() == y.size());
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) most = std::isfinite(x[i]) ? std::max(most, std::abs(x[i] - y[i])) : INFINITY;
  return most;
}
void check_quiet() {
  CHECK(emulator::report() == "");
  CHECK(cudaGetLastError() == cudaSuccess);
}

/// Runs it in every thread order: the results are within the tolerance of the reference and have the same bits.
void check_orders(const std::vector<double>& expected, double tolerance,
                  const std::function<std::vector<float>()>& run) {
  using emulator::Order;
  const emulator::Config before = emulator::config();
  std::vector<float> first;
  std::vector<std::pair<Order, uint64_t>> orders = {
      {Order::forward, 1}, {Order::reverse, 1}, {Order::random, 1}, {Order::random, 2}, {Order::random, 3}};
  if (std::string(emulator::build()) != "plain") orders.resize(1);  // the others look at accesses, not at orders
  for (const auto& [order, seed] : orders) {
    emulator::config().order = order;
    emulator::config().seed = seed;
    const std::vector<float> y = run();
    CAPTURE(static_cast<int>(order), seed);
    check_quiet();
    CHECK(furthest(y, expected) <= tolerance);
    if (first.empty()) first = y;
    CHECK(std::memcmp(first.data(), y.data(), y.size() * sizeof(float)) == 0);
  }
  emulator::config() = before;
}

std::vector<double> softmax_of(const std::vector<float>& x, size_t width) {
  std::vector<double> y(x.begin(), x.end());
  for (size_t r = 0; r + width <= y.size(); r += width) {
    const double most = *std::max_element(y.begin() + static_cast<long>(r), y.begin() + static_cast<long>(r + width));
    double sum = 0;
    for (size_t i = r; i < r + width; ++i) sum += y[i] = std::exp(y[i] - most);
    for (size_t i = r; i < r + width; ++i) y[i] /= sum;
  }
  return y;
}
std::vector<double> product_of(const std::vector<float>& a, const std::vector<float>& b, int m, int n, int k) {
  std::vector<double> c(static_cast<size_t>(m * n));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int q = 0; q < k; ++q)
        c[static_cast<size_t>(i * n + j)] +=
            double{a[static_cast<size_t>(i * k + q)]} * b[static_cast<size_t>(q * n + j)];
  return c;
}

struct RowSizes {
  int64_t rows, width;
};
const std::vector<RowSizes> row_sizes = {{1, 1}, {1, 31}, {3, 33}, {2, 257}, {31, 4}, {17, 12}, {1, 1024}};

}  // namespace

TEST_CASE("softmax of rows", "[cuda]") {
  const StreamOwner stream;
  for (const auto [rows, width] : row_sizes) {
    CAPTURE(rows, width);
    const auto x = numbers(static_cast<size_t>(rows * width), 1);
    const DeviceArray<float> dx(x, stream);
    check_orders(softmax_of(x, static_cast<size_t>(width)), 1e-6, [&, r = rows, w = width] {
      const DeviceArray<float> y(x.size());
      kernels::softmax(dx.data(), y.data(), r, w, stream);
      return y.to_host(stream);
    });
    const DeviceArray<__nv_bfloat16> hx(halves(x), stream);
    check_orders(softmax_of(x, static_cast<size_t>(width)), 4e-3, [&, r = rows, w = width] {
      const DeviceArray<__nv_bfloat16> y(x.size());
      kernels::softmax(hx.data(), y.data(), r, w, stream);
      std::vector<float> wide;
      for (const __nv_bfloat16 v : y.to_host(stream)) wide.push_back(__bfloat162float(v));
      return wide;
    });
  }
}

TEST_CASE("LayerNorm of rows, by numbers and by vectors of four", "[cuda]") {
  const StreamOwner stream;
  for (const auto [rows, width] : row_sizes) {
    CAPTURE(rows, width);
    const auto x = numbers(static_cast<size_t>(rows * width), 2), weight = numbers(static_cast<size_t>(width), 3),
               bias = numbers(static_cast<size_t>(width), 4);
    std::vector<double> expected;
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
      const auto row = x.begin() + static_cast<long>(r) * width;
      double mean = 0, variance = 0;
      for (int64_t i = 0; i < width; ++i) mean += row[i] / static_cast<double>(width);
      for (int64_t i = 0; i < width; ++i) variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(width);
      for (int64_t i = 0; i < width; ++i)
        expected.push_back((row[i] - mean) / std::sqrt(variance + 1e-5) * weight[static_cast<size_t>(i)] +
                           bias[static_cast<size_t>(i)]);
    }
    const DeviceArray<float> dx(x, stream), dw(weight, stream), db(bias, stream);
    check_orders(expected, 1e-5, [&, r = rows, w = width] {
      const DeviceArray<float> y(x.size());
      kernels::layer_norm(dx.data(), dw.data(), db.data(), y.data(), r, w, 1e-5f, stream);
      return y.to_host(stream);
    });
  }
}

namespace {

struct ProductSizes {
  int m, n, k;
};
template <class T, class Prepare>
void check_product(void (*matmul)(const T*, const T*, float*, int, int, int, cudaStream_t), const Prepare& prepare,
                   std::initializer_list<ProductSizes> sizes) {
  const StreamOwner stream;
  for (const auto [m, n, k] : sizes) {
    CAPTURE(m, n, k);
    const auto a = numbers(static_cast<size_t>(m * k), 5), b = numbers(static_cast<size_t>(k * n), 6);
    const DeviceArray<T> da(prepare(a), stream), db(prepare(b), stream);
    check_orders(product_of(a, b, m, n, k), 1e-5, [&, rows = m, columns = n, depth = k] {
      const DeviceArray<float> c(static_cast<size_t>(rows * columns));
      matmul(da.data(), db.data(), c.data(), rows, columns, depth, stream);
      return c.to_host(stream);
    });
  }
}
const auto as_they_are = [](const std::vector<float>& v) { return v; };

}  // namespace

TEST_CASE("matmul by tiles in shared memory", "[cuda]") {
  check_product(kernels::matmul_tiled, as_they_are, {{1, 1, 1}, {31, 33, 17}, {16, 16, 37}});
}
TEST_CASE("matmul with a pipeline of asynchronous copies", "[cuda]") {
  check_product(kernels::matmul_pipelined, as_they_are, {{1, 1, 1}, {31, 33, 17}, {17, 36, 52}, {16, 16, 64}});
}
TEST_CASE("matmul by wmma", "[cuda]") {
  check_product(kernels::matmul_wmma, halves, {{1, 1, 1}, {31, 33, 37}, {16, 16, 16}});
}
TEST_CASE("matmul by wmma in TF32", "[cuda]") {
  check_product(kernels::matmul_wmma_tf32, as_they_are, {{1, 1, 1}, {31, 33, 37}});
}
TEST_CASE("matmul by mma.sync and ldmatrix", "[cuda]") {
  check_product(kernels::matmul_mma, halves, {{1, 1, 1}, {31, 33, 37}, {16, 8, 16}});
}
TEST_CASE("matmul by mma.sync in TF32", "[cuda]") {
  check_product(kernels::matmul_mma_tf32, as_they_are, {{1, 1, 1}, {31, 33, 37}});
}

TEST_CASE("the block that finishes last adds up", "[cuda]") {
  const StreamOwner stream;
  const DeviceArray<unsigned> ticket(std::vector<unsigned>{0}, stream);
  for (const size_t n : {1u, 31u, 33u, 127u, 1999u}) {
    CAPTURE(n);
    const auto x = numbers(n, 7);
    double sum = 0;
    for (const float v : x) sum += v;
    const DeviceArray<float> dx(x, stream);
    check_orders({sum}, 1e-4, [&] {
      const DeviceArray<float> partial(64), result(1);
      kernels::sum_last_block(dx.data(), static_cast<int64_t>(n), partial.data(), ticket.data(), result.data(), stream);
      return result.to_host(stream);
    });
  }
}

TEST_CASE("a histogram by atomics, a prefix sum by shuffles", "[cuda]") {
  const StreamOwner stream;
  for (const int n : {1, 31, 33, 127, 1023}) {
    CAPTURE(n);
    std::vector<int> x;
    for (int i = 0; i < n; ++i) x.push_back(i * 7919 % 13);
    std::vector<int> counts(13), sums;
    for (const int v : x) ++counts[static_cast<size_t>(v)], sums.push_back(v + (sums.empty() ? 0 : sums.back()));
    const DeviceArray<int> dx(x, stream), dc(13), ds(x.size());
    kernels::histogram(dx.data(), n, 13, dc.data(), stream);
    kernels::prefix_sum(dx.data(), ds.data(), n, stream);
    CHECK(dc.to_host(stream) == counts);
    CHECK(ds.to_host(stream) == sums);
    check_quiet();
  }
}

TEST_CASE("what the collectives of a warp and of a block give", "[cuda]") {
  const StreamOwner stream;
  const int n = 64;
  std::vector<int> x;
  for (int i = 0; i < n; ++i) x.push_back(i < 32 ? i * 5 % 7 : 9);
  const DeviceArray<int> dx(x, stream), out(static_cast<size_t>(n * kernels::collective_count));
  kernels::collectives(dx.data(), out.data(), n, stream);
  const auto y = out.to_host(stream);
  check_quiet();
  for (int i = 0; i < n; ++i) {
    CAPTURE(i);
    const int first = i / 32 * 32, lane = i % 32;
    const auto at = [&](int l) { return x[static_cast<size_t>(first + l)]; };
    unsigned odd = 0, same = 0;
    int sum = 0, most = 0, bits = 0, odd_in_block = 0;
    for (int l = 0; l < 32; ++l) {
      odd |= static_cast<unsigned>(at(l) & 1) << l;
      same |= static_cast<unsigned>(at(l) == at(lane)) << l;
      sum += at(l);
      most = std::max(most, at(l));
      bits ^= at(l);
    }
    for (const int v : x) odd_in_block += v & 1;
    const int expected[kernels::collective_count] = {1,
                                                     1,
                                                     static_cast<int>(odd),
                                                     at(lane / 8 * 8 + 3),
                                                     at(lane < 30 ? lane + 2 : lane),
                                                     static_cast<int>(same),
                                                     first ? -1 + 1 : 0,
                                                     sum,
                                                     most,
                                                     bits,
                                                     odd_in_block,
                                                     1 + 2};
    for (int c = 0; c < kernels::collective_count; ++c) {
      CAPTURE(c);
      CHECK(y[static_cast<size_t>(i * kernels::collective_count + c)] == expected[c]);
    }
  }
}
