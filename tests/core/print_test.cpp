// Printing. The expected texts are NumPy 2's (repr with precision 4), but for the word in front and the dtypes that are
// worth mentioning.
#include "tutti/core/print.h"

#include <cmath>
#include <numeric>
#include <sstream>

#include "support/catch.h"
#include "support/on_cpu.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

using namespace tutti;

namespace {
Tensor arange(const Dims& shape, DType dtype = DType::int64) {
  return reshape(tutti::arange(0, shape.product(), 1, {.dtype = dtype}), shape);
}
}  // namespace

TEST_CASE("printing numbers") {
  const tutti_test::OnCpu here;
  CHECK(to_string(Tensor()) == "Tensor()");
  CHECK(to_string(Tensor::from({3.5}, {})) == "Tensor(3.5)");
  CHECK(to_string(Tensor::from({3}, {})) == "Tensor(3.)");
  CHECK(to_string(Tensor::from({1, 2, 3}, {3})) == "Tensor([1., 2., 3.])");
  CHECK(to_string(Tensor::from({1.5, 2.25, -3}, {3})) == "Tensor([ 1.5 ,  2.25, -3.  ])");
  CHECK(to_string(Tensor::from({0.1, 1.0 / 3, 2}, {3})) == "Tensor([0.1   , 0.3333, 2.    ])");
  CHECK(to_string(Tensor::from({0.1}, {1}, DType::float64)) == "Tensor([0.1], dtype=float64)");
  CHECK(to_string(Tensor::from({NAN, INFINITY, -INFINITY, 1.5}, {4})) == "Tensor([ nan,  inf, -inf,  1.5])");
  CHECK(to_string(Tensor::from({-0.0, 0.0}, {2})) == "Tensor([-0.,  0.])");
  CHECK(to_string(Tensor::from({1e10, 1}, {2})) == "Tensor([1.e+10, 1.e+00])");
  CHECK(to_string(Tensor::from({0.00001, 1.5}, {2})) == "Tensor([1.0e-05, 1.5e+00])");
  CHECK(to_string(Tensor::from({0.00012345678, -12}, {2})) == "Tensor([ 1.2346e-04, -1.2000e+01])");
  CHECK(to_string(Tensor::from({1e-300}, {1}, DType::float64)) == "Tensor([1.e-300], dtype=float64)");
  CHECK(to_string(Tensor::from({1, 2}, {2}, DType::float16)) == "Tensor([1., 2.], dtype=float16)");
  CHECK(to_string(Tensor::from({1, 2}, {2}, DType::bfloat16)) == "Tensor([1., 2.], dtype=bfloat16)");
}

TEST_CASE("printing half types: the shortest text that reads back in the dtype") {
  const tutti_test::OnCpu here;
  CHECK(to_string(Tensor::from({0.66}, {1}, DType::float16)) == "Tensor([0.66], dtype=float16)");
  CHECK(to_string(Tensor::from({0.1, 65504, 2}, {3}, DType::float16)) ==
        "Tensor([1.00e-01, 6.55e+04, 2.00e+00], dtype=float16)");
  CHECK(to_string(Tensor::from({0.1, -3.14159}, {2}, DType::bfloat16)) == "Tensor([ 0.1 , -3.14], dtype=bfloat16)");
  CHECK(to_string(Tensor::from({1e-7, NAN, -INFINITY}, {3}, DType::float16)) ==
        "Tensor([1.e-07,    nan,   -inf], dtype=float16)");
  const PrintOptions all{.precision = 64};
  const auto check = [&]<class Half>(Half) {
    size_t wrong = 0;
    for (uint32_t bits = 0; bits < 0x10000; bits += 3) {
      const Half h{static_cast<uint16_t>(bits)};
      if (!std::isfinite(static_cast<float>(h))) continue;
      const std::string text = to_string(Tensor::from(std::vector<Half>{h}, {1}), all);
      const double read = std::strtod(text.c_str() + text.find('[') + 1, nullptr);
      wrong += Half::from(read).bits != bits;
    }
    CHECK(wrong == 0);
  };
  check(float16{});
  check(bfloat16{});
}

TEST_CASE("printing integers and booleans") {
  const tutti_test::OnCpu here;
  CHECK(to_string(Tensor::from({1, -20, 3}, {3}, DType::int64)) == "Tensor([  1, -20,   3])");
  CHECK(to_string(Tensor::from(std::vector<int64_t>{(int64_t{1} << 53) + 1}, {1})) == "Tensor([9007199254740993])");
  CHECK(to_string(Tensor::from({1, 2}, {2}, DType::int32)) == "Tensor([1, 2], dtype=int32)");
  CHECK(to_string(Tensor::from({1, 200}, {2}, DType::uint8)) == "Tensor([  1, 200], dtype=uint8)");
  CHECK(to_string(Tensor::from({1, 0}, {2}, DType::boolean)) == "Tensor([ True, False])");
  CHECK(to_string(Tensor::from({1}, {}, DType::boolean)) == "Tensor(True)");
}

TEST_CASE("printing shapes") {
  const tutti_test::OnCpu here;
  CHECK(to_string(arange({2, 3})) == "Tensor([[0, 1, 2],\n        [3, 4, 5]])");
  CHECK(to_string(arange({2, 2, 2})) == "Tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])");
  CHECK(to_string(arange({1, 1, 1})) == "Tensor([[[0]]])");
  CHECK(to_string(arange(0)) == "Tensor([], shape=[0])");
  CHECK(to_string(arange({3, 0}, DType::float64)) == "Tensor([], shape=[3, 0], dtype=float64)");
  CHECK(to_string(zeros({int64_t{1} << 40, 0})) == "Tensor([], shape=[1099511627776, 0])");
  const Tensor x = arange({2, 3});
  CHECK(to_string(no_gradient(view(x, {3, 2}, {1, 3}, 0))) == "Tensor([[0, 3],\n        [1, 4],\n        [2, 5]])");
}

TEST_CASE("printing long tensors") {
  const tutti_test::OnCpu here;
  CHECK(to_string(arange(2000)) == "Tensor([   0,    1,    2, ..., 1997, 1998, 1999], shape=[2000])");
  CHECK(to_string(arange({50, 50})) ==
        "Tensor([[   0,    1,    2, ...,   47,   48,   49],\n"
        "        [  50,   51,   52, ...,   97,   98,   99],\n"
        "        [ 100,  101,  102, ...,  147,  148,  149],\n"
        "        ...,\n"
        "        [2350, 2351, 2352, ..., 2397, 2398, 2399],\n"
        "        [2400, 2401, 2402, ..., 2447, 2448, 2449],\n"
        "        [2450, 2451, 2452, ..., 2497, 2498, 2499]], shape=[50, 50])");
  CHECK(
      to_string(arange({500, 3, 1}), {.edge_items = 1}) ==
      "Tensor([[[   0],\n         ...,\n         [   2]],\n\n        ...,\n\n        [[1497],\n         ...,\n         "
      "[1499]]], shape=[500, 3, 1])");
  CHECK(to_string(arange(30)) ==
        "Tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16,\n"
        "        17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
  CHECK(to_string(arange(5), {.threshold = 4, .edge_items = 1}) == "Tensor([0, ..., 4], shape=[5])");
  CHECK(to_string(arange(4), {.line_width = 1}) == "Tensor([0,\n        1,\n        2,\n        3])");
  CHECK(to_string(Tensor::from({1.0 / 3}, {1}), {.precision = 2}) == "Tensor([0.33])");
  CHECK(to_string(Tensor::from({1.5}, {1}), {.precision = 0}) == "Tensor([2.])");
}

TEST_CASE("printing to a stream") {
  const tutti_test::OnCpu here;
  std::ostringstream out;
  out << Tensor::from({1, 2}, {2});
  CHECK(out.str() == "Tensor([1., 2.])");
}
