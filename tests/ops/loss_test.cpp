#include "tutti/ops/loss.h"

#include <cmath>

#include "support/lines.h"
#include "support/on_cpu.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/autograd/node.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

std::vector<int64_t> some_targets(int64_t n, int64_t classes) {
  std::vector<int64_t> t;
  for (int64_t i = 0; i < n; ++i) t.push_back(i % 4 == 2 ? -100 : (i * 7 + 3) % classes);
  return t;
}

/// The formula, row by row.
Array reference(const Array& x, const std::vector<int64_t>& target, const std::vector<double>& w, double smoothing,
                Reduction reduction) {
  const int64_t classes = x.shape[x.shape.n - 1];
  Dims rows = x.shape;
  --rows.n;
  Array loss(rows);
  double total = 0, count = 0;
  for (int64_t i = 0; i < loss.numel(); ++i) {
    const int64_t t = target[static_cast<size_t>(i)];
    if (t == -100) continue;
    double sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(x[i * classes + k]);
    for (int64_t k = 0; k < classes; ++k) {
      const double share = (k == t ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
      loss[i] += share * w[static_cast<size_t>(k)] * (std::log(sum) - x[i * classes + k]);
    }
    total += loss[i];
    count += w[static_cast<size_t>(t)];
  }
  if (reduction == Reduction::none) return loss;
  Array y(Dims{});
  y[0] = reduction == Reduction::sum ? total : count == 0 ? 0 : total / count;
  return y;
}

}  // namespace

TEST_CASE("cross_entropy equals a plain loop with every option, and so does its gradient") {
  for (Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum})
    for (double smoothing : {0.0, 0.3})
      for (bool weighted : {false, true})
        for (const Dims& shape : {Dims{5, 19}, Dims{2, 3, 4}, Dims{7}, Dims{0, 3}, Dims{3, 1}}) {
          const int64_t classes = shape[shape.n - 1];
          Dims rows = shape;
          --rows.n;
          const auto targets = shape.n == 1 ? std::vector<int64_t>{2} : some_targets(rows.product(), classes);
          const Tensor target = Tensor::from(targets, rows);
          std::vector<double> w(static_cast<size_t>(classes), 1.0);
          for (size_t k = 0; weighted && k < w.size(); ++k) w[k] = 0.25 * static_cast<double>(1 + k % 5);
          op_test(
              message("cross_entropy ", static_cast<int>(reduction), " ", smoothing, " ", weighted ? "weighted" : ""),
              {.kernels = "cross_entropy_forward cross_entropy_backward",
               .shapes = {{shape}},
               .op =
                   [&](const Tensors& x) {
                     return cross_entropy(x[0], target,
                                          {.label_smoothing = smoothing,
                                           .weight = weighted ? to(Tensor::from(w, {classes}), x[0].dtype()) : Tensor(),
                                           .reduction = reduction});
                   },
               .reference = [&](const Arrays& x) { return reference(x[0], targets, w, smoothing, reduction); }});
        }
}

TEST_CASE("cross_entropy's known traps") {
  for_each_isa([](const char*) {
    for (DType t : {DType::float32, DType::float64}) {
      const Tensor x = Tensor::from({0, -200}, {1, 2}, t).requires_grad_();
      const Tensor loss = cross_entropy(x, Tensor::from({1}, {1}, DType::int64));
      loss.backward();
      CHECK(loss.item() == 200);
      CHECK(x.grad().to_vector<double>() == Values{1, -1});

      const Tensor y = Tensor::from({2, 0, 0, 0}, {2, 2}, t).requires_grad_();
      const Tensor ignored = Tensor::from({-100, -100}, {2}, DType::int64);
      const Tensor none = cross_entropy(y, ignored);
      none.backward();
      CHECK(none.item() == 0);
      CHECK(y.grad().to_vector<double>() == Values{0, 0, 0, 0});
      CHECK(cross_entropy(y, Tensor::from({0, -100}, {2}, DType::int64), {.label_smoothing = 0.2}).item() ==
            Approx(.326928).epsilon(1e-6));
      CHECK(cross_entropy(y, Tensor::from({0, 7}, {2}, DType::int32), {.ignore_index = 7}).item() ==
            Approx(.126928).epsilon(1e-6));
      CHECK(cross_entropy(Tensor::from({1e30, 0}, {1, 2}, t), Tensor::from({0}, {1}, DType::int64)).item() == 0);
    }
  });
  const Tensor x = zeros({2, 3});
  REQUIRE_THROWS_WITH(cross_entropy(x, Tensor::from({0, 3}, {2}, DType::int64)),
                      "cross_entropy: target 3 at position 1 is out of range [0, 3)");
  REQUIRE_THROWS_AS(cross_entropy(x, Tensor::from({-1, 0}, {2}, DType::int64)), IndexError);
}

TEST_CASE("cross_entropy gives the same bits on any number of threads") {
  const tutti_test::OnCpu here;
  const Tensor x = random_tensor({307, 211}, DType::float32, 7), target = Tensor::from(some_targets(307, 211), {307});
  const auto run = [&] {
    Tensor leaf = clone(x).requires_grad_();
    const Tensor loss = cross_entropy(leaf, target, {.label_smoothing = 0.1});
    loss.backward();
    return Tensors{loss.detach(), leaf.grad()};
  };
  set_num_threads(1);
  const Tensors one = run();
  for (int threads : {2, 6}) {
    set_num_threads(threads);
    const Tensors many = run();
    for (size_t i = 0; i < one.size(); ++i) check_identical(one[i], many[i]);
  }
  set_num_threads(0);
}

TEST_CASE("mse_loss and binary_cross_entropy_with_logits equal plain loops, and so do their gradients") {
  for (Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
    const auto each = [reduction](const Arrays& a, double (*f)(double, double)) {
      Array loss(a[0].shape), all(Dims{});
      for (int64_t i = 0; i < loss.numel(); ++i) all[0] += loss[i] = f(a[0][i], a[1][i]);
      if (reduction == Reduction::none) return loss;
      if (reduction == Reduction::mean) all[0] /= static_cast<double>(loss.numel());
      return all;
    };
    const std::vector<std::vector<Dims>> shapes{{{3, 19}, {3, 19}}, {{}, {}}};
    op_test(
        "mse_loss",
        {.shapes = shapes,
         .op = [=](const Tensors& x) { return mse_loss(x[0], x[1], reduction); },
         .reference = [=](const Arrays& x) { return each(x, [](double a, double b) { return (a - b) * (a - b); }); }});
    op_test("binary_cross_entropy_with_logits",
            {.kernels = "bce_with_logits",
             .shapes = shapes,
             .op = [=](const Tensors& x) { return binary_cross_entropy_with_logits(x[0], x[1], reduction); },
             .reference =
                 [=](const Arrays& x) {
                   return each(x, [](double a, double b) { return std::log1p(std::exp(a)) - a * b; });
                 }});
  }
  for_each_isa([](const char*) {
    const Tensor x = Tensor::from({-1000, 1000, 1000, -1000, 0}, {5}).requires_grad_(),
                 t = Tensor::from({0, 1, 0, 1, 1}, {5});
    const Tensor loss = binary_cross_entropy_with_logits(x, t, Reduction::none);
    CHECK(loss.to_vector<double>() == Values{0, 0, 1000, 1000, static_cast<float>(std::log(2))});
    binary_cross_entropy_with_logits(x, t, Reduction::sum).backward();
    CHECK(x.grad().to_vector<double>() == Values{0, 0, 1, -1, -.5});
    CHECK(std::isnan(binary_cross_entropy_with_logits(Tensor::from({NAN}, {1}), Tensor::from({1}, {1})).item()));
  });
}

TEST_CASE("losses differentiate twice") {
  const Tensor x = random_tensor({4, 3}, DType::float64, 8).requires_grad_();
  const Tensor target = Tensor::from({0, -100, 2, 1}, {4}, DType::int64),
               w = Tensor::from({1, .5, 2}, {3}, DType::float64);
  for (Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum})
    for (double smoothing : {0.0, 0.2}) {
      const CrossEntropyOptions options{.label_smoothing = smoothing, .reduction = reduction};
      CrossEntropyOptions weighted = options;
      weighted.weight = w;
      CHECK(gradgradcheck([&](const Tensors& v) { return cross_entropy(v[0], target, options); }, {x}));
      CHECK(gradgradcheck([&](const Tensors& v) { return cross_entropy(v[0], target, weighted); }, {x}));
    }
  const Tensor none = zeros({2, 0, 3}).requires_grad_();
  const Tensor loss = cross_entropy(none, zeros({2, 0}, {.dtype = DType::int64}));
  CHECK(grad({loss}, {none}, {}, {.create_graph = true})[0].shape() == none.shape());
  const Tensor y = random_tensor({4, 3}, DType::float64, 9).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& v) { return binary_cross_entropy_with_logits(v[0], v[1]); }, {x, y}));
  CHECK(gradgradcheck([](const Tensors& v) { return mse_loss(v[0], v[1]); }, {x, y}));
}

TEST_CASE("malformed losses say what is wrong") {
  const Tensor x = zeros({2, 3}), t = zeros({2}, {.dtype = DType::int64});
  REQUIRE_THROWS_WITH(cross_entropy(x, zeros({3}, {.dtype = DType::int64})),
                      "cross_entropy: target of shape [3] for logits of shape [2, 3]; it must be [2]");
  REQUIRE_THROWS_WITH(cross_entropy(x, zeros({2})), "cross_entropy: target must be int64 or int32, not float32");
  REQUIRE_THROWS_WITH(cross_entropy(zeros({2, 0}), t), "cross_entropy: logits of shape [2, 0] have no classes");
  REQUIRE_THROWS_WITH(cross_entropy(x, t, {.label_smoothing = 1.5}),
                      "cross_entropy: label_smoothing must be in [0, 1], not 1.5");
  REQUIRE_THROWS_WITH(cross_entropy(x, t, {.weight = zeros({2})}),
                      "cross_entropy: weight of shape [2] for logits of shape [2, 3]; it must be [3]");
  REQUIRE_THROWS_WITH(cross_entropy(x, Tensor()), "cross_entropy: target is undefined");
  REQUIRE_THROWS_WITH(mse_loss(x, zeros({3})), "mse_loss: shapes [2, 3] and [3] of x and target differ");
  REQUIRE_THROWS_WITH(binary_cross_entropy_with_logits(x, zeros({2, 1})),
                      "binary_cross_entropy_with_logits: shapes [2, 3] and [2, 1] of x and target differ");
}

TEST_CASE("cross_entropy: a weight that wants a gradient, which is not computed, is refused while recording") {
  const Tensor logits = ones({2, 3}).requires_grad_(), target = Tensor::from({0, 2}, {2}, DType::int64);
  const Tensor weight = ones({3}).requires_grad_();
  REQUIRE_THROWS_WITH(cross_entropy(logits, target, {.weight = weight}),
                      "cross_entropy: the weight's gradient is not computed; pass weight.detach()");
  CHECK(cross_entropy(logits, target, {.weight = weight.detach()}).requires_grad());
  const no_grad off;
  CHECK(cross_entropy(logits, target, {.weight = weight}).item() > 1);
}

TEST_CASE("cross_entropy: the gradient's weights add up to one, however large the logits") {
  for_each_isa([](const char*) {
    for (double far : {1e4, -1e6, 1e8}) {
      const Tensor x = full({1, 2}, far).requires_grad_();
      cross_entropy(x, Tensor::from({1}, {1}, DType::int64)).backward();
      CHECK(x.grad().to_vector<double>() == std::vector<double>{.5, -.5});
    }
  });
}

TEST_CASE("cross_entropy: an ignored row counts for nothing, whatever its index and its logits") {
  const int64_t ignored = (int64_t{1} << 53) + 1;  // no double
  for (const int64_t label : {ignored, int64_t{-100}})
    for (const double bad : {0.0, HUGE_VAL, std::nan("")}) {
      const Tensor x = Tensor::from({1, 2, bad, 3}, {2, 2}, DType::float64).requires_grad_();
      const Tensor target = Tensor::from(std::vector<int64_t>{0, label}, {2});
      for (const bool graph : {false, true}) {
        x.zero_grad();
        cross_entropy(x, target, {.ignore_index = label}).backward({.create_graph = graph});
        const auto g = x.grad().detach().to_vector<double>();
        CHECK(g[0] == Approx(1 / (1 + std::exp(1)) - 1));
        CHECK(g[2] == 0);
        CHECK(g[3] == 0);
      }
    }
}
