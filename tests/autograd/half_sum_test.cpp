// Gradients of the half types that meet at one tensor are added in float32 and rounded once.
#include "support/devices.h"
#include "support/op_test.h"
#include "tutti/autograd/checkpoint.h"
#include "tutti/autograd/node.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// Ones added in float16 stop at 2048, in bfloat16 at 256.
int64_t uses(DType t) { return t == DType::float16 ? sized(3000, 2100) : sized(3000, 300); }

/// What this number is in the dtype.
double rounded(DType t) { return full({}, uses(t), {.dtype = t}).item(); }

/// The loss whose gradient with respect to each element of x is uses(), by as many edges.
Tensor many_edges(const Tensor& x) {
  Tensor total;
  for (int64_t i = 0; i < uses(x.dtype()); ++i) {
    const Tensor part = sum(x);
    total = total.defined() ? add(total, part) : part;
  }
  return total;
}

}  // namespace

TEST_CASE("a half-precision leaf that is used many times") {
  for (const DType t : {DType::bfloat16, DType::float16}) {
    INFO(name_of(t));
    const Tensor x = zeros({3}, {.dtype = t}).requires_grad_();
    many_edges(x).backward();
    CHECK(x.grad().dtype() == t);
    CHECK(x.grad().to_vector<double>() == std::vector<double>(3, rounded(t)));
    CHECK(grad({many_edges(x)}, {x})[0].to_vector<double>() == std::vector<double>(3, rounded(t)));
    int calls = 0;
    x.zero_grad();
    x.register_hook([&](const Tensor& g) {
      ++calls;
      CHECK(g.dtype() == t);
      return Tensor();
    });
    many_edges(x).backward({.create_graph = true});
    CHECK(calls == 1);
    CHECK(x.grad().to_vector<double>() == std::vector<double>(3, rounded(t)));
  }
}

TEST_CASE("a half-precision result that is used many times") {
  for (const DType t : {DType::bfloat16, DType::float16}) {
    INFO(name_of(t));
    const Tensor x = zeros({2}, {.dtype = t}).requires_grad_();
    const Tensor y = mul(x, 1.0);
    y.register_hook([&](const Tensor& g) {
      CHECK(g.dtype() == t);
      return Tensor();
    });
    many_edges(y).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>(2, rounded(t)));
  }
}

TEST_CASE("a half-precision leaf: two backwards add up, and float32 leaves beside it are as before") {
  const Tensor x = ones({2}, {.dtype = DType::bfloat16}).requires_grad_(), w = ones({2}).requires_grad_();
  sum(mul(x, x)).backward();
  sum(mul(x, x)).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{4, 4});
  sum(mul(w, w)).backward();
  CHECK(w.grad().to_vector<double>() == std::vector<double>{2, 2});
  x.zero_grad();
  const Tensor y = checkpoint([](const Tensors& v) { return mul(v[0], v[0]); }, {x});
  sum(add(y, x)).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{3, 3});
}
