// Rematerialisation: results that are cheap to make again are freed in forward and made again in backward.
#include "tutti/autograd/recipe.h"

#include <atomic>
#include <cmath>
#include <thread>

#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;
using tutti_test::check_identical;
using tutti_test::random_tensor;

namespace {

std::atomic<int> made{0};

Output doubled_values(const Tensor& x) {
  ++made;
  const Output y = output_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) y.data<float>()[i] = 2 * x.data<float>()[i];
  return y;
}
/// 2 x on the CPU, which counts how often it is computed, and needs x for nothing but that.
Tensor doubled(const Tensor& x) {
  return with_grad(
      "doubled", doubled_values(x), {x}, {x}, [](Saved&, const Tensor& dy) { return Grads{mul(dy, 2)}; },
      [](std::span<const Tensor> s) { return doubled_values(s[0]); });
}

Tensor leaf(const Dims& shape, uint64_t seed) {
  Tensor x = random_tensor(shape, DType::float32, seed).detach();
  x = to(x, cpu).detach();
  return x.requires_grad_();
}

}  // namespace

TEST_CASE("recipe: made again once for all consumers, views and copies outside the graph included", "[recipe]") {
  const Tensor x = leaf({4, 6}, 1), w = leaf({4, 6}, 2);
  Tensor loss;
  made = 0;
  {
    const Tensor y = doubled(mul(x, x));
    const Tensor part = slice(transpose(y, 0, 1), 0, 1, 4);  // [3, 4]
    loss = sum(square(y)) + sum(mul(part, slice(transpose(w, 0, 1), 0, 1, 4))) +
           sum(mul(reshape(y.detach(), {24}), flatten(w)));
  }
  CHECK(made == 1);
  loss.backward();
  CHECK(made == 2);
  // loss = 4 x^4 + 2 x² w (columns 1 to 3) + (2 x²) w outside the graph
  const auto a = x.to_vector<double>(), b = w.to_vector<double>(), dx = x.grad().to_vector<double>(),
             dw = w.grad().to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool in = i % 6 >= 1 && i % 6 < 4;
    CHECK(std::abs(dx[i] - (16 * a[i] * a[i] * a[i] + (in ? 4 * a[i] * b[i] : 0))) < 1e-5);
    CHECK(std::abs(dw[i] - 2 * a[i] * a[i] * (in ? 2 : 1)) < 1e-5);
  }
}

TEST_CASE("recipe: while somebody has the result, it is used", "[recipe]") {
  const Tensor x = leaf({5}, 1);
  made = 0;
  const Tensor y = doubled(x);
  sum(square(y)).backward();
  CHECK(made == 1);
}

TEST_CASE("recipe: the memory is free between forward and backward, and with the switch off it is not", "[recipe]") {
  for (bool on : {true, false}) {
    const Rematerialization mode(on);
    CHECK(rematerialization() == on);
    const Tensor x = leaf({1000, 100}, 1), w = leaf({100}, 2);
    const size_t before = memory::stats(cpu).current;
    const Tensor loss = sum(mul(gelu(x), w));  // mul saves gelu's result
    const size_t kept = memory::stats(cpu).current - before;
    CHECK(kept >= (on ? 0 : 400000));
    CHECK(kept <= (on ? 1000 : 401000));
    loss.backward();
    const Tensor dx = x.grad();
    x.zero_grad();
    const Rematerialization off(false);
    sum(mul(gelu(x), w)).backward();
    check_identical(x.grad(), dx);
  }
  CHECK(rematerialization());
}

TEST_CASE("recipe: no_grad makes none, and keeps nothing", "[recipe]") {
  const Tensor x = leaf({100}, 1);
  const no_grad off;
  CHECK(gelu(x).impl()->storage->recipe.expired());
  CHECK(gelu(x.detach()).impl()->storage->recipe.expired());
}

TEST_CASE("recipe: changes in place after the save are errors, before it they count", "[recipe]") {
  const Tensor x = leaf({8}, 1), w = leaf({8}, 2);
  const auto change = [](const Tensor& t) {
    const no_grad off;
    fill_(t.detach(), 3);
  };
  {
    Tensor y = gelu(mul(x, 1));
    const Tensor loss = sum(mul(y, w));
    change(y);
    SECTION("the original lives") {
      CHECK_THROWS_WITH(
          loss.backward(),
          Contains("mul: a tensor saved for its gradient (shape [8]) was changed in place before backward"));
    }
    SECTION("the original is gone") {
      y = Tensor();
      CHECK_THROWS_WITH(loss.backward(), Contains("was changed in place before backward"));
    }
  }
  {
    const Tensor u = mul(x, 1);
    const Tensor loss = sum(mul(gelu(u), w));
    change(u);
    CHECK_THROWS_WITH(
        loss.backward(),
        Contains("gelu: a tensor saved for its gradient (shape [8]) was changed in place before backward"));
  }
  {
    Tensor y = gelu(mul(x, 1));
    change(y);
    const Tensor loss = sum(mul(y, w));
    y = Tensor();
    CHECK(grad({loss}, {w})[0].to_vector<float>() == std::vector<float>(8, 3));
  }
}

TEST_CASE("recipe: another backward may have freed the node that made the result", "[recipe]") {
  const Tensor x = leaf({8}, 1), w = leaf({8}, 2), v = leaf({8}, 3);
  Tensor y = gelu(mul(x, 2));
  const Tensor first = sum(mul(y, v)), second = sum(mul(y, w));
  const Tensor want = y.detach();
  const Tensor kept = clone(want);
  y = Tensor();
  first.backward();
  check_identical(grad({second}, {w})[0], kept);
}

TEST_CASE("recipe: retained graphs, grad(), second derivatives, checkpoint", "[recipe]") {
  const Tensor x = leaf({3, 8}, 1), w = leaf({8, 8}, 2), g = leaf({8}, 3), b = leaf({8}, 4);
  const auto model = [&](const std::vector<Tensor>& in) {
    return sum(square(linear(gelu(linear(layer_norm(in[0], g, b), w)), w)));
  };
  std::vector<std::vector<Tensor>> results;
  for (bool on : {true, false}) {
    const Rematerialization mode(on);
    std::vector<Tensor> r;
    const Tensor loss = model({x});
    for (int i = 0; i < 2; ++i)
      for (const Tensor& t : grad({loss}, {x, w, g, b}, {}, {.retain_graph = true})) r.push_back(t);
    for (const Tensor& t : grad({loss}, {w})) r.push_back(t);
    const auto once = grad({model({x})}, {x}, {}, {.create_graph = true});
    for (const Tensor& t : grad({sum(square(once[0]))}, {x, w, g, b})) r.push_back(t);
    for (const Tensor& t : grad({checkpoint(model, {x})}, {x, w, g, b})) r.push_back(t);
    results.push_back(r);
  }
  REQUIRE(results[0].size() == results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    INFO(i);
    check_identical(results[0][i], results[1][i]);
  }
}

TEST_CASE("recipe: two threads walk one trunk", "[recipe]") {
  const Tensor x = leaf({64, 32}, 1), w = leaf({32, 32}, 2);
  for (int round = 0; round < 20; ++round) {
    Tensor y = gelu(mul(x, 1));
    const Tensor losses[] = {sum(square(linear(y, w))), sum(mul(y, y))};
    y = Tensor();
    std::vector<Tensor> got[2];
    std::thread threads[2];
    for (int i = 0; i < 2; ++i)
      threads[i] = std::thread([&, i] { got[i] = grad({losses[i]}, {x}, {}, {.retain_graph = true}); });
    for (auto& t : threads) t.join();
    for (int i = 0; i < 2; ++i) check_identical(got[i][0], grad({losses[i]}, {x}, {}, {.retain_graph = true})[0]);
  }
}

TEST_CASE("recipe: a long chain keeps each result once, and is freed without recursion", "[recipe]") {
  const Tensor x = leaf({16}, 1);
  const size_t before = memory::stats(cpu).current;
  Tensor y = x;
  constexpr int length = 100000;
  for (int i = 0; i < length; ++i) y = gelu(y);
  const size_t kept = memory::stats(cpu).current - before;
  CHECK(kept <= static_cast<size_t>(length + 1) * 64);
  sum(y).backward();
  CHECK(x.grad().defined());
}

TEST_CASE("recipe: what is made again must be as large as it was", "[recipe]") {
  const Tensor x = leaf({6}, 1);
  const auto wrong = [](const Tensor& t) {
    return with_grad(
        "wrong", output_like(t), {t}, {t}, [](Saved&, const Tensor& dy) { return Grads{dy}; },
        [](std::span<const Tensor>) { return output({60}, DType::float32, cpu); });
  };
  const Tensor loss = sum(square(wrong(x)));
  CHECK_THROWS_WITH(loss.backward(),
                    "wrong: remade for backward, the result has 240 bytes and not the 24 that it had");
}

TEST_CASE("recipe: a gradient that somebody else holds is not written over", "[recipe]") {
  const Tensor x = leaf({100}, 1);
  Tensor seen, copy;
  const Tensor y = gelu(x);
  y.register_hook([&](const Tensor& g) {
    seen = g;
    copy = clone(g);
    return Tensor();
  });
  sum(square(y)).backward();
  check_identical(seen, copy);
  const Tensor seed = leaf({100}, 2).detach(), before = clone(seed);
  gelu(x).backward(seed);
  check_identical(seed, before);
}
