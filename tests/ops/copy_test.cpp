// Copies: layouts, dtypes, in place.
#include "tutti/ops/copy.h"

#include <cmath>
#include <limits>

#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {
using Values = std::vector<double>;
const DType all_dtypes[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16,
                            DType::int64,   DType::int32,   DType::uint8,    DType::boolean};
}  // namespace

TEST_CASE("clone and to: values and gradients") {
  for (const bool convert : {false, true})
    op_test("clone", {.kernels = "copy fill",
                      .shapes = {{{3, 37}}, {{17, 20}}, {{2, 3, 4}}, {{}}, {{0, 3}}, {{20, 1, 17}}},
                      .op =
                          [=](const Tensors& x) {
                            if (!convert) return clone(x[0]);
                            return to(to(x[0], DType::float64), x[0].dtype());
                          },
                      .reference = [](const Arrays& x) { return x[0]; }});
}

TEST_CASE("clone: every dtype and every order of axes keeps the bits") {
  for_each_isa([](const char* isa) {
    for (const DType dtype : all_dtypes) {
      const Tensor x = to(random_tensor({3, 34, 5, 21}, DType::float64, 1, 0, 100), dtype);
      for (const Dims& axes : {Dims{0, 1, 2, 3}, Dims{3, 2, 1, 0}, Dims{0, 3, 2, 1}, Dims{2, 0, 3, 1}, Dims{1, 3, 0, 2},
                               Dims{0, 2, 1, 3}}) {
        INFO(isa << " " << tutti::name_of(dtype) << " " << to_string(axes));
        const Tensor view = permute(x, axes), copy = clone(view);
        CHECK(copy.is_contiguous());
        check_identical(copy, view);
        const Tensor target = permute(zeros(x.shape(), {.dtype = dtype}), axes);  // written through strides
        copy_(target, copy);
        check_identical(target, copy);
      }
    }
  });
}

TEST_CASE("transposed copies of all sizes around a tile") {
  for_each_isa([](const char* isa) {
    for (const DType dtype : {DType::float32, DType::float64, DType::uint8, DType::bfloat16})
      for (const int64_t rows : {1, 3, 4, 15, 16, 17, 33, 130})
        for (const int64_t cols : {1, 5, 15, 16, 63, 64, 65, 131}) {
          INFO(isa << " " << tutti::name_of(dtype) << " " << rows << " x " << cols);
          const Tensor x = to(random_tensor({cols, rows}, DType::float64, 1, 0, 100), dtype);
          const Tensor t = transpose(x, 0, 1);
          const auto got = clone(t).to_vector<double>(), want = t.to_vector<double>();
          CHECK(got == want);
        }
  });
}

TEST_CASE("to: conversions") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    const Tensor x = Tensor::from({-2.7, -0.5, 0, 0.5, 3.9, 100}, {6});
    CHECK(to(x, DType::int64).to_vector<double>() == Values{-2, 0, 0, 0, 3, 100});
    CHECK(to(x, DType::int32).to_vector<double>() == Values{-2, 0, 0, 0, 3, 100});
    CHECK(to(x, DType::boolean).to_vector<double>() == Values{1, 1, 0, 1, 1, 1});
    CHECK(to(to(x, DType::boolean), DType::float32).to_vector<double>() == Values{1, 1, 0, 1, 1, 1});
    CHECK(to(Tensor::from({0, 2, 256}, {3}, DType::int32), DType::boolean).to_vector<double>() == Values{0, 1, 1});
    CHECK(to(Tensor::from({std::nan("")}, {1}), DType::boolean).item() == 1);
    // What does not fit becomes the nearest that does.
    const Tensor big = Tensor::from({1e30, -1e30, INFINITY, std::nan("")}, {4});
    CHECK(to(big, DType::uint8).to_vector<double>() == Values{255, 0, 255, 0});
    CHECK(to(big, DType::int32).to_vector<int64_t>() == std::vector<int64_t>{2147483647, -2147483648, 2147483647, 0});
    CHECK(to(big, DType::int64).to_vector<int64_t>()[0] == std::numeric_limits<int64_t>::max());
    const int64_t odd = (int64_t{1} << 53) + 1;
    CHECK(to(to(Tensor::from(std::vector<int64_t>{odd}, {1}), DType::int64), DType::int64).to_vector<int64_t>()[0] ==
          odd);
    CHECK(to(arange(300), DType::uint8).at({299}) == 43);  // integers wrap around
  });
  const Tensor x = zeros({2});
  CHECK(to(x, DType::float32).impl() == x.impl());
  CHECK(to(x, x.device()).impl() == x.impl());
  Tensor w = ones({2}).requires_grad_();
  sum(to(w, DType::float64)).backward();
  CHECK(w.grad().dtype() == DType::float32);
  CHECK_FALSE(to(w, DType::int64).requires_grad());
}

TEST_CASE("copy_ and fill_ write through any strides, broadcast and convert") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    for (const DType dtype : all_dtypes) {
      const Tensor whole = zeros({6, 40}, {.dtype = dtype});
      fill_(slice(whole, 1, 1, 40, 3), 1);
      CHECK(sum(to(whole, DType::float64)).item() == 6 * 13);
      copy_(select(whole, 0, 2), Tensor::from({1}, {1}, DType::int64));
      CHECK(sum(to(whole, DType::float64)).item() == 5 * 13 + 40);
      fill_(whole, 0);
      CHECK(sum(to(whole, DType::float64)).item() == 0);
    }
    const Tensor half = zeros({5}, {.dtype = DType::bfloat16});
    fill_(half, 1.5);
    CHECK(half.at({4}) == 1.5);
    fill_(zeros({0}), 1);
    fill_(zeros({2, 0, 2}), 1);  // its first stride is 0, but nothing is repeated
    copy_(zeros({2, 0, 2}), ones({}));
  });
}

TEST_CASE("copy_ from another view of the same memory") {
  const Tensor x = Tensor::from({1, 2, 3, 4}, {2, 2});
  copy_(x, transpose(x, 0, 1));
  CHECK(x.to_vector<double>() == Values{1, 3, 2, 4});
  const Tensor line = arange(0, 100, 1, {});
  copy_(slice(line, 0, 1, 100), slice(line, 0, 0, 99));
  CHECK(line.at({99}) == 98);
  CHECK(line.at({1}) == 0);
}

TEST_CASE("copy: errors") {
  REQUIRE_THROWS_WITH(copy_(zeros({2}), zeros({3})), "copy_: shapes [2] and [3] do not broadcast at axis 0 (2 vs 3)");
  REQUIRE_THROWS_WITH(copy_(zeros({2}), zeros({3, 2})),
                      "copy_: values of shape [3, 2] do not fit a target of shape [2]");
  REQUIRE_THROWS_WITH(copy_(Tensor(), zeros({3})), "copy_: target is undefined");
  REQUIRE_THROWS_WITH(fill_(zeros({2}, {.dtype = DType::int32}), 0.5),
                      "fill_: 0.5 is not a value of int32; convert with to(x, dtype)");
  REQUIRE_THROWS_WITH(clone(Tensor()), "clone: x is undefined");
  Tensor x = zeros({2}).requires_grad_();
  REQUIRE_THROWS_WITH(fill_(x, 1),
                      "fill_: in-place change of a tensor that requires a gradient; use no_grad or an out-of-place "
                      "operation");
  {
    const no_grad off;
    fill_(x, 1);
  }
  CHECK(x.at({1}) == 1);
}

TEST_CASE("copying over a saved tensor is noticed in backward") {
  Tensor x = Tensor::from({2}, {1}).requires_grad_();
  const Tensor factor = Tensor::from({3}, {1});
  const Tensor y = mul(x, factor);
  copy_(factor, ones({1}));
  REQUIRE_THROWS_WITH(sum(y).backward(), Contains("mul") && Contains("changed in place"));
}

TEST_CASE("copies: second derivatives, and the same bits on any number of threads") {
  Tensor x = random_tensor({3, 4}, DType::float64, 1);
  x.requires_grad_();
  CHECK(gradgradcheck([](const std::vector<Tensor>& v) { return clone(transpose(v[0], 0, 1)) * 2; }, {x}));
  const Tensor big = transpose(random_tensor({301, 407}, DType::float32, 5), 0, 1);
  set_num_threads(1);
  const Tensor want = clone(big);
  for (int n : {2, 6}) {
    set_num_threads(n);
    check_identical(clone(big), want);
  }
  set_num_threads(0);
}

TEST_CASE("copy_: values that require a gradient are refused while recording") {
  const Tensor target = zeros({2});
  const Tensor x = ones({2}).requires_grad_();
  for (const Tensor& values : {x, x * 2.0, slice(x, 0, 0, 1)})
    REQUIRE_THROWS_WITH(copy_(target, values),
                        "copy_: the values require a gradient, which is lost in an in-place copy; detach() them, use "
                        "no_grad or an out-of-place operation");
  CHECK(target.at({0}) == 0);
  copy_(target, x.detach());
  CHECK(target.at({0}) == 1);
  const no_grad off;
  copy_(target, x * 2.0);
  CHECK(target.at({0}) == 2);
}
