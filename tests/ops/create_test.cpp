// Creation: values of every dtype and instruction set, odd sizes, and what does not fit.
#include "tutti/ops/create.h"

#include <cmath>

#include "support/catch.h"
#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"

using namespace tutti;
using namespace tutti_test;

namespace {
using Values = std::vector<double>;
const DType all_dtypes[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16,
                            DType::int64,   DType::int32,   DType::uint8,    DType::boolean};
}  // namespace

TEST_CASE("constants of every dtype (kernel fill)") {
  for_each_isa([](const char* isa) {
    for (DType t : all_dtypes)
      for (int64_t n : {0, 1, 7, 63, 64, 65, 1000, 70000}) {
        INFO(isa << " " << name_of(t) << " " << n);
        const double want = t == DType::boolean ? 1 : 3;
        const auto v = full({n}, 3, {.dtype = t}).to_vector<double>();
        CHECK(v == Values(static_cast<size_t>(n), want));
        CHECK(zeros({n}, {.dtype = t}).to_vector<double>() == Values(static_cast<size_t>(n), 0));
      }
  });
  CHECK(ones({2, 3}).shape() == Dims{2, 3});
  CHECK(full({}, 2.5).item() == 2.5);
  CHECK(ones_like(arange(3)).dtype() == DType::int64);
  CHECK(zeros_like(ones({2, 0, 3})).shape() == Dims{2, 0, 3});
  CHECK(full_like(ones({2}), -7).to_vector<double>() == Values{-7, -7});
  CHECK(empty({4, 4}).numel() == 16);
  CHECK_FALSE(ones({2}).requires_grad());
}

TEST_CASE("arange and linspace (kernels arange, linspace)") {
  for_each_isa([](const char*) {
    CHECK(arange(5).to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2, 3, 4});
    CHECK(arange(1, 2, 0.25).to_vector<double>() == Values{1, 1.25, 1.5, 1.75});
    CHECK(arange(3, 0, -1).to_vector<double>() == Values{3, 2, 1});
    CHECK(arange(0, 5, 2, {.dtype = DType::bfloat16}).to_vector<double>() == Values{0, 2, 4});
    CHECK(arange(2, 2).numel() == 0);
    CHECK(linspace(0, 1, 5).to_vector<double>() == Values{0, 0.25, 0.5, 0.75, 1});
    CHECK(linspace(3, 9, 1).to_vector<double>() == Values{3});
    CHECK(linspace(0, 1, 0).numel() == 0);
    const auto v = linspace(-0.1, 0.3, 100001, {.dtype = DType::float64}).to_vector<double>();
    CHECK(v.front() == -0.1);
    CHECK(v.back() == 0.3);
    CHECK(std::abs(v[50000] - 0.1) < 1e-16);
  });
}

TEST_CASE("eye") {
  CHECK(eye(2).to_vector<double>() == Values{1, 0, 0, 1});
  CHECK(eye(0).shape() == Dims{0, 0});
  CHECK(eye(3, {.dtype = DType::boolean}).to_vector<double>() == Values{1, 0, 0, 0, 1, 0, 0, 0, 1});
}

TEST_CASE("creation is the same on every number of threads") {
  const tutti_test::OnCpu here;
  const Tensor want = arange(0, 300000, 1, {.dtype = DType::float32});
  for (int threads : {1, 2, 6}) {
    set_num_threads(threads);
    check_identical(arange(0, 300000, 1, {.dtype = DType::float32}), want);
    CHECK(full({3, 100000}, 5).at({2, 99999}) == 5);
  }
  set_num_threads(0);
}

TEST_CASE("what cannot be created is a typed error") {
  CHECK_THROWS_AS(zeros({2, -1}), ShapeError);
  CHECK_THROWS_WITH(zeros({2, -1}), "a tensor's size cannot be negative: [2, -1]");
  CHECK_THROWS_WITH(zeros({1, 2, 3, 4, 5, 6, 7, 8, 9}), "a tensor has at most 8 dimensions");
  CHECK_THROWS_AS(full({1}, 300, {.dtype = DType::uint8}), ValueError);
  CHECK_THROWS_WITH(full({1}, 300, {.dtype = DType::uint8}),
                    "full: 300 is not a value of uint8; convert with to(x, dtype)");
  CHECK_THROWS_WITH(full({1}, -1, {.dtype = DType::uint8}),
                    "full: -1 is not a value of uint8; convert with to(x, dtype)");
  CHECK_THROWS_WITH(full({1}, 3e9, {.dtype = DType::int32}),
                    "full: 3e+09 is not a value of int32; convert with to(x, dtype)");
  CHECK_THROWS_AS(full({1}, NAN, {.dtype = DType::int64}), ValueError);
  CHECK_THROWS_AS(full({1}, 0.5, {.dtype = DType::int64}), ValueError);
  CHECK_THROWS_AS(arange(0, 1, 0), ValueError);
  CHECK_THROWS_WITH(arange(0, 1, 0), "arange: step 0 does not lead from 0 to 1");
  CHECK_THROWS_WITH(arange(0, 5, -1), "arange: step -1 does not lead from 0 to 5");
  CHECK_THROWS_WITH(arange(0, 400, 100, {.dtype = DType::uint8}),
                    "arange: 300 is not a value of uint8; convert with to(x, dtype)");
  CHECK_THROWS_WITH(arange(0, INFINITY), "arange: step 1 does not lead from 0 to inf");
  CHECK_THROWS_WITH(arange(0, 1e300), "arange: 1e+300 elements are too many");
  CHECK_THROWS_WITH(linspace(0, 1, -1), "linspace: the number of elements, -1, is negative");
  CHECK_THROWS_WITH(eye(-1), "eye: size -1 is negative");
  CHECK_THROWS_WITH(ones_like(Tensor()), "ones_like: x is undefined");
}
