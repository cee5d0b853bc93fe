// `model = best` and `model = model` for every type of module: an optimizer keeps hold of the tensors.
#include <functional>

#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;
using namespace tutti_test;

namespace {

using GroupedOptions = nn::GroupedMultiHeadAttentionOptions;

struct Everything : nn::Callable<Everything> {
  std::vector<nn::Sequential> list;
  std::array<nn::Linear, 2> pair{nn::Linear({.in = 2, .out = 2}), nn::Linear({.in = 2, .out = 1})};
  std::optional<nn::Sequential> maybe{nn::Sequential(nn::Linear({.in = 2, .out = 2}))};
  std::variant<std::monostate, nn::Linear, nn::Sequential> choice{nn::Sequential(nn::Linear({.in = 1, .out = 2}))};
  nn::Parameter scale{ones({3})};
  nn::Buffer seen{ones({2})}, count{Tensor::from({5}, {1}, DType::int64)};
  Everything() {
    list.emplace_back(nn::Linear({.in = 2, .out = 2}), nn::ReLU());
    list.emplace_back(nn::Sequential(nn::Sequential(nn::LayerNorm({.width = 2})), nn::GELU()));
  }
  void children(nn::Visitor& visit) override {
    visit("list", list);
    visit("pair", pair);
    visit("maybe", maybe);
    visit("choice", choice);
    visit("scale", scale);
    visit("seen", seen);
    visit("count", count);
  }
  Tensor forward(const Tensor& x) { return x; }
};

/// A module that owns another one on the heap says itself how it is copied.
struct Owner : nn::Callable<Owner> {
  std::unique_ptr<nn::Linear> owned = std::make_unique<nn::Linear>(nn::LinearOptions{.in = 2, .out = 3});
  Owner() = default;
  Owner(const Owner& other) : Callable(other), owned(std::make_unique<nn::Linear>(*other.owned)) {}
  Owner& operator=(const Owner& other) {
    Callable::operator=(other);
    *owned = *other.owned;
    return *this;
  }
  void children(nn::Visitor& visit) override { visit("owned", owned); }
  Tensor forward(const Tensor& x) { return (*owned)(x); }
};

std::vector<Tensor> tensors_of(const nn::Module& m) {
  std::vector<Tensor> list;
  for (const auto& [name, t] : m.named_parameters()) list.push_back(t);
  for (const auto& [name, t] : m.named_buffers()) list.push_back(t);
  return list;
}

std::vector<Array> values_of(const std::vector<Tensor>& tensors) {
  std::vector<Array> list;
  for (const Tensor& t : tensors) list.emplace_back(t.detach());
  return list;
}

void check_values(const std::vector<Tensor>& got, const std::vector<Array>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) check_close(got[i].detach(), want[i], 0);
}

template <class M>
void check_assignment(const char* name, const std::function<M()>& make) {
  INFO(name);
  M model = make();
  const auto held = tensors_of(model);
  const auto values = values_of(held);
  const auto same = [&] {
    const auto now = tensors_of(model);
    REQUIRE(now.size() == held.size());
    for (size_t i = 0; i < now.size(); ++i) CHECK(now[i].impl() == held[i].impl());
  };

  const M best = model;
  for (const Tensor& t : held) fill_(t.detach(), 3);
  model.eval();
  model = best;
  same();
  check_values(held, values);
  CHECK(model.training());
  check_values(tensors_of(best), values);

  M& itself = model;
  model = itself;
  same();
  check_values(held, values);

  if constexpr (!std::is_same_v<M, nn::InterGroupPath>) {  // which takes two tensors
    nn::Sequential row(model);                             // the same as a step of a Sequential
    const auto step = tensors_of(row);
    const nn::Sequential kept = row;
    for (const Tensor& t : step) fill_(t.detach(), 4);
    row = kept;
    const auto now = tensors_of(row);
    for (size_t i = 0; i < now.size(); ++i) CHECK(now[i].impl() == step[i].impl());
    check_values(step, values);
  }
}

}  // namespace

TEST_CASE("assignment of a copy keeps the tensors of every type of module") {
  check_assignment<nn::Linear>("Linear", [] { return nn::Linear({.in = 3, .out = 2}); });
  check_assignment<nn::GroupedLinear>("GroupedLinear",
                                      [] { return nn::GroupedLinear({.in = 4, .out = 2, .groups = 2}); });
  check_assignment<nn::Embedding>("Embedding", [] { return nn::Embedding({.count = 4, .width = 3}); });
  check_assignment<nn::LayerNorm>("LayerNorm", [] { return nn::LayerNorm({.width = 3}); });
  check_assignment<nn::RMSNorm>("RMSNorm", [] { return nn::RMSNorm({.width = 3}); });
  check_assignment<nn::Norm>("Norm", [] { return nn::Norm({.width = 3}); });
  check_assignment<nn::Dropout>("Dropout", [] { return nn::Dropout(0.5); });
  check_assignment<nn::ReLU>("ReLU", [] { return nn::ReLU(); });
  check_assignment<nn::SiLU>("SiLU", [] { return nn::SiLU(); });
  check_assignment<nn::GELU>("GELU", [] { return nn::GELU(); });
  check_assignment<nn::FeedForward>("FeedForward", [] { return nn::FeedForward({.embed_dim = 4, .hidden = 6}); });
  check_assignment<nn::MultiHeadAttention>("MultiHeadAttention",
                                           [] { return nn::MultiHeadAttention({.embed_dim = 4}); });
  const auto grouped = [](const char* name, GroupedOptions o) {
    o.embed_dim = 8;
    o.groups = 2;
    check_assignment<nn::GroupedMultiHeadAttention>(name, [o] { return nn::GroupedMultiHeadAttention(o); });
  };
  grouped("grouped", {});
  grouped("grouped: kv heads, scale, norm", {.num_heads = 4,
                                             .num_kv_heads = 2,
                                             .scale = nn::AttentionScale::learned,
                                             .output = nn::OutputProjection::grouped,
                                             .norm = nn::ProjectionNorm::per_group,
                                             .group_dropout = {.rates = {0.5}}});
  grouped("grouped: dynamic", {.dynamic = {.candidates = {1, 2}}});
  for (const auto exchange : {nn::GroupExchange::talking_heads, nn::GroupExchange::inter_group,
                              nn::GroupExchange::tokens_over_groups, nn::GroupExchange::cascade})
    grouped(name_of(exchange), {.exchange = exchange});
  check_assignment<nn::GroupDropout>("GroupDropout", [] { return nn::GroupDropout(2, {.rates = {0.1}}); });
  check_assignment<nn::InterGroupPath>("InterGroupPath",
                                       [] { return nn::InterGroupPath({.in = 4, .groups = 2, .width = 2}); });
  check_assignment<nn::TokensOverGroups>("TokensOverGroups",
                                         [] { return nn::TokensOverGroups({.groups = 2, .width = 2}); });
  check_assignment<nn::DynamicGroups>("DynamicGroups", [] {
    return nn::DynamicGroups({.in = 4, .width = 4, .dynamic = {.candidates = {1, 2}}});
  });
  for (const auto& attention : {nn::standard({}), nn::grouped({.groups = 2})}) {
    check_assignment<nn::TransformerBlock>(
        "TransformerBlock", [&] { return nn::TransformerBlock({.embed_dim = 4, .attention = attention}); });
    check_assignment<nn::TransformerEncoder>("TransformerEncoder", [&] {
      return nn::TransformerEncoder({.block = {.embed_dim = 4, .attention = attention}, .layers = 2});
    });
  }
  check_assignment<nn::Sequential>("Sequential", [] {
    return nn::Sequential(nn::Linear({.in = 3, .out = 2}), nn::ReLU(), nn::Sequential(nn::Linear({.in = 2, .out = 2})));
  });
  check_assignment<Everything>("Everything", [] { return Everything(); });
  check_assignment<Owner>("Owner", [] { return Owner(); });
}

TEST_CASE("assignment between structures that differ: what is alike is kept, the rest are new tensors") {
  nn::Sequential model(nn::Linear({.in = 2, .out = 2}), nn::Linear({.in = 2, .out = 3}), nn::ReLU(),
                       nn::Linear({.in = 3, .out = 1}));
  const nn::Sequential other(nn::Linear({.in = 2, .out = 2}), nn::Linear({.in = 2, .out = 4}),
                             nn::Linear({.in = 4, .out = 1}));
  const auto before = model.parameters();
  model = other;
  const auto now = model.named_parameters(), want = other.named_parameters();
  REQUIRE(now.size() == want.size());
  for (size_t i = 0; i < now.size(); ++i) {
    CHECK(now[i].first == want[i].first);
    CHECK(now[i].second.impl() != want[i].second.impl());
    check_identical(now[i].second.detach(), want[i].second.detach());
  }
  CHECK(now[0].second.impl() == before[0].impl());
  CHECK(now[1].second.impl() == before[1].impl());
  CHECK(now[2].second.impl() != before[2].impl());  // another shape
  CHECK(now[4].second.impl() != before[4].impl());  // another type: ReLU

  nn::Sequential longer = model;
  longer.add(nn::Linear({.in = 1, .out = 1}));
  const auto first = longer.parameters();
  model = longer;
  CHECK(model.size() == 4);
  CHECK(model.parameters()[0].impl() == before[0].impl());
  CHECK(model.parameters()[6].impl() != first[6].impl());
}

TEST_CASE("a Sequential gets the value of a step inside it, and the other way round") {
  struct Grab final : nn::Visitor {
    std::vector<nn::Module*> found;
    using nn::Visitor::operator();
    void operator()(const std::string&, nn::Parameter&) override {}
    void operator()(const std::string&, nn::Buffer&) override {}
    void operator()(const std::string&, nn::Module& m) override { found.push_back(&m); }
  };
  const auto step = [](nn::Sequential& s, size_t i) -> nn::Sequential& {
    Grab grab;
    s.children(grab);
    return dynamic_cast<nn::Sequential&>(*grab.found.at(i));
  };
  const auto same = [](const nn::Sequential& a, const nn::Sequential& b) {
    const auto x = a.named_parameters(), y = b.named_parameters();
    REQUIRE(x.size() == y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      CHECK(x[i].first == y[i].first);
      check_identical(x[i].second.detach(), y[i].second.detach());
    }
  };
  const auto linear = [] { return nn::Linear({.in = 2, .out = 2}); };
  // Both kinds of step come first: one that is replaced, and one that is assigned to.
  for (const bool nested : {false, true}) {
    INFO(nested);
    const nn::Sequential inner(linear(), linear(), nn::ReLU());
    const auto make = [&] {
      return nested ? nn::Sequential(nn::Sequential(inner, linear(), inner), linear())
                    : nn::Sequential(inner, linear());
    };
    nn::Sequential model = make();
    const nn::Sequential want = step(model, 0);
    model = step(model, 0);
    CHECK(model.size() == 3);
    same(model, want);

    nn::Sequential outer = make();
    const nn::Sequential whole = outer;
    step(outer, 0) = outer;
    CHECK(step(outer, 0).size() == 2);
    same(step(outer, 0), whole);
  }
}

TEST_CASE("an assignment to a Sequential that fails while it copies has changed nothing") {
  struct Fails : nn::Callable<Fails> {
    Fails() = default;
    Fails(Fails&&) = default;
    Fails(const Fails& other) : Callable(other) { throw ValueError("no copies"); }
    Tensor forward(const Tensor& x) { return x; }
  };
  nn::Sequential model(nn::Linear({.in = 2, .out = 2}), nn::ReLU());
  model.eval();
  nn::Sequential other(nn::Linear({.in = 2, .out = 2}));
  other.add(Fails());
  const auto values = values_of(tensors_of(model));
  REQUIRE_THROWS_WITH(model = other, "no copies");
  check_values(tensors_of(model), values);
  CHECK_FALSE(model.training());
  CHECK(model.size() == 2);
  CHECK(model(ones({1, 2})).numel() == 2);
}

TEST_CASE("assignment of a Parameter takes dtype and requires_grad along, in the tensor that is there") {
  nn::Parameter p(full({2}, 1));
  const Tensor held = p;
  held.set_grad(ones({2}));
  const nn::Parameter wide(full({2}, 5, {.dtype = DType::float64}));
  p = wide;
  CHECK(p.tensor().impl() == held.impl());
  CHECK(held.dtype() == DType::float64);
  CHECK(held.data() != wide.tensor().data());
  CHECK(held.at({1}) == 5);
  CHECK_FALSE(held.grad().defined());  // it would not fit
  nn::Parameter frozen(full({2}, 7));
  Tensor(frozen.tensor()).requires_grad_(false);
  p = frozen;
  CHECK(p.tensor().impl() == held.impl());
  CHECK_FALSE(held.requires_grad());
  p = wide;
  CHECK(held.requires_grad());
  REQUIRE_THROWS_WITH(nn::Buffer(mul(held, 2)),
                      "Buffer: the tensor of shape [2] requires a gradient, which nothing would use; detach() it, or "
                      "make it a Parameter");
}
