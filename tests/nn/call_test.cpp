// What a call notices: members that children() forgot, modules that were moved from.
#include "tutti/nn/call.h"

#include <functional>
#include <optional>
#include <tuple>

#include "support/op_test.h"
#include "support/warnings.h"
#include "tutti/tutti.h"

using namespace tutti;
using namespace tutti_test;
using Catch::Contains;

namespace {

/// Uses all of its members, and names those that it is told to.
struct Forgetful : nn::Callable<Forgetful> {
  explicit Forgetful(int forgets) : forgotten(forgets) {}
  int forgotten;
  nn::Linear inner{{.in = 3, .out = 3}};
  nn::Parameter scale{ones({3})};
  std::vector<nn::Linear> list{nn::Linear({.in = 3, .out = 3, .bias = false})};
  std::unique_ptr<nn::LayerNorm> norm = std::make_unique<nn::LayerNorm>(nn::LayerNormOptions{.width = 3});
  Tensor plain = ones({3, 1}).requires_grad_();  // no Parameter at all
  void children(nn::Visitor& visit) override {
    if (forgotten != 0) visit("inner", inner);
    if (forgotten != 1) visit("scale", scale);
    if (forgotten != 2) visit("list", list);
    if (forgotten != 3) visit("norm", norm);
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = (*norm)(list[0](mul(inner(x), scale)));
    return forgotten == 4 ? matmul(y, plain) : y;
  }
};

/// Gives something else than a tensor, by way of a parameter that it forgets.
template <class Give>
struct Several : nn::Callable<Several<Give>> {
  nn::Parameter scale{ones({2})};
  auto forward(const Tensor& x) { return Give()(x, mul(x, scale)); }
};

struct Batch {
  Tensor x, mask;
};
struct Choice {
  int64_t upto = 0;
  bool causal = false;
};
/// Its own weights and whatever the argument has.
struct Takes : nn::Callable<Takes> {
  nn::Parameter scale{ones({2})}, forgotten{ones({2})};
  void children(nn::Visitor& visit) override { visit("scale", scale); }
  Tensor forward(const Batch& b) { return add(mul(b.x, scale), b.mask); }
  Tensor forward(const std::optional<std::pair<Tensor, Tensor>>& p) { return mul(mul(p->first, p->second), scale); }
  Tensor forward(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) { return f(mul(x, scale)); }
  Tensor forward(const Tensor& x, Choice) { return mul(x, forgotten); }
};
struct Bare : nn::Module {
  nn::Parameter scale{ones({2})};
  void children(nn::Visitor& visit) override { visit("scale", scale); }
  Tensor operator()(const Tensor& x) {
    return scope([&] { return mul(x, scale); });
  }
};
/// Says how often it was asked for its children.
struct Counting : nn::Callable<Counting> {
  static inline int visits = 0;
  nn::Parameter scale{ones({2})};
  void children(nn::Visitor& visit) override {
    ++visits;
    visit("scale", scale);
  }
  Tensor forward(const Tensor& x) { return mul(x, scale); }
};

struct Outer : nn::Callable<Outer> {
  Forgetful part;
  explicit Outer(int forgets) : part(forgets) {}
  void children(nn::Visitor& visit) override { visit("part", part); }
  Tensor forward(const Tensor& x) { return part(x); }
};

/// Weights of another module, given from outside.
struct Head : nn::Callable<Head> {
  nn::Parameter scale{ones({3})};
  void children(nn::Visitor& visit) override { visit("scale", scale); }
  Tensor forward(const Tensor& x, const std::vector<Tensor>& weights, const AttentionOptions& options) {
    return add(mul(mul(x, weights[0]), scale), options.mask);
  }
  Tensor operator()(const Tensor& x, const std::vector<Tensor>& weights, const AttentionOptions& options) {
    return scope([&] { return forward(x, weights, options); }, x, weights, options);
  }
};

}  // namespace

TEST_CASE("a parameter that forward uses and children() forgot is warned of, once") {
  const char* shapes[] = {"[3]", "[3]", "[3, 3]", "[3]", "[3, 1]"};
  const char* ops[] = {"linear", "mul", "linear", "layer_norm", "matmul"};
  for (int forgotten = 0; forgotten < 5; ++forgotten) {
    INFO(forgotten);
    const auto got = warnings_of([&] {
      Forgetful model(forgotten);
      {
        const no_grad off;
        model(ones({2, 3}));  // not recorded: looked over another time
      }
      for (int i = 0; i < 3; ++i) sum(model(ones({2, 3}))).backward();
      Forgetful again(forgotten);
      again(ones({2, 3}));
    });
    REQUIRE(got.size() == 1);
    CHECK_THAT(got[0],
               Contains("Forgetful: forward uses a tensor of shape ") && Contains(ops[forgotten]) &&
                   Contains("that children() does not name: unless that is meant, parameters(), state_dict() and "
                            "to() do not reach it"));
    if (forgotten > 0) CHECK_THAT(got[0], Contains(shapes[forgotten]));  // 0: weight or bias
  }
  const auto outer = warnings_of([] { Outer(1)(ones({2, 3})); });
  REQUIRE(outer.size() == 1);
  CHECK_THAT(outer[0], Contains("Outer: forward uses a tensor of shape [3] that requires a gradient (in mul)"));
}

TEST_CASE("what is given to a call, or made before it, is nobody's forgotten member") {
  CHECK(warnings_of([] {
          Forgetful complete(-1);
          complete(ones({2, 3}).requires_grad_());
          nn::Linear a({.in = 3, .out = 3}), b({.in = 3, .out = 3}), c({.in = 3, .out = 3});
          b(a(ones({2, 3})));
          c(a.weight);
          Head head;
          nn::Parameter mask(ones({3}));
          head(a(ones({2, 3})), {b.bias.tensor()}, {.mask = mask});
          nn::TransformerEncoder encoder({.block = {.embed_dim = 4}, .layers = 2});
          encoder(ones({1, 3, 4}));
          const nn::Linear fixed({.in = 3, .out = 1});
          fixed(ones({2, 3}));
        }) == Texts{});
}

TEST_CASE("a forgotten parameter behind a list, a pair, a tuple or a map of results") {
  const auto list = [](const Tensor& x, const Tensor& y) { return std::vector<Tensor>{x, y}; };
  const auto pair = [](const Tensor& x, const Tensor& y) { return std::pair(y, x); };
  const auto tuple = [](const Tensor& x, const Tensor& y) { return std::tuple(1, x, std::optional(y)); };
  const auto map = [](const Tensor& x, const Tensor& y) { return nn::StateDict{{"x", x}, {"y", y}}; };
  const auto check = [](auto give) {
    const auto got = warnings_of([&] {
      Several<decltype(give)> model;
      for (int i = 0; i < 2; ++i) model(ones({2}));
    });
    REQUIRE(got.size() == 1);
    CHECK_THAT(got[0], Contains("forward uses a tensor of shape [2] that requires a gradient (in mul)"));
  };
  check(list);
  check(pair);
  check(tuple);
  check(map);
}

TEST_CASE("arguments that may hold tensors, unseen, are no reason for a warning") {
  const auto leaf = [] { return ones({2}).requires_grad_(); };
  CHECK(warnings_of([&] {
          Takes()(Batch{leaf(), leaf()});
          Takes()(std::optional(std::pair(leaf(), leaf())));
          const Tensor w = leaf();
          Takes()(ones({2}), [&](const Tensor& y) { return mul(y, w); });
          Bare()(leaf());
        }) == Texts{});
  const auto got = warnings_of([] { Takes()(ones({2}), Choice{}); });  // these cannot
  REQUIRE(got.size() == 1);
  CHECK_THAT(got[0], Contains("Takes: forward uses a tensor of shape [2]"));
}

TEST_CASE("a module is looked over once, also after values were assigned to it") {
  Counting model;
  const Counting best = model;
  const auto visits = [&] {
    const int before = Counting::visits;
    sum(model(ones({2}))).backward();
    return Counting::visits - before;
  };
  CHECK(visits() > 0);
  CHECK(visits() == 0);
  model = best;
  CHECK(visits() == 0);
  model = Counting();
  CHECK(visits() == 0);
}

TEST_CASE("a module that was moved from is refused, and is whole again after an assignment") {
  const char* text = "the module was moved from; assign another to it first";
  nn::Sequential a(nn::Linear({.in = 2, .out = 2}));
  nn::Sequential b = std::move(a);
  REQUIRE_THROWS_WITH(a(ones({1, 2})), text);  // it would be the identity
  REQUIRE_THROWS_WITH(a.parameters(), std::string("parameters: ") + text);
  REQUIRE_THROWS_WITH(a.named_parameters(), std::string("named_parameters: ") + text);
  REQUIRE_THROWS_WITH(a.state_dict(), std::string("state_dict: ") + text);
  REQUIRE_THROWS_WITH(a.load_state_dict({}), std::string("load_state_dict: ") + text);
  REQUIRE_THROWS_WITH(a.to(DType::float64), std::string("to: ") + text);
  const nn::Sequential copy = a;
  REQUIRE_THROWS_AS(copy.parameters(), ValueError);
  a = b;
  CHECK(a(ones({1, 2})).numel() == 2);
  CHECK(a.parameters().size() == 2);
  std::swap(a, b);
  CHECK(a.parameters().size() == 2);
  CHECK(b.parameters().size() == 2);

  nn::LayerNorm norm({.width = 2});  // without weights it would still normalise
  nn::LayerNorm taken({.width = 2});
  taken = std::move(norm);
  REQUIRE_THROWS_WITH(norm(ones({1, 2})), text);
  CHECK(taken(ones({1, 2})).numel() == 2);

  nn::GELU gelu;
  const nn::Sequential with(std::move(gelu));
  REQUIRE_THROWS_WITH(gelu(ones({2})), text);  // though it never had parameters
  gelu = nn::GELU();
  CHECK(gelu(ones({2})).numel() == 2);

  nn::FeedForward model({.embed_dim = 2, .hidden = 3});
  const nn::Linear part = std::move(model.down);
  REQUIRE_THROWS_WITH(model(ones({1, 2})), std::string("in down: ") + text);
  REQUIRE_THROWS_WITH(model.state_dict(), "state_dict: down was moved from; assign another to it first");
  CHECK(part.parameters().size() == 2);
}
