// The gradient graph as a user meets it: values, grad(), modes, in-place changes, custom functions, exact errors.
#include <algorithm>
#include <limits>

#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;

namespace {

using Values = std::vector<double>;

Tensor leaf(std::initializer_list<double> values, const Dims& shape, DType dtype = DType::float64) {
  Tensor x = Tensor::from(values, shape, dtype);
  x.requires_grad_();
  return x;
}
Tensor constant(std::initializer_list<double> values, const Dims& shape) {
  return Tensor::from(values, shape, DType::float64);
}
Values values(const Tensor& x) { return x.to_vector<double>(); }

Output copy_of(const Tensor& x) {
  const no_grad off;
  return Access::output(Access::handle(clone(x)));
}
/// A user's own function whose gradient is whatever the test says.
template <class F>
Tensor custom(const Tensor& x, const F& gradient) {
  return with_grad("custom", copy_of(x), {x}, gradient);
}

}  // namespace

TEST_CASE("backward of 2x^2 at 3, twice on a rebuilt graph, accumulates to 24", "[autograd]") {
  const Tensor x = leaf({3}, {});
  for (int i = 0; i < 2; ++i) mul(mul(x, x), 2).backward();
  CHECK(x.grad().item() == 24);
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a tensor used many times gets the sum of its gradients", "[autograd]") {
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor y = mul(x, x);
  sum(add(add(mul(y, x), y), x)).backward();  // x^3 + x^2 + x
  CHECK(values(x.grad()) == Values{6, 17, 34});
}

TEST_CASE("the engine sums gradients over broadcast axes", "[autograd]") {
  const Tensor a = zeros({3, 4}, {.dtype = DType::float64}), b = zeros({1, 4}, {.dtype = DType::float64});
  Tensor x = a.detach(), y = b.detach();
  x.requires_grad_();
  y.requires_grad_();
  sum(add(x, y)).backward();
  CHECK(y.grad().shape() == Dims{1, 4});
  CHECK(values(y.grad()) == Values{3, 3, 3, 3});
  CHECK(x.grad().shape() == Dims{3, 4});

  Tensor p = zeros({1, 1, 2, 1, 1, 6}, {.dtype = DType::float64}), q = zeros({1, 6, 1}, {.dtype = DType::float64});
  p.requires_grad_();
  q.requires_grad_();
  const Tensor z = add(p, q);
  CHECK(z.shape() == Dims{1, 1, 2, 1, 6, 6});
  sum(z).backward();
  CHECK(p.grad().shape() == p.shape());
  CHECK(values(p.grad()) == Values(12, 6));
  CHECK(q.grad().shape() == q.shape());
  CHECK(values(q.grad()) == Values(6, 12));
}

TEST_CASE("backward twice on one graph is an error unless retained", "[autograd]") {
  const Tensor x = leaf({3}, {});
  const Tensor z = mul(x, x);
  z.backward({.retain_graph = true});
  z.backward();
  CHECK(x.grad().item() == 12);
  REQUIRE_THROWS_WITH(z.backward(),
                      "mul: backward a second time through a graph whose saved tensors were freed; pass "
                      "{.retain_graph = true} the first time");
  REQUIRE_THROWS_AS(z.backward(), AutogradError);
}

TEST_CASE("backward says what it cannot do", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor y = mul(x, x);
  REQUIRE_THROWS_WITH(y.backward(), "backward: shape [2] is not a scalar; pass the gradient with respect to it");
  REQUIRE_THROWS_WITH(y.backward(constant({1, 2, 3}, {3})),
                      "backward: gradient of shape [3] for a tensor of shape [2]");
  REQUIRE_THROWS_WITH(y.backward(Tensor::from({1, 2}, {2})),
                      "backward: gradient of dtype float32 for a tensor of dtype float64");
  REQUIRE_THROWS_WITH(sum(y.detach()).backward(),
                      "backward: the tensor does not depend on anything that requires a gradient");
  REQUIRE_THROWS_WITH(Tensor().backward(), "backward: the tensor is undefined");
  CHECK_FALSE(x.grad().defined());
  y.backward(constant({1, 10}, {2}));  // none of these has touched the graph
  CHECK(values(x.grad()) == Values{2, 40});
}

TEST_CASE("leaves: requires_grad_, set_grad and their errors", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  Tensor y = mul(x, x);
  REQUIRE_THROWS_WITH(y.requires_grad_(),
                      "requires_grad_: the tensor is the result of an operation; detach() it first");
  Tensor whole = Tensor::from({1, 2}, {2}, DType::int64);
  REQUIRE_THROWS_WITH(whole.requires_grad_(), "requires_grad_: int64 tensors have no gradient");
  REQUIRE_THROWS_WITH(Tensor().requires_grad_(), "requires_grad_: the tensor is undefined");
  REQUIRE_THROWS_WITH(y.set_grad(x), "set_grad: only a leaf that requires a gradient holds one");
  REQUIRE_THROWS_WITH(x.set_grad(constant({1}, {1})), "set_grad: gradient of shape [1] for a tensor of shape [2]");
  REQUIRE_THROWS_WITH(x.set_grad(Tensor::from({1, 2}, {2})),
                      "set_grad: gradient of dtype float32 for a tensor of dtype float64");
  CHECK_FALSE(y.grad().defined());
  x.set_grad(constant({5, 6}, {2}));
  sum(y).backward();
  CHECK(values(x.grad()) == Values{7, 10});
  Tensor again = x;
  again.requires_grad_(false);
  CHECK_FALSE(x.requires_grad());
}

TEST_CASE("a leaf's gradient is nobody else's memory", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2}), y = leaf({3, 4}, {2});
  const Tensor seed = constant({1, 1}, {2});
  add(x, y).backward(seed);
  CHECK(x.grad().data() != seed.data());
  CHECK(x.grad().data() != y.grad().data());
  const Tensor held = x.grad();
  add(x, y).backward(seed);
  CHECK(values(held) == Values{1, 1});  // a gradient that the user holds does not change under him
  CHECK(values(x.grad()) == Values{2, 2});
  CHECK(values(seed) == Values{1, 1});
  const void* before = y.grad().data();
  add(x, y).backward(seed);
  CHECK(y.grad().data() == before);  // one that nobody holds grows in place
  CHECK(values(y.grad()) == Values{3, 3});
}

TEST_CASE("grad() returns gradients and writes none", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2}), unused = leaf({1}, {1});
  const Tensor h = mul(x, w), y = sum(mul(h, h));
  const auto g = grad({y}, {x, h, unused, x}, {}, {.retain_graph = true});
  CHECK(values(g[0]) == Values{18, 64});
  CHECK(values(g[1]) == Values{6, 16});
  CHECK_FALSE(g[2].defined());
  CHECK(values(g[3]) == Values{18, 64});
  CHECK_FALSE(x.grad().defined());
  CHECK_FALSE(w.grad().defined());
  CHECK(grad({y}, {y}, {}, {.retain_graph = true})[0].item() == 1);
  // Several outputs, with their gradients.
  const auto sums = grad({h, y}, {w}, {constant({1, 1}, {2}), constant({2}, {})});
  CHECK(values(sums[0]) == Values{1 + 2 * 6 * 1, 2 + 2 * 16 * 2});
}

TEST_CASE("grad() walks only to its inputs: beyond an intermediate the graph stays usable", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor h = mul(x, x), y = sum(mul(h, h));
  const Tensor dh = grad({y}, {h})[0];
  h.backward(dh);  // h's own graph was not freed
  CHECK(values(x.grad()) == Values{4, 32});
}

TEST_CASE("grad() says what it cannot do", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor y = sum(mul(x, x));
  REQUIRE_THROWS_WITH(grad({y}, {y.detach()}), "grad: input 0 does not require a gradient");
  REQUIRE_THROWS_WITH(grad({y}, {x, Tensor()}), "grad: input 1 does not require a gradient");
  REQUIRE_THROWS_WITH(grad({y}, {x}, {y, y}), "grad: 2 output gradients for 1 outputs");
  REQUIRE_THROWS_WITH(grad({y.detach()}, {x}), "grad: the tensor does not depend on anything that requires a gradient");
  REQUIRE_THROWS_WITH(grad({x}, {x}), "grad: shape [2] is not a scalar; pass the gradient with respect to it");
}

TEST_CASE("s.wants() is false for what grad() does not ask", "[autograd]") {
  const Tensor x = leaf({2}, {}), w = leaf({3}, {});
  const Tensor y = with_grad("custom", copy_of(x), {x, w}, [](Saved& s, const Tensor& dy) {
    if (s.wants(1)) throw ValueError("nobody asked for it");
    return Grads{dy, Tensor()};
  });
  CHECK(grad({y}, {x}, {}, {.retain_graph = true})[0].item() == 1);
  REQUIRE_THROWS_WITH(y.backward(), "nobody asked for it");
}

TEST_CASE("second and third derivatives with create_graph", "[autograd]") {
  const Tensor x = leaf({2}, {});
  const Tensor y = mul(mul(x, x), mul(x, x));
  const Tensor d1 = grad({y}, {x}, {}, {.create_graph = true})[0];
  const Tensor d2 = grad({d1}, {x}, {}, {.create_graph = true})[0];
  const Tensor d3 = grad({d2}, {x})[0];
  CHECK(d1.item() == 32);
  CHECK(d2.item() == 48);
  CHECK(d3.item() == 48);
  CHECK_FALSE(d3.requires_grad());
  // The same through backward(): the gradient has a graph of its own.
  mul(mul(x, x), x).backward({.create_graph = true});
  const Tensor g = x.grad();
  x.zero_grad();
  g.backward();
  CHECK(x.grad().item() == 12);
}

TEST_CASE("saved outputs are attached again under create_graph", "[autograd]") {
  const Tensor x = leaf({0.5}, {});
  const Output y = copy_of(Tensor::from({std::exp(0.5)}, {}, DType::float64));
  const Tensor e = with_grad("exp", y, {x}, {y}, [](Saved& s, const Tensor& dy) { return Grads{mul(dy, s[0])}; });
  const Tensor d1 = grad({e}, {x}, {}, {.create_graph = true})[0];
  const Tensor d2 = grad({d1}, {x})[0];
  CHECK(d2.item() == std::exp(0.5));
}

TEST_CASE("saved intermediates throw under create_graph unless constant", "[autograd]") {
  const Tensor x = leaf({2, 3}, {2});
  const Tensor factor = constant({5, 7}, {2}), index = Tensor::from({1, 0}, {2}, DType::int64);
  const Tensor a = with_grad("custom", copy_of(x), {x}, {factor, index}, [](Saved& s, const Tensor& dy) {
    CHECK(s[1].dtype() == DType::int64);  // integers have no derivative to lose
    return Grads{mul(dy, s[0])};
  });
  CHECK(values(grad({a}, {x}, {factor}, {.retain_graph = true})[0]) == Values{25, 49});
  REQUIRE_THROWS_WITH(
      grad({a}, {x}, {factor}, {.create_graph = true}),
      "custom: its gradient uses an intermediate result, so create_graph cannot differentiate it again");
  const Tensor b = with_grad("custom", copy_of(x), {x}, {factor},
                             [](Saved& s, const Tensor& dy) { return Grads{mul(dy, s.constant(0))}; });
  CHECK(values(grad({b}, {x}, {factor}, {.create_graph = true})[0]) == Values{25, 49});
}

TEST_CASE("a fused gradient without a derivative says so when it is reached", "[autograd]") {
  const Tensor x = leaf({2}, {});
  const Tensor y = with_grad("custom", copy_of(x), {x}, {x}, [](Saved& s, const Tensor& dy) {
    return Grads{gradient_unavailable("custom_backward", copy_of(dy), {dy, s[0]})};
  });
  const Tensor d = grad({y}, {x}, {}, {.create_graph = true})[0];
  CHECK(d.item() == 1);
  const std::string text =
      "custom_backward: has no derivative of its own (it is a fused gradient), so second derivatives through it are "
      "not available";
  REQUIRE_THROWS_WITH(d.backward({.retain_graph = true}), text);
  REQUIRE_THROWS_WITH(grad({d}, {x}), text);
  y.backward({.retain_graph = true});
  CHECK(x.grad().item() == 1);
}

TEST_CASE("no_grad and enable_grad nest", "[autograd]") {
  const Tensor x = leaf({1}, {});
  CHECK(grad_mode());
  {
    const no_grad off;
    CHECK_FALSE(mul(x, x).requires_grad());
    {
      const enable_grad on;
      CHECK(mul(x, x).requires_grad());
      const no_grad again;
      CHECK_FALSE(grad_mode());
    }
    CHECK_FALSE(grad_mode());
  }
  CHECK(mul(x, x).requires_grad());
  try {
    const no_grad off;
    throw 1;
  } catch (int) {
  }
  CHECK(grad_mode());
  const Tensor d = mul(x, x).detach();
  CHECK_FALSE(d.requires_grad());
  CHECK_FALSE(mul(d, d).requires_grad());
}

TEST_CASE("changing a saved tensor or a view of it before backward is an error", "[autograd]") {
  const std::string text = "mul: a tensor saved for its gradient (shape [2]) was changed in place before backward";
  const Tensor x = leaf({1, 2}, {2});
  const Tensor c = constant({3, 4, 5}, {3});
  const auto product = [&] { return sum(mul(x, slice(c, 0, 0, 2))); };
  {
    const Tensor y = product();
    fill_(c, 1);  // the whole, of which a view is saved
    REQUIRE_THROWS_WITH(y.backward(), text);
  }
  {
    const Tensor y = product();
    fill_(slice(c, 0, 2, 3), 1);  // another view of the same storage
    REQUIRE_THROWS_AS(y.backward(), AutogradError);
  }
  {
    const Tensor y = sum(mul(x, x));
    const no_grad off;
    fill_(x, 7);
    REQUIRE_THROWS_WITH(y.backward(), text);
  }
  const Tensor y = product();
  y.backward({.retain_graph = true});
  fill_(c, 2);
  REQUIRE_THROWS_WITH(y.backward(), text);
  const Tensor z = sum(add(x, constant({1, 1}, {2})));  // saves nothing
  {
    const no_grad off;
    fill_(x, 5);
  }
  z.backward();
}

TEST_CASE("in-place changes that are refused", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  REQUIRE_THROWS_WITH(
      fill_(x, 0),
      "fill_: in-place change of a tensor that requires a gradient; use no_grad or an out-of-place operation");
  REQUIRE_THROWS_AS(fill_(mul(x, x), 0), AutogradError);
  REQUIRE_THROWS_AS(in_place("set", x), AutogradError);
  REQUIRE_THROWS_WITH(in_place("set", Tensor()), "set: the tensor to change is undefined");
  REQUIRE_THROWS_WITH(in_place("set", expand(constant({1, 2}, {2, 1}), {2, 3})),
                      "set: the tensor to change, of shape [2, 3], repeats the same memory along axis 1 (expand); "
                      "clone it first");
  CHECK(values(x) == Values{1, 2});
}

TEST_CASE("a gradient function's result is checked", "[autograd]") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor one = constant({1, 1}, {2});
  const auto result_of = [&](auto gradient) { custom(x, gradient).backward(one); };
  REQUIRE_THROWS_WITH(result_of([](Saved&, const Tensor& dy) {
                        return Grads{dy, dy};
                      }),
                      "custom: its gradient function returned 2 gradients for 1 inputs");
  REQUIRE_THROWS_WITH(result_of([](Saved&, const Tensor&) { return Grads{}; }),
                      "custom: its gradient function returned 0 gradients for 1 inputs");
  REQUIRE_THROWS_WITH(result_of([](Saved&, const Tensor&) { return Grads{zeros({3}, {.dtype = DType::float64})}; }),
                      "custom: its gradient function returned shape [3] for input 0 of shape [2]");
  REQUIRE_THROWS_WITH(result_of([](Saved&, const Tensor&) { return Grads{zeros({}, {.dtype = DType::float64})}; }),
                      "custom: its gradient function returned shape [] for input 0 of shape [2]");
  REQUIRE_THROWS_WITH(result_of([](Saved&, const Tensor&) { return Grads{zeros({2})}; }),
                      "custom: its gradient function returned float32 for input 0, which is float64");
  CHECK_FALSE(x.grad().defined());
  result_of([](Saved&, const Tensor&) { return Grads{Tensor()}; });  // "none" is a gradient too
  CHECK_FALSE(x.grad().defined());
}
