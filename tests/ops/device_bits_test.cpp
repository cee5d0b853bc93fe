// What a CUDA device makes and what the CPU makes, bit for bit: random numbers, dropout, conversions, copies,
// constants.
#include <bit>
#include <cmath>
#include <limits>

#include "support/catch.h"
#include "support/op_test.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/backends/contract/make_view.h"
#include "tutti/backends/contract/random.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/random.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

const DType all_dtypes[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16,
                            DType::int64,   DType::int32,   DType::uint8,    DType::boolean};
// The last is more than all threads of the emulator's grid take at once.
constexpr int64_t sizes[] = {0, 1, 31, 33, 997, 1024, 1025, 40009};

bool have_device() {
  if (cuda_available()) return true;
  WARN("skipped: no CUDA device");
  return false;
}

/// Floats by their bits, but every NaN is one.
void check_same_bits(const Tensor& device, const Tensor& host) {
  REQUIRE(device.device() == Device::cuda());
  REQUIRE(host.device() == cpu);
  REQUIRE(device.dtype() == host.dtype());
  REQUIRE(device.shape() == host.shape());
  if (!is_floating(host.dtype())) {
    CHECK((device.to_vector<int64_t>() == host.to_vector<int64_t>()));
    return;
  }
  const auto got = device.to_vector<double>(), want = host.to_vector<double>();
  size_t differ = 0;
  for (size_t i = 0; i < want.size(); ++i)
    differ += std::bit_cast<uint64_t>(got[i]) != std::bit_cast<uint64_t>(want[i]) &&
              !(std::isnan(got[i]) && std::isnan(want[i]));
  CHECK(differ == 0);
}

template <class T>
Tensor on_host(const std::vector<T>& v, DType dtype) {
  return to(to(Tensor::from(v, {static_cast<int64_t>(v.size())}), cpu), dtype);
}

/// Numbers at which conversions differ if anywhere: limits of integers, halfway cases, subnormals, infinities, NaN.
Tensor special_values(DType dtype) {
  if (dtype == DType::float32 || dtype == DType::float64) {
    std::vector<double> v{0,
                          -0.0,
                          0.5,
                          -0.5,
                          0.999,
                          -1,
                          255,
                          255.9,
                          256,
                          -0.1,
                          1e-7,
                          6e-8,
                          2.98e-8,
                          65504,
                          65519.99,
                          65520,
                          1e20,
                          -1e20,
                          3e38,
                          1.00390625,
                          1.01171875,
                          1.00048828125,
                          2147483647.0,
                          2147483648.0,
                          -2147483648.0,
                          -2147483904.0,
                          9.2233720368547758e18,
                          -9.2233720368547758e18,
                          9.3e18,
                          INFINITY,
                          -INFINITY,
                          std::nan("")};
    if (dtype == DType::float64)
      for (double d : {1.00390625 + 0x1p-40, 1.00048828125 - 0x1p-40, 65520 - 0x1p-30, 1e300, 0x1p-140, 0x1p-1074})
        v.push_back(d);
    return on_host(v, dtype);
  }
  const int64_t n = 331;
  if (dtype == DType::int64) {
    std::vector<int64_t> v{0, -1, 256, INT64_MAX, INT64_MIN, int64_t{1} << 31, (int64_t{1} << 53) + 1};
    for (int64_t k = 0; k < n; ++k)
      v.push_back(static_cast<int64_t>(static_cast<uint64_t>(k) * 0x9E3779B97F4A7C15u) >> k % 60);
    return on_host(v, dtype);
  }
  Generator g(3);
  if (is_floating(dtype)) return randn({n}, {.dtype = dtype, .device = cpu}, g);
  const int64_t most = dtype == DType::boolean ? 2 : dtype == DType::uint8 ? 256 : INT32_MAX;
  return randint(dtype == DType::int32 ? INT32_MIN : 0, most, {n}, {.dtype = dtype, .device = cpu}, g);
}

}  // namespace

TEST_CASE("device bits: random numbers") {
  if (!have_device()) return;
  const auto draw = [](DType t, int64_t n, Device device) {
    Generator g(11);
    const TensorOptions o{.dtype = t, .device = device};
    std::vector<Tensor> all{bernoulli(0.3, {n}, o, g)};
    if (t != DType::boolean && t != DType::uint8) all.push_back(randint(-5, 100, {n}, o, g));
    if (t == DType::int64) all.push_back(randint(INT64_MIN, INT64_MAX, {n}, o, g));
    if (t == DType::int64) all.push_back(randint(-7, int64_t{1} << 40, {n}, o, g));
    if (!is_floating(t)) return all;
    all.push_back(rand({n}, o, g));
    all.push_back(randn({n}, o, g));
    return all;
  };
  for (const DType t : all_dtypes)
    for (const int64_t n : sizes) {
      INFO(name_of(t) << " " << n);
      const auto device = draw(t, n, Device::cuda()), host = draw(t, n, cpu);
      for (size_t i = 0; i < host.size(); ++i) check_same_bits(device[i], host[i]);
    }
}

#ifndef TUTTI_SHARED_LIBRARY  // which shows none of its kernels
TEST_CASE("device bits: permutations") {
  if (!have_device()) return;
  for (const int64_t n : sizes) {
    INFO(n);
    const auto order = [n](Device device) {
      const Output y = output({n}, DType::int64, device);
      kernel::random_permutation::on(device)(row_of(y), {5, uint64_t{1} << 33});
      return no_gradient(y);
    };
    check_same_bits(order(Device::cuda()), order(cpu));
  }
}
#endif

TEST_CASE("device bits: dropout") {
  if (!have_device()) return;
  const auto check = [](const Tensor& device, const Tensor& host) {
    Generator g(1), h(1);
    check_same_bits(dropout(device, 0.4, true, g), dropout(host, 0.4, true, h));
  };
  for (const DType t : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    Generator g(2);
    for (const int64_t n : sizes) {
      INFO(name_of(t) << " " << n);
      const Tensor x = randn({n}, {.dtype = t, .device = cpu}, g);
      check(to(x, Device::cuda()), x);
    }
    const Tensor x = masked_fill(randn({7, 24, 40}, {.dtype = t, .device = cpu}, g),
                                 bernoulli(0.1, {7, 24, 40}, {.dtype = DType::boolean, .device = cpu}, g), NAN);
    const Tensor y = to(x, Device::cuda());
    check(transpose(y, 1, 2), transpose(x, 1, 2));
    check(slice(y, 2, 8, 32), slice(x, 2, 8, 32));  // packs of a strided input
    check(slice(y, 2, 1, 33), slice(x, 2, 1, 33));
    check(slice(y, 1, 0, 24, 2), slice(x, 1, 0, 24, 2));
    check(select(select(y, 0, 1), 0, 2), select(select(x, 0, 1), 0, 2));
    check(expand(slice(y, 0, 0, 1), {3, 24, 40}), expand(slice(x, 0, 0, 1), {3, 24, 40}));
  }
}

TEST_CASE("device bits: conversions of every pair of dtypes") {
  if (!have_device()) return;
  for (const DType from : all_dtypes) {
    const Tensor x = special_values(from), y = to(x, Device::cuda());
    for (const DType dtype : all_dtypes) {
      INFO(name_of(from) << " to " << name_of(dtype));
      check_same_bits(to(y, dtype), to(x, dtype));
      check_same_bits(to(slice(y, 0, 1, x.numel(), 3), dtype), to(slice(x, 0, 1, x.numel(), 3), dtype));
      const Dims wide{400, x.numel()};  // beyond the grid's stride
      if (from != dtype && size_of(from) + size_of(dtype) <= 6)
        check_same_bits(to(expand(y, wide), dtype), to(expand(x, wide), dtype));
    }
  }
}

TEST_CASE("device bits: transposed copies, through words and without") {
  if (!have_device()) return;
  for (const DType t : {DType::uint8, DType::bfloat16, DType::float32, DType::float64}) {
    const auto check = [t](const Dims& shape, const Dims& axes) {
      INFO(name_of(t) << " " << to_string(shape) << " " << to_string(axes));
      Generator g(4);
      const Tensor x = randint(0, 200, shape, {.dtype = t, .device = cpu}, g), y = to(x, Device::cuda());
      check_same_bits(clone(permute(y, axes)), clone(permute(x, axes)));
      // Into a view: the output is the strided one.
      Dims padded = shape;
      padded[shape.n - 1] += 8;
      const Tensor to_device = zeros(padded, {.dtype = t, .device = Device::cuda()});
      const Tensor to_host = zeros(padded, {.dtype = t, .device = cpu});
      for (const auto& [whole, values] : {std::pair{to_device, y}, std::pair{to_host, x}})
        copy_(permute(slice(whole, shape.n - 1, 4, shape[shape.n - 1] + 4), axes), clone(permute(values, axes)));
      check_same_bits(to_device, to_host);
    };
    check({132, 260}, {1, 0});
    check({131, 259}, {1, 0});
    check({16, 16}, {1, 0});
    check({3, 17, 40}, {2, 1, 0});
    check({3, 20, 36}, {0, 2, 1});
    check({2, 24, 3, 20}, {3, 2, 1, 0});
    check({2, 24, 3, 20}, {2, 0, 3, 1});
  }
  Generator g(4);  // more tiles than blocks
  const Tensor x = rand({170, 6, 40}, {.device = cpu}, g);
  check_same_bits(clone(permute(to(x, Device::cuda()), {2, 1, 0})), clone(permute(x, {2, 1, 0})));
}

TEST_CASE("device bits: constants and sequences") {
  if (!have_device()) return;
  for (const DType t : all_dtypes) {
    INFO(name_of(t));
    const TensorOptions on_device{.dtype = t, .device = Device::cuda()}, on_host{.dtype = t, .device = cpu};
    for (const int64_t n : sizes) check_same_bits(full({n}, 1, on_device), full({n}, 1, on_host));
    check_same_bits(full({300001}, 1, on_device), full({300001}, 1, on_host));
    check_same_bits(linspace(0, 1, 997, on_device), linspace(0, 1, 997, on_host));
    check_same_bits(arange(0, 2, 1, on_device), arange(0, 2, 1, on_host));
    if (t != DType::boolean) check_same_bits(arange(3, 250, 7, on_device), arange(3, 250, 7, on_host));
    if (is_floating(t)) check_same_bits(linspace(-3, 0.7, 40009, on_device), linspace(-3, 0.7, 40009, on_host));
    const auto filled = [](const TensorOptions& o) {
      const Tensor x = zeros({6, 5, 48}, o);
      fill_(slice(x, 2, 16, 32), 1);  // rows of whole packs
      fill_(slice(select(x, 1, 2), 1, 3, 11), 1);
      fill_(slice(select(x, 1, 4), 1, 0, 48, 5), 1);
      fill_(transpose(slice(x, 0, 5, 6), 1, 2), 1);
      return x;
    };
    check_same_bits(filled(on_device), filled(on_host));
  }
}
