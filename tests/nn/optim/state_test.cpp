// What optimizers and schedulers remember, saved and loaded.
#include <functional>

#include "support/op_test.h"
#include "tutti/nn/optim/adam.h"
#include "tutti/nn/optim/scheduler.h"
#include "tutti/nn/optim/sgd.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/random.h"

using namespace tutti;
using namespace tutti::optim;
using State = std::map<std::string, Tensor>;

namespace {

std::vector<std::string> names(const State& state) {
  std::vector<std::string> list;
  for (const auto& [name, t] : state) list.push_back(name);
  return list;
}

/// Two parameters, of which the second has no gradient in the first step.
struct Weights {
  Tensor a = ones({3}), b = ones({2, 2});
  Weights() { a.requires_grad_(), b.requires_grad_(); }
  std::vector<Tensor> list() const { return {a, b}; }
  void gradients(int step) const {
    a.set_grad(full({3}, 0.5 + step));
    if (step > 0) b.set_grad(full({2, 2}, 0.25 * step));
  }
};

State cloned(const State& state) {
  State copy;
  for (const auto& [name, t] : state) copy.emplace(name, clone(t));
  return copy;
}

/// Three steps, a new optimizer that loads, three more: the same bits as six.
template <class Make>
void check_going_on(const Make& make) {
  Weights whole, parted;
  const auto straight = make(whole);
  const auto before = make(parted);
  for (int i = 0; i < 3; ++i) {
    whole.gradients(i), straight->step();
    parted.gradients(i), before->step();
  }
  before->groups()[0].lr = straight->groups()[0].lr = 0.125;
  const State state = cloned(before->state_dict());
  const auto after = make(parted);
  after->load_state_dict(state);
  CHECK(after->groups()[0].lr == 0.125);
  for (int i = 3; i < 6; ++i) {
    whole.gradients(i), straight->step();
    parted.gradients(i), after->step();
  }
  CHECK(whole.a.to_vector<float>() == parted.a.to_vector<float>());
  CHECK(whole.b.to_vector<float>() == parted.b.to_vector<float>());
}

}  // namespace

TEST_CASE("optimizer state: a new optimizer that loads it goes on to the same bits") {
  check_going_on([](const Weights& w) { return std::make_unique<SGD>(w.list(), SGDOptions{.lr = 0.1}); });
  check_going_on([](const Weights& w) {
    return std::make_unique<SGD>(w.list(), SGDOptions{.momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
  });
  check_going_on(
      [](const Weights& w) { return std::make_unique<SGD>(w.list(), SGDOptions{.momentum = 0.9, .dampening = 0.5}); });
  check_going_on([](const Weights& w) { return std::make_unique<Adam>(w.list(), AdamOptions{.weight_decay = 0.1}); });
  check_going_on([](const Weights& w) { return std::make_unique<AdamW>(w.list()); });
}

TEST_CASE("optimizer state: PyTorch's names, and only of parameters that had a step") {
  const Weights w;
  AdamW adam(w.list());
  CHECK(names(adam.state_dict()) == std::vector<std::string>{"0.lr", "0.parameters", "0.weight_decay", "steps"});
  w.gradients(0);
  adam.step();
  CHECK(names(adam.state_dict()) == std::vector<std::string>{"0.0.exp_avg", "0.0.exp_avg_sq", "0.0.step", "0.lr",
                                                             "0.parameters", "0.weight_decay", "steps"});
  CHECK(adam.state_dict().at("0.0.exp_avg").at({0}) == Approx(0.05));

  SGD sgd(w.list(), {.momentum = 0.9});
  w.gradients(1);
  sgd.step();
  CHECK(sgd.state_dict().contains("0.1.momentum_buffer"));
}

TEST_CASE("optimizer state: half weights keep float32 averages, and one that is loaded leaves the state alone") {
  Tensor w = full({2}, 1, {.dtype = DType::bfloat16});
  w.requires_grad_();
  w.set_grad(full({2}, 0.5, {.dtype = DType::bfloat16}));
  AdamW first(std::vector<Tensor>{w}), second(std::vector<Tensor>{w});
  first.step();
  const State state = cloned(first.state_dict());
  CHECK(state.at("0.0.exp_avg").dtype() == DType::float32);
  second.load_state_dict(state);
  second.step();
  CHECK(state.at("0.0.exp_avg").at({0}) == Approx(0.05));
  CHECK(second.steps() == 2);
  second.load_state_dict(State{{"steps", state.at("steps")},
                               {"0.lr", state.at("0.lr")},
                               {"0.weight_decay", state.at("0.weight_decay")},
                               {"0.parameters", state.at("0.parameters")}});
  CHECK_FALSE(second.state_dict().contains("0.0.exp_avg"));  // as before its first step
}

TEST_CASE("optimizer state: what does not fit is an error that names it, and changes nothing") {
  const Weights w;
  AdamW adam(w.list());
  w.gradients(1);
  adam.step();
  const State good = cloned(adam.state_dict());
  const auto refused = [&](const std::function<void(State&)>& change, const std::string& text) {
    State bad = good;
    change(bad);
    REQUIRE_THROWS_WITH(adam.load_state_dict(bad), "AdamW: load_state_dict: " + text);
  };
  refused([](State& s) { s.erase("0.lr"); }, "the state has no \"0.lr\"");
  refused([](State& s) { s.erase("0.1.exp_avg_sq"); }, "the state has no \"0.1.exp_avg_sq\"");
  refused([](State& s) { s.erase("0.1.step"); }, "the state has no \"0.1.step\"");
  refused([](State& s) { s.erase("0.1.exp_avg"); }, "the state has \"0.1.exp_avg_sq\", which nothing here takes");
  refused([](State& s) { s["1.lr"] = s["0.lr"]; }, "the state has \"1.lr\", which nothing here takes");
  refused([](State& s) { s["0.0.exp_avg"] = zeros({4}); },
          "\"0.0.exp_avg\" has shape [4], but parameter 0 of group 0 has [3]");
  refused([](State& s) { s["0.lr"] = zeros({}); },
          "\"0.lr\" of the state is float32 of shape [], not float64 of shape []");
  CHECK(names(adam.state_dict()) == names(good));
  CHECK(adam.state_dict().at("0.0.exp_avg").to_vector<float>() == good.at("0.0.exp_avg").to_vector<float>());

  SGD one(std::vector<Tensor>{w.a});
  REQUIRE_THROWS_WITH(one.load_state_dict(SGD(w.list()).state_dict()),
                      "SGD: load_state_dict: group 0 has 1 parameters, but had 2");
}

TEST_CASE("scheduler state: goes on where it was, a rate that the user set included") {
  const Weights w;
  const Schedule warm = chained(linear_warmup(4), 4, cosine(10));
  SGD straight(w.list(), {.lr = 0.8}), before(w.list(), {.lr = 0.8}), after(w.list(), {.lr = 0.8});
  Scheduler a(straight, warm), b(before, warm);
  for (int i = 0; i < 2; ++i) a.step(), b.step();
  straight.groups()[0].lr = before.groups()[0].lr = 0.3;
  Scheduler c(after, warm);
  after.load_state_dict(before.state_dict());
  c.load_state_dict(b.state_dict());
  for (int i = 0; i < 6; ++i) {
    CHECK(after.groups()[0].lr == straight.groups()[0].lr);
    CHECK(a.factor() == c.factor());
    a.step(), c.step();
  }
  CHECK(a.base_lrs() == c.base_lrs());

  SGD two(std::vector<ParameterGroup>{{.parameters = {w.a}}, {.parameters = {w.b}}});
  Scheduler other(two, warm);
  REQUIRE_THROWS_WITH(other.load_state_dict(a.state_dict()),
                      "Scheduler: load_state_dict: the optimizer has 2 groups, the state has rates of 1 and 1");
  CHECK(other.factor() == 0.25);
}
