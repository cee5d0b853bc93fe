// Views: the same storage under other shapes, for every layout, with gradients; and when reshape has to copy.
#include "tutti/ops/shape.h"

#include "support/catch.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/random.h"
#include "tutti/ops/reduce.h"

using namespace tutti;
using namespace tutti_test;

namespace {

using Values = std::vector<double>;

bool shares_storage(const Tensor& a, const Tensor& b) { return a.impl()->storage == b.impl()->storage; }

/// y's element at an index is x's at from(index).
Array moved(const Array& x, const Dims& shape, const std::function<Dims(const Dims&)>& from) {
  Array y(shape);
  const Dims to_strides = contiguous_strides(shape), from_strides = contiguous_strides(x.shape);
  for (int64_t k = 0; k < y.numel(); ++k) {
    Dims index = shape;
    for (int i = 0; i < shape.n; ++i) index[i] = k / to_strides[i] % shape[i];
    const Dims at = from(index);
    int64_t offset = 0;
    for (int i = 0; i < at.n; ++i) offset += at[i] * from_strides[i];
    y[k] = x[offset];
  }
  return y;
}

}  // namespace

TEST_CASE("reshape and its gradient, behind every layout") {
  op_test("reshape", {.kernels = "",
                      .shapes = {{{2, 3, 4}}, {{4, 6}}, {{24}}, {{1, 24, 1}}},
                      .op =
                          [](const Tensors& x) {
                            return reshape(x[0], {3, -1, 2});
                          },
                      .reference =
                          [](const Arrays& x) {
                            Array y = x[0];
                            y.shape = {3, 4, 2};
                            return y;
                          }});
}

TEST_CASE("permute and transpose and their gradients") {
  op_test("permute",
          {.shapes = {{{2, 3, 4}}, {{1, 5, 2}}, {{3, 0, 2}}},
           .op =
               [](const Tensors& x) {
                 return permute(x[0], {2, 0, -2});
               },
           .reference =
               [](const Arrays& x) {
                 const Dims& s = x[0].shape;
                 return moved(x[0], {s[2], s[0], s[1]}, [](const Dims& i) { return Dims{i[1], i[2], i[0]}; });
               }});
  op_test("transpose", {.shapes = {{{2, 3, 5}}},
                        .op = [](const Tensors& x) { return transpose(x[0], 0, -1); },
                        .reference =
                            [](const Arrays& x) {
                              return moved(x[0], {5, 3, 2}, [](const Dims& i) { return Dims{i[2], i[1], i[0]}; });
                            }});
}

TEST_CASE("slice and select and their gradients") {
  op_test("slice",
          {.shapes = {{{3, 7}}, {{2, 8}}},
           .op = [](const Tensors& x) { return slice(x[0], 1, 1, -1, 2); },
           .reference =
               [](const Arrays& x) {
                 return moved(x[0], {x[0].shape[0], 3}, [](const Dims& i) { return Dims{i[0], 1 + 2 * i[1]}; });
               }});
  op_test("slice by ones", {.kernels = "copy fill",
                            .shapes = {{{5, 3}}},
                            .op = [](const Tensors& x) { return slice(x[0], 0, 1, 4); },
                            .reference =
                                [](const Arrays& x) {
                                  return moved(x[0], {3, 3}, [](const Dims& i) { return Dims{i[0] + 1, i[1]}; });
                                }});
  op_test("select", {.shapes = {{{3, 4, 2}}},
                     .op = [](const Tensors& x) { return select(x[0], 1, -1); },
                     .reference =
                         [](const Arrays& x) {
                           return moved(x[0], {3, 2}, [](const Dims& i) { return Dims{i[0], 3, i[1]}; });
                         }});
}

TEST_CASE("expand, unsqueeze, squeeze and flatten and their gradients") {
  op_test("expand", {.shapes = {{{3, 1}}, {{1, 1}}, {{1}}},
                     .op =
                         [](const Tensors& x) {
                           return expand(x[0], {2, x[0].rank() == 2 ? -1 : 3, 4});
                         },
                     .reference =
                         [](const Arrays& x) {
                           const int64_t n = x[0].shape.n == 2 ? x[0].shape[0] : 3;
                           return moved(x[0], {2, n, 4}, [&](const Dims& i) {
                             return x[0].shape.n == 2 ? Dims{n == 1 ? 0 : i[1], 0} : Dims{0};
                           });
                         }});
  op_test("unsqueeze", {.shapes = {{{2, 3}}, {{4, 1}}},
                        .op = [](const Tensors& x) { return unsqueeze(x[0], -2); },
                        .reference =
                            [](const Arrays& x) {
                              Array y = x[0];
                              y.shape = {y.shape[0], 1, y.shape[1]};
                              return y;
                            }});
  op_test("squeeze", {.shapes = {{{2, 1, 3}}},
                      .op = [](const Tensors& x) { return squeeze(x[0], 1); },
                      .reference =
                          [](const Arrays& x) {
                            Array y = x[0];
                            y.shape = {2, 3};
                            return y;
                          }});
  op_test("flatten", {.shapes = {{{2, 3, 2}}},
                      .op = [](const Tensors& x) { return flatten(x[0], 1); },
                      .reference =
                          [](const Arrays& x) {
                            Array y = x[0];
                            y.shape = {2, 6};
                            return y;
                          }});
}

TEST_CASE("reshape is a view wherever the strides allow it") {
  const Tensor x = arange(24);
  CHECK(shares_storage(reshape(x, {2, 3, 4}), x));
  const Tensor y = reshape(x, {2, 3, 4});
  CHECK(shares_storage(reshape(transpose(y, 0, 1), {3, 2, 2, 2}), x));  // splits an axis
  CHECK(shares_storage(reshape(slice(y, 0, 0, 1), {12}), x));
  CHECK(shares_storage(reshape(slice(y, 2, 0, 2), {6, 2}), x));  // joins the first two
  CHECK(shares_storage(reshape(expand(reshape(x, {1, 24}), {5, 24}), {5, 4, 6}), x));
  CHECK(shares_storage(reshape(slice(x, 0, 0, 24, 3), {2, 4}), x));  // a regular step
  CHECK_FALSE(shares_storage(reshape(transpose(y, 0, 1), {24}), x));
  CHECK_FALSE(shares_storage(reshape(slice(y, 2, 0, 2), {12}), x));
  CHECK_FALSE(shares_storage(reshape(expand(reshape(x, {1, 24}), {5, 24}), {120}), x));
  CHECK(reshape(transpose(reshape(arange(6), {2, 3}), 0, 1), {6}).to_vector<double>() == Values{0, 3, 1, 4, 2, 5});
  CHECK(reshape(slice(x, 0, 0, 24, 3), {2, 4}).to_vector<double>() == Values{0, 3, 6, 9, 12, 15, 18, 21});
}

TEST_CASE("0-d and empty tensors have views too") {
  const Tensor one = full({}, 3);
  CHECK(reshape(one, {1, 1}).shape() == Dims{1, 1});
  CHECK(reshape(full({1, 1}, 3), {}).item() == 3);
  CHECK(unsqueeze(one, 0).shape() == Dims{1});
  CHECK(unsqueeze(one, -1).shape() == Dims{1});
  CHECK(flatten(one).shape() == Dims{1});
  CHECK(permute(one, {}).item() == 3);
  CHECK(transpose(one, 0, -1).item() == 3);
  CHECK(squeeze(one, 0).item() == 3);
  CHECK(expand(one, {2, 2}).to_vector<double>() == Values{3, 3, 3, 3});
  const Tensor empty_one = zeros({2, 0, 3});
  CHECK(reshape(empty_one, {0, 5}).shape() == Dims{0, 5});
  CHECK(reshape(empty_one, {3, -1, 2}).shape() == Dims{3, 0, 2});
  CHECK(reshape(transpose(empty_one, 0, 2), {0}).numel() == 0);
  CHECK(slice(empty_one, 1, 0, 5).numel() == 0);
  CHECK(slice(arange(5), 0, 4, 2).shape() == Dims{0});
  CHECK(split(empty_one, Dims{0, 0}, 1).size() == 2);
  CHECK(chunk(empty_one, 3, 1).size() == 1);
  Tensor leaf = zeros({0, 3}).requires_grad_();
  sum(slice(leaf, 1, 1, 2)).backward();
  CHECK(leaf.grad().shape() == Dims{0, 3});
}

TEST_CASE("slice cuts positions as Python does") {
  const Tensor x = arange(10);
  CHECK(slice(x, 0, -3, 100).to_vector<double>() == Values{7, 8, 9});
  CHECK(slice(x, 0, -100, 2).to_vector<double>() == Values{0, 1});
  CHECK(slice(x, 0, 1, 8, 3).to_vector<double>() == Values{1, 4, 7});
  CHECK(slice(x, 0, 5, 5).numel() == 0);
  CHECK(slice(x, 0, INT64_MIN, INT64_MAX, INT64_MAX).to_vector<double>() == Values{0});
  CHECK(slice(slice(x, 0, 1, 10, 2), 0, 1, 5, 2).to_vector<double>() == Values{3, 7});
}

TEST_CASE("views of every dtype") {
  for (DType t : {DType::bfloat16, DType::float16, DType::int64, DType::int32, DType::uint8, DType::boolean}) {
    const Tensor x = Tensor::from({1, 0, 0, 1, 1, 0}, {2, 3}, t);
    INFO(name_of(t));
    CHECK(contiguous(transpose(x, 0, 1)).to_vector<float>() == std::vector<float>{1, 1, 0, 1, 0, 0});
    CHECK(reshape(transpose(x, 0, 1), {6}).dtype() == t);
  }
}

TEST_CASE("split and chunk give views of one node") {
  const Tensor x = arange(0, 14, 1, {.dtype = DType::float64});
  const auto pieces = split(x, 4);
  REQUIRE(pieces.size() == 4);
  CHECK(pieces[3].to_vector<double>() == Values{12, 13});
  CHECK(shares_storage(pieces[3], x));
  CHECK(split(x, Dims{1, 0, 13})[2].shape() == Dims{13});
  CHECK(split(x, 100).size() == 1);
  CHECK(split(x, {14}).size() == 1);
  CHECK_THROWS_AS(split(x, {4}), ShapeError);
  CHECK(chunk(x, 4).size() == 4);  // pieces of 4
  CHECK(chunk(x, 6).size() == 5);  // pieces of 3, as in PyTorch
  CHECK(chunk(x, INT64_MAX).size() == 14);

  Tensor leaf = arange(0, 12, 1, {.dtype = DType::float64}).requires_grad_();
  const auto thirds = chunk(reshape(leaf, {2, 6}), 3, 1);
  CHECK(thirds[0].impl()->node == thirds[2].impl()->node);
  (sum(mul(thirds[0], thirds[0])) + 3 * sum(thirds[2])).backward();  // nothing comes from the middle one
  CHECK(leaf.grad().to_vector<double>() == Values{0, 2, 0, 0, 3, 3, 12, 14, 0, 0, 3, 3});
}

TEST_CASE("split into more than 255 pieces") {
  Tensor x = zeros({1000}).requires_grad_();
  const auto pieces = split(x, 1);
  (sum(pieces[999]) + 2 * sum(pieces[300])).backward();
  const auto g = x.grad().to_vector<double>();
  CHECK(g[999] == 1);
  CHECK(g[300] == 2);
  CHECK(g[300 % 256] == 0);
}

TEST_CASE("split pieces and their gradients match slices") {
  op_test("split", {.kernels = "copy",
                    .shapes = {{{2, 7, 3}}},
                    .op =
                        [](const Tensors& x) {
                          const auto p = split(x[0], Dims{2, 1, 4}, -2);
                          return add(sum(p[0], 1), mul(sum(p[2], 1), sum(p[0], 1)));
                        },
                    .reference =
                        [](const Arrays& x) {
                          Array y({2, 3});
                          for (int64_t b = 0; b < 2; ++b)
                            for (int64_t c = 0; c < 3; ++c) {
                              double first = 0, last = 0;
                              for (int64_t i = 0; i < 2; ++i) first += x[0][(b * 7 + i) * 3 + c];
                              for (int64_t i = 3; i < 7; ++i) last += x[0][(b * 7 + i) * 3 + c];
                              y[b * 3 + c] = first + last * first;
                            }
                          return y;
                        },
                    .half = false});
}

TEST_CASE("second derivatives pass through views") {
  Tensor x = Tensor::from(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3}).requires_grad_();
  const Tensor y = transpose(slice(x, 1, 0, 3, 2), 0, 1);
  const Tensor z = split(reshape(y, {4}), 2)[1];
  const Tensor first = grad({sum(mul(mul(z, z), z))}, {x}, {}, {.create_graph = true})[0];
  const Tensor second = grad({sum(first)}, {x})[0];
  CHECK(second.to_vector<double>() == Values{0, 0, 18, 0, 0, 36});
}

TEST_CASE("mistakes with views are typed errors with the whole story") {
  const Tensor x = zeros({2, 3}), undefined;
  CHECK_THROWS_AS(reshape(x, {4, 2}), ShapeError);
  CHECK_THROWS_WITH(reshape(x, {4, 2}), "reshape: shape [2, 3] to [4, 2]: the numbers of elements differ");
  CHECK_THROWS_WITH(reshape(x, {-1, -1}), "reshape: shape [2, 3] to [-1, -1]: only one size may be -1");
  CHECK_THROWS_WITH(reshape(x, {-2, -3}), "reshape: shape [2, 3] to [-2, -3]: a size is negative");
  CHECK_THROWS_WITH(reshape(x, {-1, 4}), "reshape: shape [2, 3] to [-1, 4]: the number of elements is not divisible");
  CHECK_THROWS_WITH(reshape(zeros({0}), {-1, 0}), "reshape: shape [0] to [-1, 0]: -1 is ambiguous beside a size of 0");
  CHECK_THROWS_AS(reshape(x, {INT64_MAX, INT64_MAX}), ShapeError);
  CHECK_THROWS_AS(reshape(undefined, {1}), ValueError);
  CHECK_THROWS_WITH(reshape(undefined, {1}), "reshape: x is undefined");
  CHECK_THROWS_AS(permute(x, {0, 0}), ShapeError);
  CHECK_THROWS_WITH(permute(x, {0, 0}), "permute: axes [0, 0] are not an order of the 2 axes of [2, 3]");
  CHECK_THROWS_AS(permute(x, {0, 2}), IndexError);
  CHECK_THROWS_WITH(transpose(x, 0, 2), "transpose: axis 2 is out of range for shape [2, 3] (2 axes)");
  CHECK_THROWS_AS(slice(x, 1, 0, 2, 0), ValueError);
  CHECK_THROWS_WITH(slice(x, 1, 0, 2, -1), "slice: step -1 must be positive");
  CHECK_THROWS_WITH(slice(x, -3, 0, 2), "slice: axis -3 is out of range for shape [2, 3] (2 axes)");
  CHECK_THROWS_WITH(slice(full({}, 1), 0, 0, 1), "slice: a 0-d tensor has no axis 0");
  CHECK_THROWS_AS(select(x, 1, 3), IndexError);
  CHECK_THROWS_WITH(select(x, 1, -4), "select: index -4 is out of range for axis 1 of shape [2, 3]");
  CHECK_THROWS_WITH(unsqueeze(x, 3), "unsqueeze: axis 3 is out of range for shape [2, 3] (2 axes)");
  CHECK_THROWS_WITH(squeeze(x, 1), "squeeze: axis 1 of shape [2, 3] has size 3, not 1");
  CHECK_THROWS_WITH(flatten(x, 1, 0), "flatten: first axis 1 lies behind the last, 0");
  CHECK_THROWS_WITH(expand(x, {3, 3}), "expand: shape [2, 3] does not broadcast to [3, 3] at axis 0");
  CHECK_THROWS_WITH(expand(x, {3}), "expand: shape [2, 3] has more axes than [3]");
  CHECK_THROWS_WITH(expand(x, {-1, 2, 3}), "expand: shape [2, 3] does not broadcast to [-1, 2, 3] at axis 0");
  CHECK_THROWS_AS(split(x, Dims{1, 1}, 1), ShapeError);
  CHECK_THROWS_WITH(split(x, Dims{1, 1}, 1),
                    "split: sizes [1, 1] do not add up to 3, the size of axis 1 of shape [2, 3]");
  CHECK_THROWS_WITH(split(x, Dims{4, -1}, 1), "split: sizes [4, -1]: one is negative");
  CHECK_THROWS_AS(split(x, 0), ValueError);
  CHECK_THROWS_WITH(split(x, 0), "split: the pieces' size must be positive, not 0");
  CHECK_THROWS_WITH(chunk(x, -2), "chunk: the number of pieces must be positive, not -2");
}

TEST_CASE("operations with nothing to do want no gradient under no_grad either") {
  const Tensor x = Tensor::from({1, 2, 3}, {3}).requires_grad_(), scalar = Tensor::from({1}, {}).requires_grad_();
  const auto views = [&] {
    return std::vector<Tensor>{reshape(x, {3}),
                               reshape(x, {-1}),
                               flatten(x),
                               expand(x, {3}),
                               squeeze(x),
                               squeeze(scalar, -1),
                               slice(x, 0, 0, 3),
                               sum_to(x, {3}),
                               transpose(x, 0, 0),
                               permute(x, {0}),
                               to(x, DType::float32),
                               to(x, x.device()),
                               dropout(x, 0.5, false),
                               dropout(x, 0, true),
                               contiguous(x)};
  };
  for (const Tensor& y : views()) CHECK(y.requires_grad());
  const no_grad off;
  for (const Tensor& y : views()) {
    CHECK_FALSE(y.requires_grad());
    CHECK(y.data() == (y.rank() ? x : scalar).data());
  }
}
