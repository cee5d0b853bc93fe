// Module: walking children, state, copies, errors with paths.
#include "tutti/nn/module.h"

#include <algorithm>

#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/nn/dropout.h"
#include "tutti/nn/init.h"
#include "tutti/nn/linear.h"
#include "tutti/nn/sequential.h"
#include "tutti/nn/transformer.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/reduce.h"

using namespace tutti;
using namespace tutti_test;

namespace {

struct Cell : nn::Callable<Cell> {
  nn::Linear inner{{.in = 3, .out = 3}};
  void children(nn::Visitor& visit) override { visit("inner", inner); }
  Tensor forward(const Tensor& x) { return inner(x); }
};

struct Model : nn::Callable<Model> {
  nn::Linear first{{.in = 4, .out = 3}};
  std::vector<Cell> cells = std::vector<Cell>(2);
  std::array<nn::Linear, 2> pair{nn::Linear({.in = 3, .out = 2, .bias = false}), nn::Linear({.in = 2, .out = 1})};
  std::optional<nn::Dropout> maybe;
  std::unique_ptr<Cell> owned;
  std::variant<std::monostate, nn::Linear> choice;
  nn::Parameter scale{full({3}, 2)};
  nn::Buffer seen{full({1}, 7)};
  nn::Buffer count{Tensor::from({5}, {1}, DType::int64)};
  void children(nn::Visitor& visit) override {
    visit("first", first);
    visit("cells", cells);
    visit("pair", pair);
    visit("maybe", maybe);
    visit("owned", owned);
    visit("choice", choice);
    visit("scale", scale);
    visit("seen", seen);
    visit("count", count);
  }
  Tensor forward(const Tensor& x, int64_t upto) {
    Tensor y = first(x);
    for (int64_t i = 0; i < upto; ++i) y = cells[static_cast<size_t>(i)](y);
    return mul(y, scale);
  }
};

struct Tied : nn::Callable<Tied> {
  nn::Linear a{{.in = 2, .out = 2}}, b{{.in = 2, .out = 2}};
  Tied() { b.weight.tie(a.weight); }
  void children(nn::Visitor& visit) override {
    visit("a", a);
    visit("b", b);
  }
  Tensor forward(const Tensor& x) { return b(a(x)); }
};

std::vector<std::string> names(const std::vector<std::pair<std::string, Tensor>>& list) {
  std::vector<std::string> out;
  for (const auto& [name, t] : list) out.push_back(name);
  return out;
}

}  // namespace

TEST_CASE("module: names follow the members, absent ones are skipped") {
  Model m;
  CHECK(names(m.named_parameters()) == std::vector<std::string>{"first.weight", "first.bias", "cells.0.inner.weight",
                                                                "cells.0.inner.bias", "cells.1.inner.weight",
                                                                "cells.1.inner.bias", "pair.0.weight", "pair.1.weight",
                                                                "pair.1.bias", "scale"});
  CHECK(names(m.named_buffers()) == std::vector<std::string>{"seen", "count"});
  CHECK(m.parameter_count() == 12 + 3 + 2 * 12 + 6 + 2 + 1 + 3);
  m.owned = std::make_unique<Cell>();
  m.choice.emplace<nn::Linear>(nn::LinearOptions{.in = 1, .out = 1});
  const auto more = names(m.named_parameters());
  CHECK(std::count(more.begin(), more.end(), "owned.inner.weight") == 1);
  CHECK(std::count(more.begin(), more.end(), "choice.bias") == 1);
}

TEST_CASE("module: train, eval and zero_grad reach everything") {
  Model m;
  m.maybe.emplace(0.5);
  m.eval();
  CHECK_FALSE(m.training());
  CHECK_FALSE(m.cells[1].inner.training());
  CHECK_FALSE(m.maybe->training());
  m.train();
  CHECK(m.cells[1].inner.training());
  sum(m(ones({2, 4}), 2)).backward();
  CHECK(m.first.weight.tensor().grad().defined());
  m.zero_grad();
  CHECK_FALSE(m.first.weight.tensor().grad().defined());
}

TEST_CASE("module: tied parameters appear under both names, once in parameters()") {
  Tied m;
  CHECK(m.named_parameters().size() == 4);
  CHECK(m.parameters().size() == 3);
  CHECK(m.parameter_count() == 4 + 2 + 2);
  CHECK(m.state_dict().size() == 4);
  sum(m(ones({1, 2}))).backward();
  // d/dW of sum(W (W x + a) + b) has both uses in it: compare with separate weights.
  Tied apart;
  apart.a.weight = m.a.weight;
  apart.a.bias = m.a.bias;
  apart.b.weight = nn::Parameter(clone(m.b.weight.tensor().detach()));
  sum(apart(ones({1, 2}))).backward();
  check_close(m.a.weight.tensor().grad(),
              Array(add(apart.a.weight.tensor().grad(), apart.b.weight.tensor().grad()).detach()), 1e-6);
  m.to(DType::float64);
  CHECK(m.a.weight.tensor().impl() == m.b.weight.tensor().impl());
  CHECK(m.b.weight.tensor().dtype() == DType::float64);
}

TEST_CASE("module: a copy is independent, a moved one is the same") {
  Cell a;
  const Cell b = a;
  CHECK(b.inner.weight.tensor().impl() != a.inner.weight.tensor().impl());
  check_identical(b.inner.weight, a.inner.weight);
  CHECK(b.inner.weight.tensor().requires_grad());
  nn::init::zeros_(a.inner.weight);
  CHECK(sum(mul(b.inner.weight, b.inner.weight)).item() > 0);

  const TensorImpl* before = a.inner.weight.tensor().impl();
  a = b;  // in place: an optimizer that holds a's tensors still does
  CHECK(a.inner.weight.tensor().impl() == before);
  check_identical(a.inner.weight, b.inner.weight);

  std::vector<Cell> list;
  list.push_back(std::move(a));
  for (int i = 0; i < 20; ++i) list.emplace_back();  // growing moves
  CHECK(list[0].inner.weight.tensor().impl() == before);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<nn::TransformerBlock>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<nn::Sequential>);

  nn::Parameter frozen(ones({2}));
  Tensor(frozen.tensor()).requires_grad_(false);
  CHECK_FALSE(nn::Parameter(frozen).tensor().requires_grad());
}

TEST_CASE("module: a Parameter must be a floating leaf") {
  REQUIRE_THROWS_AS(nn::Parameter(Tensor::from({1}, {1}, DType::int64)), AutogradError);
  Tensor x = ones({2});
  x.requires_grad_();
  REQUIRE_THROWS_AS(nn::Parameter(mul(x, 2)), AutogradError);
}

TEST_CASE("module: state_dict shares storage, load_state_dict copies in place") {
  Cell a, b;
  const auto state = a.state_dict();
  CHECK(state.at("inner.weight").data() == a.inner.weight.tensor().data());
  CHECK_FALSE(state.at("inner.weight").requires_grad());
  const TensorImpl* before = b.inner.weight.tensor().impl();
  b.load_state_dict(state);
  CHECK(b.inner.weight.tensor().impl() == before);
  check_identical(a.inner.weight, b.inner.weight);
  a.load_state_dict(a.state_dict());
  check_identical(a.inner.weight, b.inner.weight);

  nn::StateDict doubles;  // of another dtype: converted
  for (const auto& [name, t] : state) doubles[name] = to(t, DType::float64);
  b.load_state_dict(doubles);
  CHECK(b.inner.weight.tensor().dtype() == DType::float32);
  check_identical(a.inner.weight, b.inner.weight);

  // Names exchanged among a module's own tensors: every value is read before any is written.
  Tied m;
  m.b.weight = nn::Parameter(full({2, 2}, 3));
  nn::init::constant_(m.a.weight, 1);
  auto mine = m.state_dict();
  std::swap(mine["a.weight"], mine["b.weight"]);
  m.load_state_dict(mine);
  CHECK(m.a.weight.tensor().at({0, 0}) == 3);
  CHECK(m.b.weight.tensor().at({0, 0}) == 1);
}

TEST_CASE("module: load_state_dict lists every difference and then changes nothing") {
  Model m;
  nn::StateDict state;
  for (const auto& [name, t] : m.state_dict()) state[name] = clone(t);
  state.at("first.weight") = zeros({3, 5});
  state.at("first.bias") = full({3}, 99);
  state.erase("scale");
  state.erase("cells.1.inner.bias");
  state["cells.2.inner.bias"] = zeros({3});
  const Tensor before = clone(m.first.bias.tensor().detach());
  REQUIRE_THROWS_WITH(m.load_state_dict(state),
                      "load_state_dict: the state does not fit the module\n  missing: cells.1.inner.bias (the "
                      "state has cells.2.inner.bias)\n  missing: scale\n  unexpected: cells.2.inner.bias\n"
                      "  shape: first.weight is [3, 4], the state has [3, 5]");
  check_identical(m.first.bias.tensor().detach(), before);
  state = {};
  REQUIRE_THROWS_AS(m.load_state_dict(state), ValueError);
}

TEST_CASE("module: two members of one name are an error") {
  struct Twice : nn::Callable<Twice> {
    nn::Parameter a{ones({1})}, b{ones({1})};
    void children(nn::Visitor& visit) override {
      visit("a", a);
      visit("a", b);
    }
  } m;
  REQUIRE_THROWS_WITH(m.state_dict(), "state_dict: two parameters or buffers are named \"a\"");
}

TEST_CASE("module: to(dtype) keeps tensors' identity, gradients and integer buffers") {
  Model m;
  sum(m(ones({2, 4}), 1)).backward();
  const Tensor held = m.first.weight;
  const Array values(held.detach()), gradient(held.grad());
  m.to(DType::float64);
  CHECK(held.dtype() == DType::float64);
  CHECK(held.grad().dtype() == DType::float64);
  check_close(held.detach(), values, 0);
  check_close(held.grad(), gradient, 0);
  CHECK(m.seen.tensor().dtype() == DType::float64);
  CHECK(m.count.tensor().dtype() == DType::int64);
  m.zero_grad();
  sum(m(ones({2, 4}, {.dtype = DType::float64}), 1)).backward();
  CHECK(held.grad().dtype() == DType::float64);
  m.to(cpu);
  CHECK(held.device() == cpu);
  REQUIRE_THROWS_WITH(m.to(DType::int64), "to: a module cannot be int64");
}

TEST_CASE("module: an error carries the path of the module that it came from") {
  Model m;
  REQUIRE_THROWS_WITH(m(ones({2, 5}), 0), "in first: linear: input width 5 does not match weight [3, 4] (in = 4)");
  m.cells[1].inner = nn::Linear({.in = 7, .out = 3});
  try {
    m(ones({2, 4}), 2);
    FAIL("no error");
  } catch (const ShapeError& e) {
    CHECK(e.module_path() == "cells.1.inner");
    CHECK(std::string(e.what()) == "in cells.1.inner: linear: input width 3 does not match weight [3, 7] (in = 7)");
  }
  nn::Sequential row(nn::Linear({.in = 2, .out = 3}), Cell(), nn::Linear({.in = 4, .out = 1}));
  REQUIRE_THROWS_WITH(row(ones({1, 2})), "in 2: linear: input width 3 does not match weight [1, 4] (in = 4)");
}

TEST_CASE("module: const modules can be called where forward is const") {
  const nn::Linear layer({.in = 2, .out = 3});
  CHECK(layer(ones({4, 2})).shape() == Dims{4, 3});
}

TEST_CASE("sequential: runs in order, copies its modules") {
  nn::Sequential a(nn::Linear({.in = 2, .out = 3}), nn::Linear({.in = 3, .out = 1}));
  CHECK(a.size() == 2);
  CHECK(a.parameters().size() == 4);
  nn::Sequential b = a;
  check_identical(a(ones({5, 2})), b(ones({5, 2})));
  nn::init::zeros_(b.parameters()[0]);
  CHECK(sum(mul(a.parameters()[0], a.parameters()[0])).item() > 0);
  b = a;
  check_identical(a(ones({5, 2})), b(ones({5, 2})));
  nn::Sequential nothing;
  CHECK(nothing(ones({2})).numel() == 2);
}
