// Tensor and Output: making, reading, views, and every wrong call.
#include "tutti/core/tensor.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "support/catch.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"

using namespace tutti;

namespace {
Tensor seen(const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset) {
  return no_gradient(view(x, shape, strides, offset));
}
}  // namespace

TEST_CASE("Tensor::from and to_vector") {
  const Tensor x = Tensor::from({1, 2.5, -3, 4, 5, 6}, {2, 3});
  CHECK(x.shape() == Dims{2, 3});
  CHECK(x.strides() == Dims{3, 1});
  CHECK(x.dtype() == DType::float32);
  CHECK(x.device() == default_device());
  CHECK(x.rank() == 2);
  CHECK(x.numel() == 6);
  CHECK(x.is_contiguous());
  CHECK_FALSE(x.requires_grad());
  CHECK(x.to_vector<float>() == std::vector<float>{1, 2.5f, -3, 4, 5, 6});
  CHECK(x.to_vector<int32_t>() == std::vector<int32_t>{1, 2, -3, 4, 5, 6});
  if (x.device() == cpu) CHECK(x.data<float>()[1] == 2.5f);
  CHECK(reinterpret_cast<uintptr_t>(x.data()) % 64 == 0);

  CHECK(Tensor::from({7}, {}).item() == 7);
  CHECK(Tensor::from({}, {0}).numel() == 0);
  CHECK(Tensor::from({}, {3, 0, 2}).to_vector<double>().empty());

  const std::vector<double> doubles{0.1, 0.2};
  CHECK(Tensor::from(doubles, {2}).dtype() == DType::float64);
  CHECK(Tensor::from(doubles, {2}).to_vector<double>() == doubles);
  const std::vector<bool> bools{true, false, true};
  CHECK(Tensor::from(bools, {3}).dtype() == DType::boolean);
  CHECK(Tensor::from(bools, {3}).to_vector<bool>() == bools);
  CHECK(Tensor::from(bools, {3}).to_vector<float>() == std::vector<float>{1, 0, 1});
  std::vector<int64_t> large{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  CHECK(Tensor::from(large, {1, 2}).to_vector<int64_t>() == large);
  CHECK(Tensor::from(std::span(large), {2}).to_vector<int64_t>() == large);
  CHECK(Tensor::from(std::span<const int64_t>(large), {2}).to_vector<int64_t>() == large);
  const int32_t array[] = {1, 2, 3, 4};
  CHECK(Tensor::from(array, 4, {4}).to_vector<int32_t>() == std::vector<int32_t>{1, 2, 3, 4});
  CHECK(Tensor::from(std::vector<uint8_t>{255, 0}, {2}).to_vector<int64_t>() == std::vector<int64_t>{255, 0});
  CHECK(Tensor::from(std::vector<bfloat16>{bfloat16::from(1.5f)}, {1}).item() == 1.5);
  CHECK(Tensor::from({1.5, 65504}, {2}, DType::float16).to_vector<double>() == std::vector<double>{1.5, 65504});
  CHECK(Tensor::from({1.5}, {1}, DType::bfloat16).to_vector<bfloat16>()[0].bits == 0x3fc0);
  CHECK(Tensor::from({0, 2, -1}, {3}, DType::boolean).to_vector<bool>() == std::vector<bool>{false, true, true});
}

TEST_CASE("to_vector truncates and saturates") {
  const double inf = INFINITY;
  const Tensor x = Tensor::from({2.9, -2.9, 1e30, -1e30, inf, -inf, NAN}, {7}, DType::float64);
  const int64_t top = std::numeric_limits<int64_t>::max(), bottom = std::numeric_limits<int64_t>::min();
  CHECK(x.to_vector<int64_t>() == std::vector<int64_t>{2, -2, top, bottom, top, bottom, 0});
  CHECK(x.to_vector<uint8_t>() == std::vector<uint8_t>{2, 0, 255, 0, 255, 0, 0});
}

TEST_CASE("Tensor::from refuses wrong counts, sizes and values") {
  REQUIRE_THROWS_AS(Tensor::from({1, 2, 3}, {2, 2}), ShapeError);
  REQUIRE_THROWS_WITH(Tensor::from({1, 2, 3}, {2, 2}), "Tensor::from: 3 values for shape [2, 2] (4 elements)");
  REQUIRE_THROWS_WITH(Tensor::from(std::vector<float>(5), {2}), "Tensor::from: 5 values for shape [2] (2 elements)");
  REQUIRE_THROWS_WITH(Tensor::from(std::vector<bool>(1), {0}), "Tensor::from: 1 values for shape [0] (0 elements)");
  REQUIRE_THROWS_WITH(Tensor::from({1}, {-1}), "a tensor's size cannot be negative: [-1]");
  REQUIRE_THROWS_WITH(Tensor::from({1}, {int64_t{1} << 40, int64_t{1} << 40}),
                      "a tensor of shape [1099511627776, 1099511627776] is too large");
  REQUIRE_THROWS_WITH(Tensor::from({256}, {1}, DType::uint8),
                      "Tensor::from: 256 is not a value of uint8; convert with to(x, dtype)");
  REQUIRE_THROWS_WITH(Tensor::from({-1}, {1}, DType::uint8),
                      "Tensor::from: -1 is not a value of uint8; convert with to(x, dtype)");
  REQUIRE_THROWS_WITH(Tensor::from({NAN}, {1}, DType::int64),
                      "Tensor::from: nan is not a value of int64; convert with to(x, dtype)");
  REQUIRE_THROWS_WITH(Tensor::from({1e10}, {1}, DType::int32),
                      "Tensor::from: 1e+10 is not a value of int32; convert with to(x, dtype)");
  REQUIRE_THROWS_AS(Tensor::from({1e10}, {1}, DType::int32), ValueError);
}

TEST_CASE("output checks its shape") {
  CHECK(output({}, DType::float64, cpu).numel() == 1);
  CHECK(output({0}, DType::float32, cpu).numel() == 0);
  REQUIRE_THROWS_AS(output({2, -3}, DType::float32, cpu), ShapeError);
  REQUIRE_THROWS_WITH(output({2, -3}, DType::float32, cpu), "a tensor's size cannot be negative: [2, -3]");
  const int64_t huge = int64_t{1} << 60;
  for (const Dims& shape : {Dims{huge, 16}, Dims{0, huge, huge}, Dims{huge, 0, huge}, Dims{huge, huge, 0}}) {
    REQUIRE_THROWS_AS(output(shape, DType::float32, cpu), ShapeError);
    REQUIRE_THROWS_WITH(output(shape, DType::float32, cpu), Contains("is too large"));
  }
  REQUIRE_THROWS_AS((Dims{1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
  REQUIRE_THROWS_WITH((Dims{1, 1, 1, 1, 1, 1, 1, 1, 1}), "a tensor has at most 8 dimensions");
  REQUIRE_THROWS_WITH(output({1}, DType::float32, {DeviceType::cuda, 99}), Contains("device cuda:99: "));
}

TEST_CASE("size, at and item") {
  const Tensor x = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(x.size(0) == 2);
  CHECK(x.size(-1) == 3);
  CHECK(x.at({1, 2}) == 6);
  REQUIRE_THROWS_AS(x.size(2), IndexError);
  REQUIRE_THROWS_WITH(x.size(2), "size: axis 2 is out of range for shape [2, 3] (2 axes)");
  REQUIRE_THROWS_WITH(x.size(-3), "size: axis -3 is out of range for shape [2, 3] (2 axes)");
  REQUIRE_THROWS_AS(x.at({0, 3}), IndexError);
  REQUIRE_THROWS_WITH(x.at({0, 3}), "at: index 3 is out of range for axis 1 of shape [2, 3]");
  REQUIRE_THROWS_WITH(x.at({-1, 0}), "at: index -1 is out of range for axis 0 of shape [2, 3]");
  REQUIRE_THROWS_WITH(x.at({1}), "at: 1 indices [1] for shape [2, 3]");
  REQUIRE_THROWS_AS(x.item(), ShapeError);
  REQUIRE_THROWS_WITH(x.item(), "item: shape [2, 3] has 6 elements, not 1");
  REQUIRE_THROWS_WITH(Tensor::from({}, {0}).item(), "item: shape [0] has 0 elements, not 1");
  CHECK(Tensor::from({5}, {1, 1}, DType::int32).item() == 5);
  REQUIRE_THROWS_AS(x.data<double>(), DTypeError);
  REQUIRE_THROWS_WITH(x.data<double>(), "data<float64>: the tensor is float32");
}

TEST_CASE("normalize_dim") {
  const Tensor x = Tensor::from({1, 2, 3, 4}, {2, 2}), scalar = Tensor::from({1}, {});
  CHECK(normalize_dim("sum", -1, x) == 1);
  CHECK(normalize_dim("sum", 0, x) == 0);
  CHECK(normalize_dim("sum", -1, scalar) == 0);
  CHECK(normalize_dim("sum", 0, scalar) == 0);
  REQUIRE_THROWS_AS(normalize_dim("sum", 2, x), IndexError);
  REQUIRE_THROWS_WITH(normalize_dim("sum", 2, x), "sum: axis 2 is out of range for shape [2, 2] (2 axes)");
  REQUIRE_THROWS_WITH(normalize_dim("sum", 1, scalar), "sum: axis 1 is out of range for shape [] (0 axes)");
}

TEST_CASE("views share storage and read in row-major order") {
  const Tensor x = Tensor::from({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4}, DType::int64);
  const Tensor transposed = seen(x, {4, 3}, {1, 4}, 0);
  CHECK_FALSE(transposed.is_contiguous());
  CHECK(transposed.to_vector<int64_t>() == std::vector<int64_t>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(transposed.at({3, 1}) == 7);
  CHECK(transposed.data() == x.data());
  const Tensor part = seen(x, {2, 2}, {4, 2}, 5);
  CHECK(part.to_vector<double>() == std::vector<double>{5, 7, 9, 11});
  const Tensor backwards = seen(x, {4}, {-1}, 3);
  CHECK(backwards.to_vector<int64_t>() == std::vector<int64_t>{3, 2, 1, 0});
  const Tensor repeated = seen(x, {2, 3}, {0, 1}, 1);
  CHECK(repeated.to_vector<int64_t>() == std::vector<int64_t>{1, 2, 3, 1, 2, 3});
  CHECK(seen(x, {1, 4}, {77, 1}, 4).is_contiguous());  // the stride of a size-1 axis does not matter
  const Tensor none = seen(x, {2, 0}, {4, 1}, 3);
  CHECK(none.is_contiguous());
  CHECK(none.to_vector<float>().empty());
  const int64_t huge = int64_t{1} << 40;
  REQUIRE_THROWS_WITH(view(x, {huge, huge}, {0, 0}, 0), "a view of shape [1099511627776, 1099511627776] is too large");
  // Writing a part of an Output.
  const Output y = output({2, 2}, DType::float32, cpu);
  for (int64_t i = 0; i < 4; ++i) y.data<float>()[i] = 0;
  y.view({2}, {2}, 1).data<float>()[0] = 5;
  CHECK(no_gradient(y).to_vector<float>() == std::vector<float>{0, 5, 0, 0});
}

TEST_CASE("an undefined tensor answers with an error") {
  const Tensor x;
  CHECK_FALSE(x.defined());
  const std::string text = "the tensor is undefined: it has no value, shape or dtype";
  REQUIRE_THROWS_AS(x.shape(), ValueError);
  REQUIRE_THROWS_WITH(x.shape(), text);
  REQUIRE_THROWS_WITH(x.strides(), text);
  REQUIRE_THROWS_WITH(x.rank(), text);
  REQUIRE_THROWS_WITH(x.numel(), text);
  REQUIRE_THROWS_WITH(x.dtype(), text);
  REQUIRE_THROWS_WITH(x.device(), text);
  REQUIRE_THROWS_WITH(x.data(), text);
  REQUIRE_THROWS_WITH(x.data<float>(), text);
  REQUIRE_THROWS_WITH(x.item(), text);
  REQUIRE_THROWS_WITH(x.at({0}), text);
  REQUIRE_THROWS_WITH(x.size(0), text);
  REQUIRE_THROWS_WITH(x.to_vector<float>(), text);
  REQUIRE_THROWS_WITH(x.is_contiguous(), text);
  REQUIRE_THROWS_WITH(x.requires_grad(), text);
}
