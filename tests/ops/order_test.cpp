// flip, sort and argsort.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/lines.h"
#include "support/malformed.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// Positions in order; a NaN counts as the largest, equal ones keep their order.
std::vector<size_t> ranked(const Values& x, bool descending) {
  std::vector<size_t> at(x.size());
  std::iota(at.begin(), at.end(), size_t{0});
  const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::stable_sort(at.begin(), at.end(),
                   [&](size_t a, size_t b) { return descending ? less(x[b], x[a]) : less(x[a], x[b]); });
  return at;
}
Values sorted(const Values& x, bool descending) {
  Values y;
  for (size_t i : ranked(x, descending)) y.push_back(x[i]);
  return y;
}
Values positions(const Values& x, bool descending) {
  const auto at = ranked(x, descending);
  return Values(at.begin(), at.end());
}

}  // namespace

TEST_CASE("flip and its gradient, behind every layout") {
  for (const Dims& axes : {Dims{}, Dims{0}, Dims{2}, Dims{1, -1}, Dims{0, 1, 2}}) {
    op_test(message("flip ", axes), {.shapes = {{{3, 5, 37}}, {{1, 2, 1}}, {{2, 0, 3}}},
                                     .op = [&](const Tensors& x) { return flip(x[0], axes); },
                                     .reference =
                                         [&](const Arrays& x) {
                                           Array y = x[0];
                                           for (int64_t a : axes)
                                             y = map_lines(y, static_cast<int>(a < 0 ? a + 3 : a), [](const Values& v) {
                                               return Values(v.rbegin(), v.rend());
                                             });
                                           return y;
                                         }});
  }
  for (DType t : {DType::int64, DType::int32, DType::uint8, DType::boolean}) {
    const Tensor x = to(Tensor::from({1, 0, 0, 1, 1, 0}, {2, 3}), t);
    CHECK(flip(x, 1).to_vector<double>() == Values{0, 0, 1, 0, 1, 1});
    CHECK(flip(transpose(x, 0, 1), 0).to_vector<double>() == Values{0, 0, 0, 1, 1, 1});
  }
  CHECK(flip(full({}, 2), Dims{}).item() == 2);
  Tensor x = random_tensor({3, 4}, DType::float64, 1).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& v) { return flip(v[0] * v[0], {0, 1}); }, {x}));
}

TEST_CASE("sort equals a stable sort, and so do its gradient and argsort") {
  for (int axis : {0, 1})
    for (bool descending : {false, true})
      for (const Dims& shape : {Dims{5, 7}, Dims{75, 90}}) {
        OpTest test;
        test.kernels = "topk place";
        test.shapes = {{shape}, {{0, 3}}, {{3, 1}}};
        test.gradient = false;
        test.op = [=](const Tensors& x) { return sort(x[0], axis, descending).values; };
        test.reference = [=](const Arrays& x) {
          return map_lines(x[0], axis, [=](const Values& v) { return sorted(v, descending); });
        };
        op_test(message("sort along ", axis), test);
        if (shape[0] == 5)  // no two elements are equal
          for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced})
            CHECK(gradcheck(test.op, {with_layout(random_tensor(shape, DType::float64, 11), layout).requires_grad_()}));
        // Few distinct values, so that equal ones show their order.
        for (DType t : {DType::int32, DType::float32, DType::uint8, DType::float16}) {
          const Tensor x = to(to(random_tensor(shape, DType::float32, 4, 0, 5), DType::int32), t);
          const Array want = map_lines(Array(x), axis, [=](const Values& v) { return positions(v, descending); });
          check_close(sort(x, axis, descending).indices, want, 0);
          check_close(argsort(x, axis, descending), want, 0);
        }
      }
}

TEST_CASE("sort: NaN counts as the largest, second derivatives, scalars") {
  const Tensor x = Tensor::from({2, NAN, -INFINITY, 1, NAN, INFINITY}, {6});
  CHECK(argsort(x).to_vector<double>() == Values{2, 3, 0, 5, 1, 4});
  CHECK(argsort(x, 0, true).to_vector<double>() == Values{1, 4, 5, 0, 3, 2});
  CHECK(sort(full({}, 3)).values.item() == 3);
  CHECK(argsort(full({}, 3)).item() == 0);
  Tensor y = random_tensor({3, 4}, DType::float64, 8).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& v) { return sort(v[0] * v[0], 0).values; }, {y}));
  CHECK_FALSE(argsort(y).requires_grad());
}

TEST_CASE("malformed: flip, sort and argsort") {
  check_malformed({
      {[](const Given& g) { flip(g.x, 2); }, "IndexError", "flip: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) {
         flip(g.x, {0, -2});
       },
       "ValueError", "flip: axis -2 is given twice in [0, -2]"},
      {[](const Given& g) { flip(g.none, 0); }, "ValueError", "flip: x is undefined"},
      {[](const Given& g) { sort(g.x, 2); }, "IndexError", "sort: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { sort(g.none); }, "ValueError", "sort: x is undefined"},
      {[](const Given& g) { argsort(g.x, 2); }, "IndexError",
       "argsort: axis 2 is out of range for shape [2, 3] (2 axes)"},
      {[](const Given& g) { argsort(g.none); }, "ValueError", "argsort: x is undefined"},
  });
}
