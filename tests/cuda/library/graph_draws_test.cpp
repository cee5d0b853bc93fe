// What changes from replay to replay of a CudaGraph beside its inputs: random numbers, with all that draws them, and
// what layers send to the device in every forward. Steps that are replayed have the bits of steps that are not.
#include <memory>

#include "emulator.h"
#include "support/catch.h"
#include "tutti/core/backend.h"
#include "tutti/tutti.h"

using namespace tutti;

namespace {

const Device gpu = Device::cuda();
const int warm_up = CudaGraphOptions{}.warm_up;

/// Errors come when the host waits, as they do outside of tests, and modules are made on the device.
struct OnDevice {
  OnDevice() {
    cuda_check_at_once(false);
    set_default_device(gpu);
  }
  ~OnDevice() {
    cuda_check_at_once(true);
    set_default_device(before);
  }
  Device before = default_device();
};

struct Net : nn::Callable<Net> {
  nn::TransformerBlock block;
  nn::Linear head{{.in = 16, .out = 5}};
  bool again;  // checkpoint
  explicit Net(const nn::AttentionSpec& attention, double dropout = 0.2, bool checkpointed = false)
      : block({.embed_dim = 16, .attention = attention, .dropout = dropout}), again(checkpointed) {}
  void children(nn::Visitor& visit) override {
    visit("block", block);
    visit("head", head);
  }
  Tensor forward(const Tensor& x) {
    const auto run = [this](const std::vector<Tensor>& in) { return block(in[0]); };
    return head(mean(again ? checkpoint(run, {x}) : run({x}), 1));
  }
};

struct Outcome {
  std::vector<double> losses, weights;
  uint64_t position;
  bool operator==(const Outcome&) const = default;
};

struct Case {
  double dropout = 0.2;
  bool checkpointed = false;
  int steps = 5;
};

/// Of steps after the warm-up, eagerly or by a graph.
Outcome train(bool record, const nn::AttentionSpec& attention, const Case& c) {
  manual_seed(3);
  Net net(attention, c.dropout, c.checkpointed);
  optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
  const Tensor x = randn({3, 7, 16}), y = randint(0, 5, {3}, {.dtype = DType::int64});
  Tensor loss;
  const auto step = [&] {
    loss = cross_entropy(net(x), y);
    if (const auto* layer = std::get_if<nn::GroupedMultiHeadAttention>(&net.block.attention); layer && layer->dynamic)
      loss = add(loss, mul(layer->dynamic->flops_share(), 0.1));
    optimizer.zero_grad();
    loss.backward();
    optim::clip_grad_norm(net.parameters(), 1);
    optimizer.step();
  };
  std::unique_ptr<CudaGraph> graph;
  if (record) graph = std::make_unique<CudaGraph>(step, gpu);
  for (int i = 0; !record && i < warm_up; ++i) step();
  Outcome outcome;
  for (int i = 0; i < c.steps; ++i) {
    if (i == c.steps - 2) manual_seed(4);
    graph ? graph->replay() : step();
    outcome.losses.push_back(loss.item());
  }
  for (const Tensor& p : net.parameters())
    for (const double v : p.to_vector<double>()) outcome.weights.push_back(v);
  outcome.position = default_generator().position();
  return outcome;
}

void check_replays(const std::string& what, const nn::AttentionSpec& attention, const Case& c = {}) {
  INFO(what);
  const Outcome eager = train(false, attention, c);
  const Outcome replayed = train(true, attention, c);
  CHECK(replayed.losses == eager.losses);
  CHECK(replayed.weights == eager.weights);
  CHECK(replayed.position == eager.position);
}

/// make() in each of 5 replays, and as often eagerly: the same numbers, others each time, and the generator moves on.
template <class F>
void check_draws(const std::string& what, const F& make, Generator& generator = default_generator()) {
  INFO(what);
  const auto run = [&](bool record) {
    manual_seed(6);
    generator.manual_seed(7);
    Tensor y;
    std::unique_ptr<CudaGraph> graph;
    const auto step = [&] { y = make(); };
    if (record) graph = std::make_unique<CudaGraph>(step, gpu);
    for (int i = 0; !record && i < warm_up; ++i) step();
    std::vector<std::vector<double>> seen;
    for (int i = 0; i < 5; ++i) {
      graph ? graph->replay() : step();
      seen.push_back(y.to_vector<double>());
    }
    return std::pair{seen, generator.position()};
  };
  const auto eager = run(false), replayed = run(true);
  CHECK(replayed == eager);
  CHECK(eager.first[0] != eager.first[1]);
  CHECK(eager.second > 0);
}

}  // namespace

TEST_CASE("cuda graph: replays draw what steps would draw, in dropout of every kind") {
  const OnDevice here;
  check_replays("standard", nn::standard({.num_heads = 2, .dropout = 0.3}), {.steps = 20});
  check_replays("grouped", nn::grouped({.num_heads = 4, .groups = 2, .dropout = 0.3}), {.steps = 20});
  check_replays("checkpoint", nn::grouped({.num_heads = 4, .groups = 2, .dropout = 0.3}), {.checkpointed = true});
  check_replays("one rate", nn::grouped({.groups = 2, .group_dropout = {.rates = {0.3}}}));
  check_replays("rates", nn::grouped({.groups = 2, .group_dropout = {.rates = {0.2, 0.4}}}));
  check_replays("whole groups",
                nn::grouped({.groups = 4, .group_dropout = {.rates = {0.2, 0.4, 0, 0.5}, .whole_groups = true}}));
  check_replays(
      "talking heads",
      nn::grouped({.num_heads = 4, .groups = 2, .dropout = 0.3, .exchange = nn::GroupExchange::talking_heads}));
  check_replays("cascade", nn::grouped({.num_heads = 4,
                                        .groups = 2,
                                        .dropout = 0.3,
                                        .group_dropout = {.rates = {0.5, 0.25}, .whole_groups = true},
                                        .exchange = nn::GroupExchange::cascade}));
}

TEST_CASE("cuda graph: layouts and candidates of groups that go to the device in every forward") {
  const OnDevice here;
  using nn::Sparsity;
  for (const Sparsity pattern :
       {Sparsity::sliding_window, Sparsity::block, Sparsity::strided, Sparsity::global_window, Sparsity::big_bird}) {
    nn::GroupedMultiHeadAttentionOptions o{.num_heads = 4, .groups = 2, .dropout = 0.3};
    o.sparsity = {.pattern = pattern, .block = 2, .window = pattern == Sparsity::sliding_window ? 3 : 0};
    check_replays(nn::name_of(pattern), o);
  }
  check_replays("dynamic", nn::grouped({.num_heads = 4, .groups = 4, .dropout = 0.3, .dynamic = {{1, 2, 4}}}));
  check_replays("exchange of results", nn::grouped({.groups = 4, .exchange = nn::GroupExchange::tokens_over_groups}));
  check_replays("path", nn::grouped({.groups = 4, .exchange = nn::GroupExchange::inter_group}));
}

TEST_CASE("cuda graph: what a layer says of its last forward is of the last replay") {
  const OnDevice here;
  Tensor x = randn({6, 5, 16});
  nn::DynamicGroups layer({.in = 16, .width = 16, .dynamic = {{1, 2, 4}}});
  CudaGraph graph([&] { (void)layer(x); }, gpu);
  const Tensor share = layer.flops_share(), choice = layer.choice();
  for (int i = 0; i < 4; ++i) {
    copy_(x, randn({6, 5, 16}));
    graph.replay();
    const double replayed = share.item();
    const auto chosen = choice.to_vector<int64_t>();
    (void)layer(x);
    CHECK(layer.flops_share().item() == replayed);
    CHECK(layer.choice().to_vector<int64_t>() == chosen);
  }
}

TEST_CASE("cuda graph: tensors of random numbers") {
  const OnDevice here;
  for (const DType t : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    check_draws("rand", [=] { return rand({37}, {.dtype = t}); });
    check_draws("randn", [=] { return randn({37}, {.dtype = t}); });
    check_draws("dropout", [=] { return dropout(transpose(ones({5, 11}, {.dtype = t}), 0, 1), 0.4); });
    const Tensor q = randn({2, 3, 70, 16}, {.dtype = t}).requires_grad_();
    check_draws("attention and its gradient", [=] {
      q.zero_grad();
      const Tensor y = scaled_dot_product_attention(q, q, q, {.dropout = 0.4});
      sum(y).backward();
      return add(y.detach(), q.grad());
    });
  }
  check_draws("randint", [] { return randint(-5, 1000, {37}, {.dtype = DType::int64}); });
  check_draws("bernoulli", [] { return bernoulli(0.3, {137}); });
  check_draws("randperm", [] { return randperm(37); });
  check_draws("randperm, several tiles", [] { return randperm(3000); });
  const Tensor filled = zeros({37});
  check_draws("uniform_", [=] { return nn::init::uniform_(filled, -1, 1), filled; });
  Generator own;
  check_draws(
      "another generator", [&] { return add(add(rand({37}, {}, own), randn({37}, {}, own)), rand({37})); }, own);
}

TEST_CASE("cuda graph: generators of a step's own draw the same each time, seeds may change between replays") {
  const OnDevice here;
  Generator first(1), second(2);
  Tensor a, b, same;
  CudaGraph graph(
      [&] {
        Generator own(5);
        (void)own.next();
        same = rand({9}, {}, own);
        b = rand({9}, {}, second);
        a = add(rand({9}, {}, first), rand({9}, {}, first));
      },
      gpu);
  CHECK(first.position() == 2 * static_cast<uint64_t>(warm_up));  // a recording is no step
  Generator own(5);
  (void)own.next();
  const auto want_same = rand({9}, {}, own).to_vector<double>();
  for (const uint64_t seed : {1, 1, 8}) {
    if (seed == 8) first.manual_seed(seed);
    Generator as_first(seed), as_second(2);
    as_first.set_position(first.position());
    as_second.set_position(second.position());
    graph.replay();
    CHECK(same.to_vector<double>() == want_same);
    CHECK(b.to_vector<double>() == rand({9}, {}, as_second).to_vector<double>());
    const Tensor once = rand({9}, {}, as_first);
    CHECK(a.to_vector<double>() == add(once, rand({9}, {}, as_first)).to_vector<double>());
    CHECK(first.position() == as_first.position());
    CHECK(second.position() == as_second.position());
  }
}

TEST_CASE("cuda graph: all draws of a step cost a replay one copy, and no wait") {
  const OnDevice here;
  Net net(nn::standard({.num_heads = 2, .dropout = 0.3}));
  const Tensor x = randn({3, 7, 16});
  Tensor y;
  const auto copies = [&](bool training) {
    net.train(training);
    CudaGraph graph([&] { y = net(x); }, gpu);
    graph.replay();
    synchronize(gpu);
    const emulator::Counters before = emulator::counters();
    graph.replay();
    CHECK(emulator::counters().host_waits == before.host_waits);
    CHECK(emulator::counters().allocations == before.allocations);
    synchronize(gpu);
    return emulator::counters().copies - before.copies;
  };
  CHECK(copies(true) == copies(false) + 1);
}

TEST_CASE("cuda graph: gradients may be computed when the graph is gone, with the masks of its last replay") {
  const OnDevice here;
  const Tensor w = ones({64, 8}).requires_grad_(), q = randn({2, 3, 9, 16}).requires_grad_();
  Tensor dropped, attended;
  const auto gradients = [&](bool with_graph) {
    manual_seed(11);
    w.zero_grad();
    q.zero_grad();
    {
      CudaGraph graph(
          [&] {
            dropped = dropout(w, 0.5);
            attended = scaled_dot_product_attention(q, q, q, {.dropout = 0.5});
          },
          gpu);
      graph.replay();
      graph.replay();
      if (with_graph) add(sum(dropped), sum(attended)).backward();
    }
    // What would be given the graph's memory, if that were free.
    std::vector<Tensor> others;
    for (int i = 0; i < 20; ++i) others.push_back(full({64}, i));
    if (!with_graph) add(sum(dropped), sum(attended)).backward();
    CHECK(w.grad().to_vector<double>() == dropped.to_vector<double>());  // of ones: 0 or 2
    return q.grad().to_vector<double>();
  };
  CHECK(gradients(false) == gradients(true));
}

TEST_CASE("cuda graph: draws that a replay would not repeat are refused by name") {
  const OnDevice here;
  REQUIRE_THROWS_WITH(CudaGraph([] { (void)randn({2}, {.device = cpu}); }, gpu),
                      "CudaGraph: randn draws random numbers on cpu in a step that is recorded on cuda:0, and would "
                      "not do so in a replay");
  REQUIRE_THROWS_WITH(CudaGraph([] { (void)dropout(ones({2}, {.device = cpu}), 0.5); }, gpu),
                      "CudaGraph: dropout draws random numbers on cpu in a step that is recorded on cuda:0, and would "
                      "not do so in a replay");
  REQUIRE_THROWS_WITH(CudaGraph([] { (void)default_generator().next(); }, gpu),
                      "CudaGraph: the step draws random numbers on the host, which would not do so in a replay");
  for (const auto& set : {+[] { manual_seed(1); }, +[] { default_generator().set_position(1); }})
    REQUIRE_THROWS_WITH(CudaGraph(set, gpu),
                        "CudaGraph: the step sets a generator's seed or position, which a replay would not do; set it "
                        "between replays");
  std::vector<std::unique_ptr<Generator>> many;
  for (int i = 0; i < 17; ++i) many.push_back(std::make_unique<Generator>());
  const auto from_all = [&] {
    for (const auto& g : many) (void)rand({1}, {}, *g);
  };
  REQUIRE_THROWS_WITH(CudaGraph(from_all, gpu), "CudaGraph: the step draws from more than 16 generators");
  nn::DynamicGroups layer({.in = 16, .width = 16, .dynamic = {{1, 2, 4}}});
  layer.eval();
  const Tensor x = randn({3, 7, 16});
  REQUIRE_THROWS_WITH(
      CudaGraph([&] { (void)layer(x); }, gpu),
      "CudaGraph: DynamicGroups in evaluation waits for the device, for its gate's choices; in training "
      "it computes all candidates and waits for nothing");
  // A function that is to be run again, recorded, but run again without.
  const Tensor w = ones({4}).requires_grad_();
  Tensor y;
  {
    CudaGraph graph([&] { y = checkpoint([](const auto& in) { return dropout(in[0], 0.5); }, {w}); }, gpu);
    REQUIRE_THROWS_WITH(sum(y).backward(),
                        "CudaGraph: what was recorded draws its random numbers again outside of the recording");
  }
  const uint64_t position = default_generator().position();
  (void)rand({2});  // all is as before
  CHECK(default_generator().position() == position + 1);
}
