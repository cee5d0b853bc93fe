// SGD, Adam, AdamW against their formulae in float64, parameter groups, and clipping.
// Kernels: adam_step sgd_step gradient_norm gradient_has_nan gradient_scale gradient_clamp
#include <cmath>
#include <limits>

#include "support/op_test.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/backend.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/nn/optim/adam.h"
#include "tutti/nn/optim/clip.h"
#include "tutti/nn/optim/sgd.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

const std::vector<Dims> shapes = {{}, {1}, {15}, {16}, {17}, {3, 21}, {0, 4}, {300, 301}};  // the last: several pieces

struct Problem {
  std::vector<Tensor> parameters, gradients;
  explicit Problem(DType dtype, uint64_t seed = 1) {
    for (const Dims& s : shapes) {
      Tensor p = random_tensor(s, dtype, seed++);
      parameters.push_back(p.requires_grad_());
      gradients.push_back(random_tensor(s, dtype, seed++));
    }
  }
  void set_gradients(double factor) const {
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].set_grad(mul(gradients[i], factor));
  }
};

struct Reference {
  std::vector<double> w, m, v;
};

void adam_reference(Reference& r, const std::vector<double>& g, int t, const optim::AdamOptions& o, bool decoupled) {
  for (size_t i = 0; i < g.size(); ++i) {
    double d = g[i];
    const double before = r.w[i];
    if (!decoupled) d += o.weight_decay * before;
    r.m[i] = o.beta1 * r.m[i] + (1 - o.beta1) * d;
    r.v[i] = o.beta2 * r.v[i] + (1 - o.beta2) * d * d;
    const double m = r.m[i] / (1 - std::pow(o.beta1, t)), v = r.v[i] / (1 - std::pow(o.beta2, t));
    r.w[i] = before - (decoupled ? o.lr * o.weight_decay * before : 0) - o.lr * m / (std::sqrt(v) + o.eps);
  }
}

void sgd_reference(Reference& r, const std::vector<double>& g, int t, const optim::SGDOptions& o) {
  for (size_t i = 0; i < g.size(); ++i) {
    const double d = g[i] + o.weight_decay * r.w[i];
    r.v[i] = t == 1 ? d : o.momentum * r.v[i] + (1 - o.dampening) * d;
    const double step = o.momentum == 0 ? d : o.nesterov ? d + o.momentum * r.v[i] : r.v[i];
    r.w[i] -= o.lr * step;
  }
}

/// Five steps of an optimizer beside its reference.
template <class Make, class Step>
void compare(DType dtype, double tolerance, Make make, Step reference) {
  const Problem p(dtype);
  std::vector<Reference> want;
  for (const Tensor& x : p.parameters) {
    Reference r;
    r.w = x.to_vector<double>();
    r.m = r.v = std::vector<double>(r.w.size());
    want.push_back(r);
  }
  auto optimizer = make(p.parameters);
  for (int t = 1; t <= 5; ++t) {
    p.set_gradients(0.5 * t);
    optimizer->step();
    for (size_t i = 0; i < want.size(); ++i) reference(want[i], p.parameters[i].grad().to_vector<double>(), t);
  }
  for (size_t i = 0; i < want.size(); ++i) {
    INFO("shape " << to_string(shapes[i]) << ", " << name_of(dtype));
    Array w(shapes[i]);
    w.v = want[i].w;
    check_close(p.parameters[i].detach(), w, tolerance);
  }
}

/// A GPU finds what is wrong with gradients later than the call: at the next wait for it.
template <class F>
void and_wait(F&& f) {
  f();
  synchronize(default_device());
}

Tensor leaf(std::initializer_list<double> values, DType dtype = DType::float32) {
  Tensor t = Tensor::from(values, {static_cast<int64_t>(values.size())}, dtype);
  return t.requires_grad_();
}

}  // namespace

TEST_CASE("optim: Adam, AdamW and SGD equal their formulae on every instruction set") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    for (auto [dtype, tolerance] :
         {std::pair{DType::float32, 2e-6}, {DType::float64, 1e-13}, {DType::bfloat16, 3e-2}, {DType::float16, 4e-3}}) {
      for (double decay : {0.0, 0.1}) {
        const optim::AdamOptions a{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = decay};
        compare(
            dtype, tolerance, [&](auto p) { return std::make_unique<optim::Adam>(p, a); },
            [&](auto&&... x) { adam_reference(x..., a, false); });
        compare(
            dtype, tolerance,
            [&](auto p) {
              return std::make_unique<optim::AdamW>(p,
                                                    optim::AdamWOptions{a.lr, a.beta1, a.beta2, a.eps, a.weight_decay});
            },
            [&](auto&&... x) { adam_reference(x..., a, true); });
        for (const auto& [momentum, dampening, nesterov] :
             {std::tuple{0.0, 0.0, false}, {0.9, 0.0, false}, {0.9, 0.3, false}, {0.9, 0.0, true}}) {
          const optim::SGDOptions s{0.05, momentum, dampening, decay, nesterov};
          compare(
              dtype, tolerance, [&](auto p) { return std::make_unique<optim::SGD>(p, s); },
              [&](auto&&... x) { sgd_reference(x..., s); });
        }
      }
    }
  });
}

TEST_CASE("optim: Adam's first step moves by lr, AdamW's decay is decoupled") {
  const Tensor w = leaf({1, -3}), g = Tensor::from({1e-3, -70}, {2});
  w.set_grad(g);
  optim::Adam({w}, {.lr = 0.1, .eps = 0}).step();
  CHECK(w.at({0}) == Approx(0.9));
  CHECK(w.at({1}) == Approx(-2.9));

  const Tensor one = leaf({1}, DType::float64);
  one.set_grad(Tensor::from({1}, {1}, DType::float64));
  optim::AdamW({one}, {.lr = 0.1, .weight_decay = 0.1}).step();
  CHECK(one.item() == Approx(0.89).epsilon(1e-8));
  const Tensor still = leaf({1}, DType::float64);
  still.set_grad(Tensor::from({0}, {1}, DType::float64));
  optim::AdamW({still}, {.lr = 0.1, .weight_decay = 0.1}).step();
  CHECK(still.item() == Approx(0.99).epsilon(1e-12));
}

TEST_CASE("optim: parameters without a gradient stay, and have their own count of steps") {
  const Tensor a = leaf({1}), b = leaf({1});
  optim::Adam optimizer({a, b}, {.lr = 0.1, .eps = 0});
  for (int i = 0; i < 3; ++i) {
    a.set_grad(ones({1}));
    optimizer.step();
  }
  CHECK(b.item() == 1);
  CHECK(a.item() == Approx(0.7));
  b.set_grad(ones({1}));
  optimizer.step();
  CHECK(b.item() == Approx(0.9));  // its first step
  CHECK(optimizer.steps() == 4);
  optimizer.zero_grad();
  CHECK_FALSE(a.grad().defined());
  optimizer.step();
  CHECK(b.item() == Approx(0.9));
}

TEST_CASE("optim: groups have rates and decays of their own") {
  const Tensor a = leaf({1}), b = leaf({1}), c = leaf({1});
  optim::SGD optimizer(
      std::vector<optim::ParameterGroup>{
          {.parameters = {a}, .lr = 0.5}, {.parameters = {b}, .weight_decay = 1}, {.parameters = {c}, .lr = 0}},
      {.lr = 0.1});
  CHECK(optimizer.groups()[1].lr == 0.1);
  CHECK(optimizer.groups()[0].weight_decay == 0);
  for (const Tensor& t : {a, b, c}) t.set_grad(ones({1}));
  optimizer.step();
  CHECK(a.item() == Approx(0.5));
  CHECK(b.item() == Approx(0.8));
  CHECK(c.item() == 1);
  optimizer.groups()[2].lr = 1;
  optimizer.step();
  CHECK(c.item() == Approx(0).margin(1e-7));
}

TEST_CASE("optim: groups changed between steps are checked before anything is written") {
  const Tensor a = leaf({1}), b = leaf({1, 1});
  optim::SGD optimizer({a}, {.lr = 0.5, .momentum = 0.9});
  auto& groups = optimizer.groups();
  for (const Tensor& t : {a, b}) t.set_grad(ones(t.shape()));
  const double before = a.item();
  groups.push_back({.parameters = {b}});
  REQUIRE_THROWS_WITH(optimizer.step(), "SGD: lr of group 1 is -1; it must be in [0, inf)");
  groups[1].lr = 0.25;
  REQUIRE_THROWS_WITH(optimizer.step(), "SGD: weight_decay of group 1 is -1; it must be in [0, inf)");
  groups[1].weight_decay = 0;
  groups[0].lr = NAN;
  REQUIRE_THROWS_WITH(optimizer.step(), "SGD: lr of group 0 is nan; it must be in [0, inf)");
  groups[0].lr = 0.5;
  groups[1].parameters.push_back(a);
  REQUIRE_THROWS_WITH(optimizer.step(), "SGD: parameter 2 of shape [1] was listed before");
  groups[1].parameters[1] = transpose(zeros({2, 3}), 0, 1);
  REQUIRE_THROWS_WITH(optimizer.step(), "SGD: parameter 2 of shape [3, 2] is a strided view; train a contiguous copy");
  groups[1].parameters.pop_back();
  CHECK(a.item() == before);
  optimizer.step();
  CHECK(a.item() == Approx(before - 0.5));
  CHECK(b.at({1}) == Approx(before - 0.25));
  groups[0].parameters[0] = leaf({5});  // the momentum there is not its own
  REQUIRE_THROWS_WITH(optimizer.step(),
                      "SGD: parameter 0 of group 0 is another tensor than before; append it, or make a new optimizer");
  groups.clear();
  optimizer.step();
}

TEST_CASE("optim: a step changes tensors in place, and an older graph complains") {
  const Tensor w = leaf({2});
  const TensorImpl* before = w.impl();
  const Tensor y = mul(w, w);
  w.set_grad(ones({1}));
  optim::SGD({w}).step();
  CHECK(w.impl() == before);
  REQUIRE_THROWS_AS(y.backward(ones({1})), AutogradError);
}

TEST_CASE("optim: strided gradients and converted parameters") {
  Tensor w = zeros({3, 2});
  w.requires_grad_();
  w.set_grad(expand(full({1, 1}, 2), {3, 2}));
  optim::SGD optimizer({w}, {.lr = 1, .momentum = 0.5});
  optimizer.step();
  check_close(w.detach(), Array({3, 2}, -2), 0);
  w.set_grad(transpose(Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}), 0, 1));
  optimizer.step();  // velocity 1 + g
  CHECK(w.at({2, 0}) == -2 - 1 - 3);
  CHECK(w.at({2, 1}) == -2 - 1 - 6);
}

TEST_CASE("optim: what cannot be trained is refused") {
  const Tensor a = leaf({1});
  using Groups = std::vector<optim::ParameterGroup>;
  REQUIRE_THROWS_WITH(optim::SGD(std::vector<Tensor>{}), "SGD: there are no parameters to train");
  REQUIRE_THROWS_WITH(optim::AdamW(Groups{{.parameters = {a}}, {.parameters = {a}}}),
                      "AdamW: parameter 1 of shape [1] was listed before");
  REQUIRE_THROWS_WITH(optim::Adam({mul(a, 2)}), "Adam: parameter 0 is the result of an operation, not a leaf");
  REQUIRE_THROWS_WITH(optim::Adam({Tensor()}), "Adam: parameter 0 is undefined");
  REQUIRE_THROWS_WITH(optim::Adam({ones({2}, {.dtype = DType::int64})}),
                      "Adam: parameter 0 is int64; only floating tensors can be trained");
  REQUIRE_THROWS_WITH(optim::Adam({transpose(ones({2, 3}), 0, 1)}),
                      "Adam: parameter 0 of shape [3, 2] is a strided view; train a contiguous copy");
  REQUIRE_THROWS_WITH(optim::Adam({a}, {.lr = -1}), "Adam: lr is -1; it must be in [0, inf)");
  REQUIRE_THROWS_WITH(optim::AdamW({a}, {.beta1 = 1}), "AdamW: beta1 is 1; it must be in [0, 1)");
  REQUIRE_THROWS_WITH(optim::Adam({a}, {.lr = std::nan("")}), "Adam: lr is nan; it must be in [0, inf)");
  REQUIRE_THROWS_WITH(optim::SGD({a}, {.nesterov = true}),
                      "SGD: nesterov needs momentum > 0 and dampening 0, but momentum = 0 and dampening = 0");
}

TEST_CASE("optim: the same bits with 1, 2 and 6 threads") {
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 6}) {
    set_num_threads(threads);
    const Problem p(DType::float32);
    optim::AdamW optimizer(p.parameters);
    for (int t = 0; t < 3; ++t) {
      p.set_gradients(t + 1);
      optim::clip_grad_norm(p.parameters, 0.5);
      optimizer.step();
    }
    results.push_back(p.parameters.back().to_vector<float>());
  }
  set_num_threads(0);
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("clip_grad_norm: the joint norm, without overflow or underflow") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    for (DType dtype : {DType::float32, DType::float64}) {
      const Problem p(dtype);
      p.set_gradients(1);
      double square = 0;
      for (const Tensor& g : p.gradients)
        for (double x : g.to_vector<double>()) square += x * x;
      CHECK(optim::clip_grad_norm(p.parameters, 1e9) == Approx(std::sqrt(square)).epsilon(1e-6));
      check_identical(p.parameters.back().grad(), p.gradients.back());  // below the limit: untouched
      CHECK(optim::clip_grad_norm(p.parameters, 2) == Approx(std::sqrt(square)).epsilon(1e-6));
      CHECK(optim::clip_grad_norm(p.parameters, 1e9) == Approx(2).epsilon(1e-5));
    }
  });
  std::vector<Tensor> hundred;
  for (int i = 0; i < 100; ++i) {
    hundred.push_back(leaf({1}));
    hundred.back().set_grad(full({1}, 1e20));
  }
  CHECK(optim::clip_grad_norm(hundred, 1) == Approx(1e21));
  for (const Tensor& p : hundred) CHECK(p.grad().item() == Approx(0.1).epsilon(1e-5));

  const Tensor w = leaf({1, 2});
  for (const auto& [value, dtype] : {std::pair{3e38, DType::float32},
                                     {1e-40, DType::float32},
                                     {1e300, DType::float64},
                                     {1e-300, DType::float64},
                                     {5e-324, DType::float64}}) {
    const Tensor x = leaf({0, 0}, dtype);
    x.set_grad(full({2}, value, {.dtype = dtype}));
    CHECK(optim::clip_grad_norm({x}, value) / value == Approx(std::sqrt(2.0)).epsilon(value == 5e-324 ? 1 : 1e-4));
  }
  CHECK(optim::clip_grad_norm({w}, 1) == 0);  // no gradient
  w.set_grad(zeros({2}));
  CHECK(optim::clip_grad_norm({w, w}, 1) == 0);
  w.set_grad(full({2}, 3));
  CHECK(optim::clip_grad_norm({w, w}, 0) == Approx(std::sqrt(18.0)));
  CHECK(w.grad().at({0}) == 0);
}

TEST_CASE("clip_grad_norm over dtypes of different range") {
  for_each_isa([](const char* isa) {
    const double largest = std::numeric_limits<double>::max();
    const struct {
      double wide, narrow, max_norm, norm, wide_after, narrow_after;
    } cases[] = {{1e200, 1, 1, 1e200, 1, 0},  // 1e-200 is 0 in float32
                 {1e30, 1e30, 1, 1e30 * std::sqrt(2.), std::sqrt(.5), std::sqrt(.5)},
                 {1e-200, 0, 1e-210, 1e-200, 1e-210, 0},
                 {1e-200, 1e-40, 1e-42, 1e-40, 1e-202, 1e-42},
                 {1e200, 1e30, 1e190, 1e200, 1e190, 1e20},
                 {largest, 1, 2, largest, 2, 0}};
    for (const auto& c : cases) {
      INFO(isa << " " << c.wide << " " << c.narrow);
      const Tensor a = leaf({0}, DType::float64), b = leaf({0}), empty = leaf({0});
      a.set_grad(full({1}, c.wide, {.dtype = DType::float64}));
      b.set_grad(full({1}, c.narrow));
      empty.set_grad(zeros({1}));
      CHECK(optim::clip_grad_norm({a, b, empty}, c.max_norm) / c.norm == Approx(1).epsilon(1e-4));
      CHECK(std::abs(a.grad().item() - c.wide_after) <= 1e-4 * c.wide_after + 1e-240);
      CHECK(std::abs(b.grad().item() - c.narrow_after) <= 2e-3 * c.narrow_after);
      CHECK(empty.grad().item() == 0);
    }
  });
}

TEST_CASE("clip_grad_norm and clip_grad_value: NaN is an error before anything is written") {
  for_each_isa([](const char* isa) {
    INFO(isa);
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const Tensor a = leaf({0, 0}), b = leaf({0});
    a.set_grad(full({2}, 5));
    b.set_grad(full({1}, nan));
    REQUIRE_THROWS_WITH(and_wait([&] {
                          optim::clip_grad_norm({a, b}, 1);
                        }),
                        "clip_grad_norm: the gradient of parameter 1 of shape [1] is NaN at [0]");
    REQUIRE_THROWS_WITH(and_wait([&] {
                          optim::clip_grad_value({a, b}, 1);
                        }),
                        "clip_grad_value: the gradient of parameter 1 of shape [1] is NaN at [0]");
    const std::vector<optim::NamedParameter> named{{"head.weight", a}, {"head.bias", b}};
    REQUIRE_THROWS_WITH(and_wait([&] { optim::clip_grad_norm(named, 1); }),
                        "clip_grad_norm: the gradient of parameter 1, head.bias, of shape [1] is NaN at [0]");
    REQUIRE_THROWS_WITH(and_wait([&] { optim::clip_grad_value(named, 1); }),
                        "clip_grad_value: the gradient of parameter 1, head.bias, of shape [1] is NaN at [0]");
    CHECK(a.grad().at({0}) == 5);
    b.set_grad(full({1}, -inf));
    REQUIRE_THROWS_WITH(and_wait([&] {
                          optim::clip_grad_norm({a, b}, 1);
                        }),
                        "clip_grad_norm: the gradient of parameter 1 of shape [1] is infinite at [0]");
    CHECK(a.grad().at({0}) == 5);
    optim::clip_grad_value({a, b}, 2);
    CHECK(a.grad().at({1}) == 2);
    CHECK(b.grad().item() == -2);
    CHECK(optim::clip_grad_norm(named, 1) == Approx(std::sqrt(12.0)));
    CHECK(b.grad().item() == Approx(-2 / std::sqrt(12.0)));
  });
  REQUIRE_THROWS_WITH(optim::clip_grad_norm({}, -1), "clip_grad_norm: max_norm is -1; it must be at least 0");
  REQUIRE_THROWS_WITH(optim::clip_grad_value({}, std::nan("")), "clip_grad_value: limit is nan; it must be at least 0");
}

TEST_CASE("clip_grad_norm: strided gradients") {
  const Tensor w = leaf({0, 0, 0});
  w.set_grad(expand(full({1}, 2), {3}));
  CHECK(optim::clip_grad_norm({w}, 1) == Approx(std::sqrt(12.0)));
  check_close(w.grad(), Array({3}, 1 / std::sqrt(3.0)), 1e-6);
}
