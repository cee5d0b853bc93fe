// The walk itself: hooks, several outputs, deep and wide graphs on a small stack, threads, and memory freed on the way.
#include <pthread.h>

#include <functional>
#include <stdexcept>
#include <thread>

#include "support/devices.h"
#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;

namespace {

using Values = std::vector<double>;

Tensor leaf(std::initializer_list<double> values, const Dims& shape) {
  Tensor x = Tensor::from(values, shape, DType::float64);
  x.requires_grad_();
  return x;
}
Values values(const Tensor& x) { return x.to_vector<double>(); }

/// x + 1 without a kernel, in host memory: deep chains are about nodes.
Tensor next(const Tensor& x) {
  const Output y = output_like(x);
  *y.data<double>() = *x.data<double>() + 1;
  return with_grad("next", y, {x}, {x}, [](Saved&, const Tensor& dy) { return Grads{dy}; });
}

/// On a stack of 1 MB: 8 MB would hide a recursion.
void on_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, size_t{1} << 20) == 0);
  pthread_t thread;
  // Catch is for one thread at a time: nothing is asserted here while the body may do so.
  const int error = pthread_create(
      &thread, &attributes,
      [](void* f) -> void* {
        (*static_cast<std::function<void()>*>(f))();
        return nullptr;
      },
      &body);
  if (error == 0) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  REQUIRE(error == 0);
}

/// (2x, 3x) from one node.
std::array<Tensor, 2> two(const Tensor& x) {
  const auto times = [&](double factor) { return Access::output(Access::handle(mul(x.detach(), factor))); };
  const Output a = times(2), b = times(3);
  return with_grad("two", std::array{a, b}, {x}, [](Saved&, const Grads& dy) {
    Tensor dx;
    if (dy[0].defined()) dx = mul(dy[0], 2);
    if (dy[1].defined()) dx = dx.defined() ? add(dx, mul(dy[1], 3)) : mul(dy[1], 3);
    return Grads{dx};
  });
}

}  // namespace

TEST_CASE("hooks run in order, each on the last one's result", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  std::string order;
  x.register_hook([&](const Tensor& g) {
    order += 'a';
    CHECK(values(g) == Values{6, 12});  // complete: both uses of x are in it
    return mul(g, 10);
  });
  x.register_hook([&](const Tensor& g) {
    order += 'b';
    CHECK(values(g) == Values{60, 120});
    return Tensor();  // looks, changes nothing
  });
  const Tensor y = mul(x, x);
  y.register_hook([&](const Tensor& g) {
    order += 'y';
    return mul(g, 3);
  });
  sum(y).backward();
  CHECK(order == "yab");
  CHECK(values(x.grad()) == Values{60, 120});
}

TEST_CASE("hooks see the gradient that grad() returns, and may register others", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor y = mul(x, x);
  int later = 0;
  y.register_hook([&](const Tensor& g) {
    if (!later)
      y.register_hook([&](const Tensor&) {
        ++later;
        return Tensor();
      });
    return mul(g, 2);
  });
  const auto g = grad({sum(y)}, {y, x});
  CHECK(values(g[0]) == Values{2, 2});
  CHECK(values(g[1]) == Values{4, 8});
  CHECK(later == 1);
}

TEST_CASE("hooks: what is refused", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  REQUIRE_THROWS_WITH(x.detach().register_hook([](const Tensor& g) { return g; }),
                      "register_hook: the tensor does not require a gradient");
  REQUIRE_THROWS_WITH(x.register_hook({}), "register_hook: the hook is empty");
  {
    const Tensor y = mul(x, x);
    y.register_hook([](const Tensor& g) { return sum(g); });
    REQUIRE_THROWS_WITH(sum(y).backward(),
                        "mul: a hook returned float64 of shape [] for a gradient that is float64 of shape [2]");
  }
  const Tensor y = mul(x, x);
  y.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("from the hook"); });
  REQUIRE_THROWS_WITH(sum(y).backward(), "from the hook");
  CHECK_FALSE(x.grad().defined());
  CHECK(grad_mode());
}

TEST_CASE("a node with several outputs gets one gradient each, undefined where nothing came", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  const auto [a, b] = two(x);
  CHECK(values(grad({sum(a)}, {x}, {}, {.retain_graph = true})[0]) == Values{2, 2});
  CHECK(values(grad({sum(b)}, {x}, {}, {.retain_graph = true})[0]) == Values{3, 3});
  CHECK(values(grad({sum(b)}, {b}, {}, {.retain_graph = true})[0]) == Values{1, 1});
  sum(mul(a, b)).backward();  // 6 x^2
  CHECK(values(x.grad()) == Values{12, 24});
}

TEST_CASE("an undefined input and an input without gradient are skipped", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor c = x.detach();
  const Tensor zero = zeros_like(x);
  const Output y = Access::output(Access::handle(zero));
  const Tensor z = with_grad("custom", y, {x, Tensor(), c}, {Tensor()}, [](Saved& s, const Tensor& dy) {
    CHECK(s.wants(0));
    CHECK_FALSE(s.wants(1));
    CHECK_FALSE(s.wants(2));
    CHECK_FALSE(s[0].defined());
    return Grads{dy, Tensor(), dy};
  });
  sum(z).backward();
  CHECK(values(x.grad()) == Values{1, 1});
}

TEST_CASE("a leaf that is gone takes its gradient with it", "[autograd]") {
  const Tensor x = leaf({1}, {});
  Tensor y;
  {
    const Tensor w = leaf({4}, {});
    y = mul(x, w);
  }
  y.backward();
  CHECK(x.grad().item() == 4);
}

TEST_CASE("a chain of 100 000 nodes needs no deep stack, in backward or when freed", "[autograd]") {
  const tutti_test::OnCpu host;
  on_small_stack([] {
    const Tensor x = leaf({0}, {});
    Tensor y = x;
    for (int i = 0; i < 100000; ++i) y = next(y);
    const bool right = y.item() == 100000;
    y.backward({.retain_graph = true});
    const auto g = grad({y}, {x});
    y = Tensor();
    CHECK(right);
    CHECK(x.grad().item() == 1);
    CHECK(g[0].item() == 1);
  });
}

TEST_CASE("a chain is freed without recursion when backward never ran, or threw, or recorded", "[autograd]") {
  const tutti_test::OnCpu host;
  on_small_stack([] {
    const Tensor x = leaf({0}, {});
    {
      Tensor y = x;
      for (int i = 0; i < 100000; ++i) y = next(y);
    }
    {
      Tensor y = x;
      y = with_grad("bad", output_like(x), {x}, [](Saved&, const Tensor&) { return Grads{}; });
      for (int i = 0; i < 100000; ++i) y = next(y);
      CHECK_THROWS_AS(y.backward(), AutogradError);
    }
    Tensor y = x;
    for (int i = 0; i < 20000; ++i) y = mul(y, x);  // its gradient has a graph as long
    y.backward({.create_graph = true});
    x.zero_grad();
  });
}

TEST_CASE("thousands of branches from one tensor", "[autograd]") {
  const Tensor x = leaf({1}, {});
  const Tensor h = mul(x, 2);
  Tensor total = h;
  const int64_t branches = tutti_test::sized(10000, 1000), pieces = branches / 5;
  for (int64_t i = 0; i < branches; ++i) total = add(total, mul(h, 1));
  total.backward();
  CHECK(x.grad().item() == static_cast<double>(2 * branches + 2));
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < pieces; ++i) parts.push_back(mul(reshape(x, {1}), i));
  x.zero_grad();
  sum(cat(parts)).backward();
  CHECK(x.grad().item() == static_cast<double>((pieces - 1) * pieces / 2));
}

TEST_CASE("threads may run backward over graphs that share leaves", "[autograd]") {
  const Tensor x = leaf({1, 2, 3}, {3}), w = leaf({4, 5, 6}, {3});
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) sum(mul(mul(x, w), 2)).backward();
  };
  std::thread other(work), third(work);
  work();
  other.join();
  third.join();
  CHECK(values(x.grad()) == Values{4800, 6000, 7200});
  CHECK(values(w.grad()) == Values{1200, 2400, 3600});
}

TEST_CASE("threads may walk one retained graph", "[autograd]") {
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor y = sum(mul(mul(x, x), 2));
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) y.backward({.retain_graph = true});
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(values(x.grad()) == Values{1600, 3200, 4800});
}

TEST_CASE("saved tensors are freed as the walk goes", "[autograd]") {
  constexpr int layers = 16;
  constexpr size_t bytes = size_t{1} << 20;
  Tensor x = zeros({static_cast<int64_t>(bytes / 8)}, {.dtype = DType::float64});
  x.requires_grad_();
  const size_t start = memory::stats().current;
  Tensor y = mul(x, x);
  size_t at_first = 0;
  y.register_hook([&](const Tensor&) {
    at_first = memory::stats().current - start;
    return Tensor();
  });
  for (int i = 1; i < layers; ++i) y = mul(y, y);
  y = sum(y);
  const size_t forward = memory::stats().current - start;
  CHECK(forward >= (layers - 1) * bytes);
  memory::reset_peak();
  y.backward();
  CHECK(memory::stats().peak - start <= forward + 4 * bytes);
  CHECK(at_first <= 3 * bytes);  // of sixteen
  CHECK(memory::stats().current - start <= 2 * bytes);
}

TEST_CASE("operands that no wanted gradient needs are not saved", "[autograd]") {
  const auto may_change_after = [](const std::function<Tensor(const Tensor& w, const Tensor& frozen)>& f) {
    const Tensor w = leaf({1, 2, 3, 4}, {2, 2}), frozen = Tensor::from({5, 6, 7, 8}, {2, 2}, DType::float64);
    const Tensor y = sum(f(w, frozen));
    {
      const no_grad off;
      fill_(w, 0);
    }
    y.backward();
    CHECK(w.grad().defined());
  };
  may_change_after([](const Tensor& w, const Tensor& c) { return mul(w, c); });
  may_change_after([](const Tensor& w, const Tensor& c) { return mul(c, w); });
  may_change_after([](const Tensor& w, const Tensor& c) { return div(w, c); });
  may_change_after([](const Tensor& w, const Tensor& c) { return matmul(w, c); });
  may_change_after([](const Tensor& w, const Tensor& c) { return matmul(c, w); });
  may_change_after([](const Tensor& w, const Tensor& c) { return linear(w, c); });
  may_change_after([](const Tensor& w, const Tensor& c) { return linear(c, w); });
  may_change_after([](const Tensor& w, const Tensor&) { return neg(w); });
}
