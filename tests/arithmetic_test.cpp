#include "tutti/ops/arithmetic.h"

#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"

using namespace tutti;

TEST_CASE("add and mul, first values") {
  const Tensor a = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}), b = Tensor::from({10, 20, 30}, {3});
  CHECK(add(a, b).to_vector<double>() == std::vector<double>{11, 22, 33, 14, 25, 36});
  CHECK(mul(a, 2).to_vector<double>() == std::vector<double>{2, 4, 6, 8, 10, 12});
  CHECK(to(a, DType::int64).to_vector<double>() == a.to_vector<double>());
}
