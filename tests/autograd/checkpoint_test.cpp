// checkpoint: the same gradients for less memory.
#include "tutti/autograd/checkpoint.h"

#include "support/devices.h"
#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;
using tutti_test::check_identical;
using tutti_test::random_tensor;

namespace {

Tensor leaf(const Dims& shape, uint64_t seed) {
  Tensor x = random_tensor(shape, DType::float64, seed, 0.5, 1.5);
  x.requires_grad_();
  return x;
}
using List = std::vector<Tensor>;

}  // namespace

TEST_CASE("checkpoint gives the same value and gradients, for parameters too", "[checkpoint]") {
  const Tensor x = leaf({3, 4}, 1), w = leaf({4}, 2);
  int runs = 0;
  const auto block = [&](const List& in) {
    ++runs;
    return mul(mul(in[0], w), mul(in[0], in[0]));
  };
  const Tensor plain = block({x});
  sum(mul(plain, plain)).backward();
  const Tensor dx = x.grad(), dw = w.grad();
  x.zero_grad();
  w.zero_grad();
  runs = 0;
  const Tensor y = checkpoint(block, {x});
  check_identical(y, plain);
  CHECK(runs == 1);
  sum(mul(y, y)).backward();
  CHECK(runs == 2);
  check_identical(x.grad(), dx);
  check_identical(w.grad(), dw);
}

TEST_CASE("checkpoint of data alone: parameters get their gradients", "[checkpoint]") {
  const Tensor data = random_tensor({3}, DType::float64, 1), w = leaf({3}, 2);
  sum(checkpoint([&](const List& in) { return mul(in[0], w); }, {data})).backward();
  check_identical(w.grad(), data);
  const no_grad off;
  CHECK_FALSE(checkpoint([&](const List& in) { return mul(in[0], w); }, {data}).requires_grad());
}

TEST_CASE("checkpoint with grad(), retain_graph, create_graph, nested and in a chain", "[checkpoint]") {
  const Tensor x = leaf({3}, 1), w = leaf({3}, 2);
  const auto cube = [&](const List& in) { return mul(mul(in[0], in[0]), mul(in[0], w)); };
  const Tensor y = sum(checkpoint(cube, {x}));
  const auto got = grad({y}, {w, x}, {}, {.retain_graph = true}), want = grad({sum(cube({x}))}, {w, x});
  check_identical(got[0], want[0]);
  check_identical(got[1], want[1]);
  CHECK_FALSE(x.grad().defined());
  y.backward({.retain_graph = true});
  y.backward();
  const Tensor twice = x.grad();
  x.zero_grad();
  const Tensor plain = sum(cube({x}));
  plain.backward({.retain_graph = true});
  plain.backward();
  check_identical(twice, x.grad());
  REQUIRE_THROWS_WITH(y.backward(), Contains("backward a second time"));
  CHECK(gradgradcheck([&](const List& in) { return checkpoint(cube, in); }, {x}));

  const auto nested = [&](const List& in) { return checkpoint(cube, {checkpoint(cube, in)}); };
  check_identical(grad({sum(nested({x}))}, {x})[0], grad({sum(cube({cube({x})}))}, {x})[0]);
  check_identical(grad({sum(checkpoint(nested, {x}))}, {x})[0], grad({sum(cube({cube({x})}))}, {x})[0]);
}

TEST_CASE("checkpoint keeps only the inputs", "[checkpoint]") {
  constexpr int64_t bytes = 1 << 20;
  Tensor x = random_tensor({bytes / 8}, DType::float64, 1, 0.9, 1.1);
  x.requires_grad_();
  const auto block = [](const List& in) {
    Tensor y = in[0];
    for (int i = 0; i < 8; ++i) y = mul(y, y);
    return y;
  };
  const size_t start = memory::stats().current;
  Tensor y = x;
  for (int i = 0; i < 4; ++i) y = checkpoint(block, {y});
  y = sum(y);
  CHECK(memory::stats().current - start <= 5 * bytes);  // plain: 32
  memory::reset_peak();
  y.backward();
  CHECK(memory::stats().peak - start <= 20 * bytes);
}

TEST_CASE("checkpoint runs again with the same random numbers and leaves the generator alone", "[checkpoint]") {
  manual_seed(5);
  const Tensor x = leaf({100}, 1);
  List drawn;
  const auto noisy = [&](const List& in) {
    drawn.push_back(Tensor::from({static_cast<double>(default_generator().next().stream)}, {}));
    return mul(in[0], in[0]);
  };
  const Tensor y = checkpoint(noisy, {x});
  manual_seed(9);
  default_generator().set_position(77);
  sum(y).backward();
  REQUIRE(drawn.size() == 2);
  check_identical(drawn[0], drawn[1]);
  CHECK(default_generator().seed() == 9);
  CHECK(default_generator().position() == 77);
  manual_seed(0);
}

TEST_CASE("checkpoint: a long chain, and a result that is an input", "[checkpoint]") {
  const Tensor x = leaf({1}, 1);
  Tensor y = x;
  for (int64_t i = 0; i < tutti_test::sized(5000, 500); ++i)
    y = checkpoint([](const List& in) { return mul(in[0], 1); }, {y});
  sum(y).backward();
  CHECK(x.grad().item() == 1);
  x.zero_grad();
  sum(checkpoint([](const List& in) { return in[0]; }, {x})).backward();
  CHECK(x.grad().item() == 1);
}

TEST_CASE("checkpoint: what is refused", "[checkpoint]") {
  const Tensor x = leaf({2}, 1);
  REQUIRE_THROWS_WITH(checkpoint({}, {x}), "checkpoint: the function is empty");
  REQUIRE_THROWS_WITH(checkpoint([](const List&) { return Tensor(); }, {x}),
                      "checkpoint: the function returned an undefined tensor");
  bool second = false;
  const auto fickle = [&](const List& in) { return std::exchange(second, true) ? sum(in[0]) : mul(in[0], in[0]); };
  const Tensor y = checkpoint(fickle, {x});
  REQUIRE_THROWS_WITH(
      sum(y).backward(),
      "checkpoint: the function gave float64 of shape [] when run again, but float64 of shape [2] before");
  const Tensor z = checkpoint([](const List& in) { return mul(in[0], in[0]); }, {x});
  const no_grad off;
  fill_(x, 1);
  REQUIRE_THROWS_WITH(z.backward(Tensor::from({1, 1}, {2}, DType::float64)),
                      "checkpoint: a tensor saved for its gradient (shape [2]) was changed in place before backward");
}

TEST_CASE("checkpoint: grad through many of them loses nothing", "[checkpoint]") {
  // The graph that one checkpoint's second run made is freed before the next one's is made, at the same addresses.
  for (const bool create_graph : {false, true}) {
    INFO("create_graph " << create_graph);
    std::vector<Tensor> weights;
    Tensor x = full({3}, 1.5), loss = full({}, 0);
    for (int i = 0; i < 20; ++i) {
      weights.push_back(full({3}, 1 + 0.01 * i).requires_grad_());
      x = checkpoint([](const List& in) { return tanh(mul(square(in[0]), in[1])); }, {x, weights.back()});
      loss = add(loss, sum(checkpoint([](const List& in) { return square(mul(in[0], in[1])); }, {x, weights[0]})));
    }
    const auto got = grad({loss}, weights, {}, {.retain_graph = true, .create_graph = create_graph});
    loss.backward();
    for (size_t i = 0; i < weights.size(); ++i) {
      INFO("weight " << i);
      REQUIRE(got[i].defined());
      check_identical(got[i], weights[i].grad());
    }
  }
}
