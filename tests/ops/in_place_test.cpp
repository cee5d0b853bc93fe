// Arithmetic in place: +=, -=, *=, /=.
#include "support/malformed.h"
#include "support/op_test.h"

using namespace tutti;
using namespace tutti_test;

namespace {
using Values = std::vector<double>;
}

TEST_CASE("what is computed in place is what is computed elsewhere, in every layout and dtype") {
  for_each_isa([](const char*) {
    for (DType t : {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::int64, DType::int32})
      for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced})
        for (const Dims& other : {Dims{5, 37}, Dims{37}, Dims{5, 1}, Dims{}}) {
          const Tensor a = to(random_tensor({5, 37}, DType::float32, 1, 1, 9), t);
          const Tensor b = with_layout(to(random_tensor(other, DType::float32, 2, 1, 9), t), layout);
          const auto check = [&](const Tensor& want, const std::function<void(const Tensor&)>& change) {
            const Tensor x = with_layout(a, layout);
            change(x);
            check_identical(clone(x), want);
          };
          check(a + b, [&](const Tensor& x) { x += b; });
          check(a - b, [&](const Tensor& x) { x -= b; });
          check(a * b, [&](const Tensor& x) { x *= b; });
          check(a + 3, [&](const Tensor& x) { x += 3; });
          check(a - 3, [&](const Tensor& x) { x -= 3; });
          check(a * 3, [&](const Tensor& x) { x *= 3; });
          if (!is_floating(t)) continue;
          check(a / b, [&](const Tensor& x) { x /= b; });
          check(a / 0.5, [&](const Tensor& x) { x /= 0.5; });
        }
  });
}

TEST_CASE("in-place arithmetic is seen by every view, and reads what it overwrites first") {
  const Tensor x = arange(0, 6, 1, {});
  x[Slice{.step = 2}] += 10;
  CHECK(x.to_vector<double>() == Values{10, 1, 12, 3, 14, 5});
  x[Slice{1}] += x[Slice{.end = -1}];
  CHECK(x.to_vector<double>() == Values{10, 11, 13, 15, 17, 19});
  x *= x;
  CHECK(x.at({0}) == 100);
  const Tensor none = zeros({0, 3});
  none += 1;
  CHECK(none.numel() == 0);
}

TEST_CASE("in-place arithmetic beside gradients: a step of descent, and what is refused") {
  Tensor w = Tensor::from({1, 2}, {2}).requires_grad_();
  sum(w * w).backward();
  {
    const no_grad off;
    w -= w.grad() * 0.25;
  }
  CHECK(w.to_vector<double>() == Values{0.5, 1});
  CHECK(w.requires_grad());
  const Tensor factor = Tensor::from({3, 3}, {2}), y = sum(w * factor);
  factor += 1;
  REQUIRE_THROWS_WITH(y.backward(), Catch::Contains("mul") && Catch::Contains("changed in place"));
}

TEST_CASE("malformed: arithmetic in place") {
  check_malformed({
      {[](const Given& g) { g.x += g.leaf; }, "AutogradError",
       "add_: b requires a gradient, which is lost in an in-place change; detach() it, use no_grad or an out-of-place "
       "operation"},
      {[](const Given& g) { g.leaf *= 2; }, "AutogradError",
       "mul_: in-place change of a tensor that requires a gradient; use no_grad or an out-of-place operation"},
      {[](const Given& g) {
         g.two += g.two[0] * 0 + zeros({2, 2}, {.dtype = DType::int64});
       },
       "ShapeError", "add_: b of shape [2, 2] does not fit into a of shape [2]"},
      {[](const Given& g) { g.x -= ones({2}); }, "ShapeError",
       "sub_: shapes [2, 3] and [2] do not broadcast at axis 1 (3 vs 2)"},
      {[](const Given& g) { g.two /= 2; }, "DTypeError", "div_: int64 is not a floating dtype"},
      {[](const Given& g) { g.indices += 0.5; }, "ValueError",
       "add_: 0.5 is not a value of int64; convert with to(x, dtype)"},
      {[](const Given& g) { g.flags += g.flags; }, "DTypeError",
       "add_: bool tensors have no arithmetic; convert with to(x, dtype)"},
      {[](const Given&) { expand(zeros({1}), {3}) += 1; }, "ValueError",
       "add_: the tensor to change, of shape [3], repeats the same memory along axis 0 (expand); clone it first"},
      {[](const Given& g) { g.none += 1; }, "ValueError", "add_: a is undefined"},
      {[](const Given& g) { g.x += g.none; }, "ValueError", "add_: b is undefined"},
  });
}
