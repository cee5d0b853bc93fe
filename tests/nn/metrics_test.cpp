// Measures of predictions on small tables.
#include "tutti/nn/metrics.h"

#include <cmath>

#include "support/op_test.h"
#include "tutti/ops/create.h"

using namespace tutti;

namespace {
const Tensor logits = Tensor::from({3, 1, 2,  //
                                    0, 5, 5,  // a tie: the first
                                    1, 2, 3,  //
                                    9, 8, 7},
                                   {4, 3});
Tensor labels(std::initializer_list<double> v) {
  return Tensor::from(v, {static_cast<int64_t>(v.size())}, DType::int64);
}
}  // namespace

TEST_CASE("metrics: accuracy and top-k accuracy") {
  CHECK(metrics::accuracy(logits, labels({0, 1, 2, 1})) == 0.75);
  CHECK(metrics::accuracy(logits, labels({0, 2, 1, 1})) == 0.25);
  CHECK(metrics::top_k_accuracy(logits, labels({1, 2, 1, 1}), 1) == 0);
  CHECK(metrics::top_k_accuracy(logits, labels({1, 2, 1, 1}), 2) == 0.75);
  CHECK(metrics::top_k_accuracy(logits, labels({1, 2, 1, 1}), 3) == 1);
  CHECK(metrics::top_k_accuracy(logits, labels({1, 2, 1, 1}), 0) == 0);
  CHECK(std::isnan(metrics::accuracy(zeros({0, 3}), labels({}))));
  CHECK(std::isnan(metrics::top_k_accuracy(zeros({0, 3}), labels({}), 1)));
}

TEST_CASE("metrics: confusion matrix and macro F1") {
  const Tensor m = metrics::confusion_matrix(logits, labels({0, 1, 1, 0}));
  CHECK(m.dtype() == DType::int64);
  CHECK(m.to_vector<int64_t>() == std::vector<int64_t>{2, 0, 0, 0, 1, 1, 0, 0, 0});
  // Class 0: F1 1; class 1: tp 1, fn 1: 2/3; class 2: fp 1: 0.
  CHECK(metrics::macro_f1(logits, labels({0, 1, 1, 0})) == Approx((1 + 2.0 / 3) / 3));
  CHECK(metrics::macro_f1(zeros({0, 3}), labels({})) == 0);
}

TEST_CASE("metrics: what does not fit is an error") {
  REQUIRE_THROWS_WITH(metrics::accuracy(logits, labels({0, 1})),
                      "accuracy: logits [4, 3] and target [2] are not [N, classes] and [N]");
  REQUIRE_THROWS_WITH(metrics::confusion_matrix(logits, labels({0, 1, 3, 0})),
                      "confusion_matrix: target 3 at position 2 is out of range [0, 3)");
  REQUIRE_THROWS_WITH(metrics::macro_f1(logits, zeros({4})), "macro_f1: target is float32, not integers");
  REQUIRE_THROWS_WITH(metrics::top_k_accuracy(logits, labels({0, 1, 2, 0}), 4),
                      "top_k_accuracy: k = 4 is out of range for 3 classes");
  REQUIRE_THROWS_WITH(metrics::accuracy(Tensor(), labels({})), "accuracy: logits or target is undefined");
}
