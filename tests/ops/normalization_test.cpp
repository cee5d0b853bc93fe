#include "tutti/ops/normalization.h"

#include <cmath>
#include <limits>

#include "support/lines.h"
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

Array normalized(const Array& x, double eps, bool center) {
  return map_lines(x, x.shape.n - 1, [=](const Values& v) {
    double mean = 0, squares = 0;
    for (double e : v) mean += e;
    mean = center ? mean / static_cast<double>(v.size()) : 0;
    for (double e : v) squares += (e - mean) * (e - mean);
    Values y;
    for (double e : v) y.push_back((e - mean) / std::sqrt(squares / static_cast<double>(v.size()) + eps));
    return y;
  });
}
Array scaled(Array y, const Array* weight, const Array* bias) {
  const int64_t n = y.shape[y.shape.n - 1];
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = y[i] * (weight ? (*weight)[i % n] : 1) + (bias ? (*bias)[i % n] : 0);
  return y;
}

}  // namespace

TEST_CASE("layer_norm equals a plain loop, and so do its gradients") {
  const std::vector<std::vector<Dims>> shapes{
      {{2, 3, 37}, {37}, {37}}, {{5, 1}, {1}, {1}}, {{16}, {16}, {16}}, {{0, 3}, {3}, {3}}, {{70, 5}, {5}, {5}}};
  op_test("layer_norm",
          {.kernels = "normalize_forward normalize_backward",
           .shapes = shapes,
           .op = [](const Tensors& x) { return layer_norm(x[0], x[1], x[2], 0.01); },
           .reference = [](const Arrays& x) { return scaled(normalized(x[0], 0.01, true), &x[1], &x[2]); },
           .gradient_tolerance = 1e-4});
  const std::vector<std::vector<Dims>> alone{{{4, 19}, {19}}};
  op_test("layer_norm with a weight only",
          {.shapes = alone,
           .op = [](const Tensors& x) { return layer_norm(x[0], x[1]); },
           .reference = [](const Arrays& x) { return scaled(normalized(x[0], 1e-5, true), &x[1], nullptr); }});
  op_test("layer_norm with a bias only",
          {.shapes = alone,
           .op = [](const Tensors& x) { return layer_norm(x[0], {}, x[1]); },
           .reference = [](const Arrays& x) { return scaled(normalized(x[0], 1e-5, true), nullptr, &x[1]); }});
  op_test("layer_norm without parameters", {.shapes = {{{3, 2, 6}}, {{2, 0}}},
                                            .op = [](const Tensors& x) { return layer_norm(x[0]); },
                                            .reference = [](const Arrays& x) { return normalized(x[0], 1e-5, true); }});
}

TEST_CASE("rms_norm equals a plain loop, and so do its gradients") {
  op_test("rms_norm",
          {.kernels = "normalize_forward normalize_backward",
           .shapes = {{{2, 3, 37}, {37}}, {{5, 1}, {1}}, {{70, 5}, {5}}, {{3, 0}, {0}}},
           .op = [](const Tensors& x) { return rms_norm(x[0], x[1], 0.01); },
           .reference = [](const Arrays& x) { return scaled(normalized(x[0], 0.01, false), &x[1], nullptr); }});
  op_test("rms_norm without a weight", {.shapes = {{{4, 18}}},
                                        .op = [](const Tensors& x) { return rms_norm(x[0]); },
                                        .reference = [](const Arrays& x) { return normalized(x[0], 1e-6, false); }});
}

TEST_CASE("layer_norm of nearly equal and of equal values") {
  for_each_isa([](const char*) {
    for (DType t : {DType::float32, DType::float64}) {
      check_close(
          layer_norm(Tensor::from({40000, 40001, 40002, 40003}, {1, 4}, t)),
          [] {
            Array y(Dims{1, 4});
            y.v = {-1.341635, -.447212, .447212, 1.341635};
            return y;
          }(),
          2e-6);
      CHECK(layer_norm(Tensor::from({14, 14}, {2}, t), {}, {}, 1e-6).to_vector<double>() == Values{0, 0});
      for (int64_t n : {3, 100, 4097})
        for (double v : layer_norm(full({n}, 0.1, {.dtype = t})).to_vector<double>()) CHECK(v == 0);
      const Tensor one = Tensor::from({.3, -7, 1e6}, {3, 1}, t);
      const Tensor y = layer_norm(one, Tensor::from({1e12}, {1}, t), Tensor::from({-1}, {1}, t));
      CHECK(y.to_vector<double>() == Values{-1, -1, -1});
    }
  });
}

TEST_CASE("weight and bias gradients at odd widths equal a float64 reference") {
  for_each_isa([](const char*) {
    const Tensor x = random_tensor({9001, 37}, DType::float32, 1), dy = random_tensor({9001, 37}, DType::float32, 2);
    const Tensor xg = reshape(x, x.shape()).requires_grad_(),
                 w = random_tensor({37}, DType::float32, 3).requires_grad_(), b = zeros({37}).requires_grad_();
    layer_norm(xg, w, b).backward(dy);
    const Array normal = normalized(Array(x), 1e-5, true), d(dy);
    Array dw(Dims{37}), db(Dims{37});
    for (int64_t i = 0; i < normal.numel(); ++i) {
      dw[i % 37] += normal[i] * d[i];
      db[i % 37] += d[i];
    }
    check_close(w.grad(), dw, 1e-6);
    check_close(b.grad(), db, 1e-6);
  });
}

TEST_CASE("normalisation gives the same bits on any number of threads, and only the gradients that are wanted") {
  const Tensor dy = random_tensor({301, 517}, DType::float32, 2);
  const auto gradients = [&](bool x_wanted, bool w_wanted, bool b_wanted) {
    Tensor x = random_tensor({301, 517}, DType::float32, 1), w = random_tensor({517}, DType::float32, 3),
           b = zeros({517});
    x.requires_grad_(x_wanted);
    w.requires_grad_(w_wanted);
    b.requires_grad_(b_wanted);
    const Tensor y = layer_norm(x, w, b);
    y.backward(dy);
    return Tensors{y.detach(), x.grad(), w.grad(), b.grad()};
  };
  set_num_threads(1);
  const Tensors one = gradients(true, true, true);
  for (int threads : {2, 6}) {
    set_num_threads(threads);
    const Tensors many = gradients(true, true, true);
    for (size_t i = 0; i < one.size(); ++i) check_identical(one[i], many[i]);
  }
  set_num_threads(0);
  check_identical(gradients(true, false, false)[1], one[1]);
  check_identical(gradients(false, true, false)[2], one[2]);
  check_identical(gradients(false, false, true)[3], one[3]);
}

TEST_CASE("normalisation differentiates twice") {
  const Tensor x = random_tensor({3, 4}, DType::float64, 8).requires_grad_(),
               w = random_tensor({4}, DType::float64, 9).requires_grad_(),
               b = random_tensor({4}, DType::float64, 10).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& v) { return layer_norm(v[0], v[1], v[2], 0.1); }, {x, w, b}));
  CHECK(gradgradcheck([](const Tensors& v) { return rms_norm(v[0], v[1], 0.1); }, {x, w}));
}

TEST_CASE("malformed normalisation says what is wrong") {
  const Tensor x = zeros({2, 3});
  REQUIRE_THROWS_WITH(layer_norm(x, zeros({2})),
                      "layer_norm: weight of shape [2] for x of shape [2, 3]; it must be [3]");
  REQUIRE_THROWS_WITH(layer_norm(x, {}, zeros({3, 1})),
                      "layer_norm: bias of shape [3, 1] for x of shape [2, 3]; it must be [3]");
  REQUIRE_THROWS_WITH(rms_norm(zeros({})), "rms_norm: x has no axis to normalise over (shape [])");
  REQUIRE_THROWS_WITH(layer_norm(x, {}, {}, -1), "layer_norm: eps must be finite and not negative, but is -1");
  REQUIRE_THROWS_WITH(layer_norm(x, {}, {}, INFINITY), "layer_norm: eps must be finite and not negative, but is inf");
  REQUIRE_THROWS_AS(layer_norm(x, zeros({3}, {.dtype = DType::float64})), DTypeError);
  REQUIRE_THROWS_WITH(rms_norm(zeros({2}, {.dtype = DType::int32})), "rms_norm: int32 is not a floating dtype");
}

TEST_CASE("layer_norm of lines without elements: second derivatives read no statistics") {  // the recorder sees it
  for (const Dims& shape : {Dims{0}, Dims{3, 0}, Dims{0, 4}}) {
    const Dims width{shape[shape.n - 1]};
    Tensor x = zeros(shape), w = ones(width), b = zeros(width);
    for (Tensor* t : {&x, &w, &b}) t->requires_grad_();
    const auto once = grad({sum(layer_norm(x, w, b))}, {x, w, b}, {}, {.create_graph = true});
    for (const Tensor& t : once) CHECK(sum(t).item() == 0);
    CHECK(grad({sum(mul(once[0], once[0]))}, {x})[0].shape() == shape);
  }
}
