// The inter-group path: its formula, its start, gradients, what it lets a group see, errors.
#include "tutti/nn/attention/inter_group.h"

#include <cmath>

#include "support/module_gradcheck.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/nn/init.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;
using nn::InterGroupPath;

TEST_CASE("inter-group path: (W_i x_i + A x) / sqrt(2), the same A for all groups") {
  manual_seed(3);
  const InterGroupPath path({.in = 6, .groups = 2, .width = 5});
  const Tensor x = random_tensor({2, 3, 6}, DType::float32, 1), grouped = random_tensor({2, 3, 30}, DType::float32, 2);
  const Array X(x), Y(grouped), A(path.weight.tensor().detach());
  Array want({2, 3, 30});
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t part = 0; part < 3; ++part)
      for (int64_t group = 0; group < 2; ++group)
        for (int64_t w = 0; w < 5; ++w) {
          double shared = 0;
          for (int64_t c = 0; c < 6; ++c) shared += A[(part * 5 + w) * 6 + c] * X[row * 6 + c];
          const int64_t i = row * 30 + part * 10 + group * 5 + w;
          want[i] = (Y[i] + shared) / std::sqrt(2.0);
        }
  check_close(path(x, grouped).detach(), want, 1e-6);
  check_identical(path(select(x, 0, 1), select(grouped, 0, 1)).detach(), select(path(x, grouped), 0, 1).detach());
}

TEST_CASE("inter-group path: A = 0 leaves the groups' maps over sqrt(2)") {
  const InterGroupPath path({.in = 4, .groups = 2, .width = 2});
  nn::init::zeros_(path.weight);
  const Tensor x = random_tensor({3, 4}, DType::float32, 1), grouped = random_tensor({3, 12}, DType::float32, 2);
  check_identical(path(x, grouped).detach(), mul(grouped, 1 / std::sqrt(2.0)));
}

TEST_CASE("inter-group path: starts Xavier-uniform, 3 w C numbers") {
  manual_seed(4);
  const InterGroupPath path({.in = 128, .groups = 4, .width = 32});
  CHECK(path.parameter_count() == 3 * 32 * 128);
  const double bound = std::sqrt(6.0 / (128 + 32));
  for (int64_t part = 0; part < 3; ++part) {
    double top = 0;
    for (double v : select(path.weight, 0, part).to_vector<double>()) top = std::max(top, std::abs(v));
    CHECK(top <= bound);
    CHECK(top > 0.98 * bound);
  }
}

TEST_CASE("inter-group path: gradients of x, of the groups' maps and of A") {
  InterGroupPath path({.in = 6, .groups = 3, .width = 2});
  path.to(DType::float64);
  CHECK(gradcheck_module(
      path, [&](const std::vector<Tensor>& x) { return square(path(x[0], x[1])); },
      {random_tensor({2, 3, 6}, DType::float64, 1).requires_grad_(),
       random_tensor({2, 3, 18}, DType::float64, 2).requires_grad_()},
      true));
}

TEST_CASE("inter-group path: every group sees every channel") {
  const InterGroupPath path({.in = 8, .groups = 4, .width = 2});
  const Tensor weight = random_tensor({3, 4, 2, 2}, DType::float32, 1);
  for (bool open : {false, true})
    for (int64_t group = 0; group < 4; ++group) {
      const Tensor x = random_tensor({3, 8}, DType::float32, 2).requires_grad_();
      const Tensor own = grouped_linear(x, weight), y = open ? path(x, own) : own;
      sum(square(slice(y, 1, 2 * group, 2 * group + 2))).backward();  // this group's q
      for (int64_t c = 0; c < 8; ++c) CHECK((sum(abs(select(x.grad(), 1, c))).item() > 0) == (open || c / 2 == group));
    }
}

TEST_CASE("inter-group path: errors") {
  REQUIRE_THROWS_WITH(InterGroupPath({.in = 0, .width = 1}), "InterGroupPath: in is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(InterGroupPath({.in = 4, .groups = 0, .width = 1}),
                      "InterGroupPath: groups is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(InterGroupPath({.in = 4, .groups = 2}), "InterGroupPath: width is 0; it must be at least 1");
  const InterGroupPath path({.in = 4, .groups = 2, .width = 2});
  REQUIRE_THROWS_WITH(path(ones({3, 4}), ones({3, 8})),
                      "InterGroupPath: grouped [3, 8] does not end in 3 x 2 groups x 2 = 12");
  REQUIRE_THROWS_AS(path(ones({3, 5}), ones({3, 12})), ShapeError);
  REQUIRE_THROWS_WITH(path(ones({3, 4}), Tensor()), "InterGroupPath: grouped is undefined");
}
