// Random numbers: Philox's published vectors, the rule by element, moments and bits, and the same on every instruction
// set and thread count.
#include "tutti/ops/random.h"

#include <algorithm>
#include <cmath>

#include "support/catch.h"
#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/core/philox.h"

using namespace tutti;
using namespace tutti_test;

namespace {

using Values = std::vector<double>;

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
  explicit Moments(const Values& v) {
    const auto n = static_cast<double>(v.size());
    for (double x : v) mean += x / n;
    for (double x : v) {
      const double d = x - mean;
      variance += d * d / n;
      skew += d * d * d / n;
      kurtosis += d * d * d * d / n;
    }
    skew /= std::pow(variance, 1.5);
    kurtosis /= variance * variance;
  }
};

/// sum of (observed - expected)^2 / expected over equally likely cells.
double chi_square(const std::vector<int64_t>& counts, double expected) {
  double sum = 0;
  for (int64_t c : counts) sum += (static_cast<double>(c) - expected) * (static_cast<double>(c) - expected) / expected;
  return sum;
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the numbers of its authors (Random123, kat_vectors)") {
  const Philox4 zero = philox({0, 0}, 0);
  CHECK(zero.v[0] == 0x6627e8d5u);
  CHECK(zero.v[1] == 0xe169c58du);
  CHECK(zero.v[2] == 0xbc57ac4cu);
  CHECK(zero.v[3] == 0x9b00dbd8u);
  const Philox4 full_bits = philox({~uint64_t{0}, ~uint64_t{0}}, ~uint64_t{0});
  CHECK(full_bits.v[0] == 0x408f276du);
  CHECK(full_bits.v[1] == 0x41c83b0eu);
  CHECK(full_bits.v[2] == 0xa20bc7c6u);
  CHECK(full_bits.v[3] == 0x6d5451fdu);
}

TEST_CASE("rand: element i is word i % 4 of block i / 4 (kernel random_uniform)") {
  for_each_isa([](const char*) {
    Generator g(7);
    g.set_position(3);
    const auto v = rand({203}, {}, g).to_vector<float>();
    for (int64_t i = 0; i < 203; ++i)
      CHECK(v[static_cast<size_t>(i)] == uniform01(philox({7, 3}, static_cast<uint64_t>(i) / 4).v[i % 4]));
    const auto w = rand({77}, {.dtype = DType::float64}, g).to_vector<double>();
    for (int64_t i = 0; i < 77; ++i) {
      const Philox4 block = philox({7, 4}, static_cast<uint64_t>(i) / 2);
      CHECK(w[static_cast<size_t>(i)] == uniform01(block.v[i % 2 * 2], block.v[i % 2 * 2 + 1]));
    }
    CHECK(g.position() == 5);
  });
}

TEST_CASE("every instruction set and thread count draws the same bits") {
  const tutti_test::OnCpu here;
  const auto draw = [](DType t) {
    Generator g(11);
    const TensorOptions o{.dtype = t};
    return std::vector<Tensor>{rand({70001}, o, g), randn({70001}, o, g), randint(-5, 100, {70001}, o, g),
                               bernoulli(0.3, {70001}, o, g)};
  };
  for (DType t : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    const auto want = draw(t);
    for_each_isa([&](const char* isa) {
      for (int threads : {1, 2, 6}) {
        INFO(isa << " " << name_of(t) << " " << threads);
        set_num_threads(threads);
        const auto got = draw(t);
        for (size_t i = 0; i < want.size(); ++i) check_identical(got[i], want[i]);
      }
    });
    set_num_threads(0);
  }
}

TEST_CASE("rand and randn have the right moments (kernel random_normal)") {
  Generator g(1);
  for (DType t : {DType::float32, DType::float64}) {
    const auto u = rand({400000}, {.dtype = t}, g).to_vector<double>();
    const Moments m(u);
    CHECK(std::abs(m.mean - 0.5) < 4 * std::sqrt(1 / 12.0 / 4e5));
    CHECK(std::abs(m.variance - 1 / 12.0) < 1e-3);
    CHECK(std::abs(m.kurtosis - 1.8) < 0.02);
    const auto v = randn({400001}, {.dtype = t}, g).to_vector<double>();
    const Moments z(v);
    CHECK(std::abs(z.mean) < 4 / std::sqrt(4e5));
    CHECK(std::abs(z.variance - 1) < 0.01);
    CHECK(std::abs(z.skew) < 0.02);
    CHECK(std::abs(z.kurtosis - 3) < 0.05);
    const auto beyond = std::count_if(v.begin(), v.end(), [](double x) { return std::abs(x) > 3; });
    CHECK(std::abs(static_cast<double>(beyond) - 400001 * 0.0026998) < 150);
    double neighbours = 0;  // the two of one pair are independent
    for (size_t i = 0; i + 1 < v.size(); i += 2) neighbours += v[i] * v[i + 1];
    CHECK(std::abs(neighbours) < 4 * std::sqrt(2e5));
  }
}

TEST_CASE("all 24 bits of rand are fair") {
  Generator g(5);
  const auto u = rand({1 << 18}, {}, g).to_vector<float>();
  std::vector<int64_t> ones(24), cells(256);
  for (float x : u) {
    const auto bits = static_cast<uint32_t>(x * 0x1p24f);
    for (size_t b = 0; b < 24; ++b) ones[b] += bits >> b & 1;
    ++cells[bits >> 16];
  }
  for (int64_t c : ones) CHECK(std::abs(static_cast<double>(c) - 0x1p17) < 4 * 256);  // sigma is 256
  CHECK(chi_square(cells, 1024) < 255 + 4 * std::sqrt(2 * 255.0));
}

TEST_CASE("half-precision uniforms never round up to 1") {
  Generator g(2);
  for (DType t : {DType::bfloat16, DType::float16}) {
    const auto v = rand({100000}, {.dtype = t}, g).to_vector<float>();
    CHECK(*std::max_element(v.begin(), v.end()) < 1);
    CHECK(*std::min_element(v.begin(), v.end()) == 0);
  }
}

TEST_CASE("randint covers its range evenly (kernel random_integer)") {
  for_each_isa([](const char*) {
    Generator g(3);
    std::vector<int64_t> counts(10);
    for (int64_t k : randint(-3, 7, {50000}, {.dtype = DType::int32}, g).to_vector<int64_t>()) {
      REQUIRE((k >= -3 && k < 7));
      ++counts[static_cast<size_t>(k + 3)];
    }
    CHECK(chi_square(counts, 5000) < 9 + 4 * std::sqrt(18.0));
    const TensorOptions ints{.dtype = DType::int64};
    const auto wide = randint(INT64_MIN, INT64_MAX, {1000}, ints, g).to_vector<int64_t>();
    CHECK(std::count_if(wide.begin(), wide.end(), [](int64_t k) { return k < 0; }) > 400);
    const auto large = randint(0, int64_t{1} << 40, {1000}, ints, g).to_vector<int64_t>();
    CHECK(*std::max_element(large.begin(), large.end()) > int64_t{1} << 39);
    CHECK(*std::max_element(large.begin(), large.end()) < int64_t{1} << 40);
    CHECK(randint(4, 5, {3}, {}, g).to_vector<double>() == Values{4, 4, 4});
  });
}

TEST_CASE("bernoulli (kernel random_bernoulli)") {
  Generator g(4);
  const auto v = bernoulli(0.25, {100000}, {}, g).to_vector<double>();
  CHECK(std::abs(Moments(v).mean - 0.25) < 4 * std::sqrt(0.25 * 0.75 / 1e5));
  const auto none = bernoulli(0, {1000}, {.dtype = DType::boolean}, g).to_vector<double>();
  CHECK(std::count(none.begin(), none.end(), 0.0) == 1000);
  const auto all = bernoulli(1, {1000}, {.dtype = DType::uint8}, g).to_vector<double>();
  CHECK(std::count(all.begin(), all.end(), 1.0) == 1000);
}

TEST_CASE("randperm is a permutation, and all orders are equally likely (kernel random_permutation)") {
  Generator g(6);
  auto order = randperm(1000, g).to_vector<int64_t>();
  CHECK(order != randperm(1000, g).to_vector<int64_t>());
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) REQUIRE(order[static_cast<size_t>(i)] == i);
  std::vector<int64_t> counts(6);
  for (int i = 0; i < 6000; ++i) {
    const auto p = randperm(3, g).to_vector<int64_t>();
    ++counts[static_cast<size_t>(p[0] * 2 + (p[1] > p[2]))];
  }
  CHECK(chi_square(counts, 1000) < 5 + 4 * std::sqrt(10.0));
  CHECK(randperm(0, g).numel() == 0);
}

TEST_CASE("generators repeat from their seed, and streams differ") {
  Generator a(9), b(9);
  const Tensor first = rand({10}, {}, a);
  check_identical(first, rand({10}, {}, b));
  CHECK(rand({10}, {}, a).to_vector<float>() != first.to_vector<float>());
  a.manual_seed(9);
  CHECK(rand({2, 5}, {}, a).to_vector<float>() == first.to_vector<float>());  // the shape does not matter
  manual_seed(42);
  const Tensor x = randn({4});
  manual_seed(42);
  check_identical(randn({4}), x);
  CHECK(rand({0}).numel() == 0);
  CHECK(randn({}).rank() == 0);
}

TEST_CASE("mistakes with random numbers are typed errors") {
  CHECK_THROWS_AS(rand({2}, {.dtype = DType::int64}), DTypeError);
  CHECK_THROWS_WITH(rand({2}, {.dtype = DType::int64}), "rand: int64 is not a floating dtype");
  CHECK_THROWS_WITH(randn({2}, {.dtype = DType::boolean}), "randn: bool is not a floating dtype");
  CHECK_THROWS_AS(randint(3, 3, {2}), ValueError);
  CHECK_THROWS_WITH(randint(3, 3, {2}), "randint: [3, 3) is empty");
  CHECK_THROWS_WITH(randint(0, 257, {2}, {.dtype = DType::uint8}), "randint: [0, 257) does not fit uint8");
  CHECK_THROWS_AS(bernoulli(1.5, {2}), ValueError);
  CHECK_THROWS_WITH(bernoulli(NAN, {2}), "bernoulli: probability nan is not in [0, 1]");
  CHECK_THROWS_WITH(randperm(-1), "randperm: n = -1 is negative");
  CHECK_THROWS_AS(rand({-2}), ShapeError);
}

TEST_CASE("randint in floating dtypes: every integer of the range, or an error") {
  const struct {
    DType dtype;
    int64_t most;
  } all[] = {
      {DType::bfloat16, 256}, {DType::float16, 2048}, {DType::float32, 1 << 24}, {DType::float64, int64_t{1} << 53}};
  for (const auto& d : all) {
    INFO(name_of(d.dtype));
    const TensorOptions o{.dtype = d.dtype};
    CHECK(randint(d.most, d.most + 1, {2}, o).to_vector<double>() == Values(2, static_cast<double>(d.most)));
    CHECK(randint(-d.most, 1 - d.most, {2}, o).to_vector<double>() == Values(2, static_cast<double>(-d.most)));
    CHECK_THROWS_WITH(randint(0, d.most + 2, {2}, o),
                      "randint: [0, " + std::to_string(d.most + 2) + ") does not fit " + name_of(d.dtype));
    CHECK_THROWS_AS(randint(-d.most - 1, 0, {2}, o), ValueError);
  }
  CHECK_THROWS_AS(randint(100000, 100001, {2}, {.dtype = DType::float16}), ValueError);  // infinity in float16
}
