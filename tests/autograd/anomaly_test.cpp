// anomaly_mode: operation, element and module of the first NaN or infinity, forward and backward.
#include "tutti/autograd/anomaly.h"

#include <cmath>
#include <limits>
#include <thread>

#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;
using namespace tutti_test;
using Catch::Contains;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");

struct Logarithm : nn::Callable<Logarithm> {
  Tensor forward(const Tensor& x) { return log(x); }
};
struct Root : nn::Callable<Root> {
  Tensor forward(const Tensor& x) { return sqrt(x); }
};
struct Block : nn::Callable<Block> {
  std::vector<Root> roots = std::vector<Root>(2);
  void children(nn::Visitor& visit) override { visit("roots", roots); }
  Tensor forward(const Tensor& x) { return roots[1](x); }
};
struct Model : nn::Callable<Model> {
  Logarithm logarithm;
  Block block;
  void children(nn::Visitor& visit) override {
    visit("logarithm", logarithm);
    visit("block", block);
  }
  Tensor forward(const Tensor& x) { return block(x); }
};

Tensor leaf(std::initializer_list<double> values) {
  return Tensor::from(values, {1, static_cast<int64_t>(values.size())}).requires_grad_();
}

}  // namespace

TEST_CASE("anomaly_mode: forward names the operation, the element, the inputs and the module") {
  const anomaly_mode on;
  CHECK(in_anomaly_mode());
  REQUIRE_THROWS_WITH(log(Tensor::from({1, -1}, {1, 2})),
                      "log: the result of shape [1, 2] is NaN at [0, 1], the inputs are finite");
  REQUIRE_THROWS_WITH(log(Tensor::from({1, 0}, {2})),
                      "log: the result of shape [2] is infinite at [1], the inputs are finite");
  REQUIRE_THROWS_WITH(add(ones({3}), Tensor::from({1, 2, not_a_number}, {3})),
                      "add: the result of shape [3] is NaN at [2]; input 1 is NaN at [2] already");
  struct Outer : nn::Callable<Outer> {
    Model model;
    void children(nn::Visitor& visit) override { visit("model", model); }
    Tensor forward(const Tensor& x) { return model.logarithm(x); }
  } outer;
  try {
    outer(leaf({-1}));
    FAIL("no error");
  } catch (const ValueError& e) {
    CHECK(e.module_path() == "model.logarithm");
    CHECK(std::string(e.what()) ==
          "in model.logarithm: log: the result of shape [1, 1] is NaN at [0, 0], the inputs are finite");
  }
  CHECK(log(ones({0, 3})).numel() == 0);
  CHECK(softmax(ones({2, 3}), 1).numel() == 6);
}

TEST_CASE("anomaly_mode: half and double precision, strided results, several outputs") {
  const anomaly_mode on;
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    INFO(name_of(dtype));
    const Tensor x = Tensor::from({1, 2, -3, 4, 5, 6}, {2, 3}, dtype);
    REQUIRE_THROWS_WITH(sqrt(transpose(x, 0, 1)),
                        "sqrt: the result of shape [3, 2] is NaN at [2, 0], the inputs are finite");
  }
  const Tensor x = Tensor::from({1, 2, 3, inf}, {4});
  REQUIRE_THROWS_WITH(split(x, 2, 0), Contains("is infinite at [1]; input 0 is infinite at [3] already"));
}

TEST_CASE("anomaly_mode: backward names the operation, and the module in which it ran") {
  const anomaly_mode on;
  Model model;
  const Tensor x = leaf({4, 0});
  const Tensor y = sum(model(x));  // finite; its gradient at 0 is not
  REQUIRE_THROWS_WITH(y.backward({.retain_graph = true}),
                      "in block.roots.1: sqrt: the gradient of input 0, of shape [1, 2], is infinite at [0, 1]");
  REQUIRE_THROWS_WITH(grad({y}, {x}, {}, {.retain_graph = true}), Contains("in block.roots.1: sqrt"));
  REQUIRE_THROWS_WITH(y.backward({.create_graph = true}), Contains("in block.roots.1: sqrt"));
  CHECK_FALSE(x.grad().defined());
  REQUIRE_THROWS_WITH(mul(x, 2).backward(full({1, 2}, not_a_number)),
                      "mul: the gradient of result 0, of shape [1, 2], is NaN at [0, 0]");
  sum(model(leaf({4, 1}))).backward();

  Tensor before;
  {
    set_anomaly_mode(false);
    before = sum(model(x));
    set_anomaly_mode(true);
  }
  REQUIRE_THROWS_WITH(before.backward(),
                      "sqrt: the gradient of input 0, of shape [1, 2], is infinite at [0, 1] (the "
                      "operation ran outside anomaly_mode: its module is not known)");
}

TEST_CASE("anomaly_mode: the graph of a gradient is placed where the operation was") {
  const anomaly_mode on;
  Model model;
  const Tensor x = leaf({1e-20});  // sqrt' is 5e9, sqrt'' -2.5e29, sqrt''' beyond float32
  Tensor g = grad({sum(model(x))}, {x}, {}, {.create_graph = true})[0];
  g = grad({sum(g)}, {x}, {}, {.create_graph = true})[0];
  REQUIRE_THROWS_WITH(grad({sum(g)}, {x}), Contains("in block.roots.1: ") && Contains("is infinite at [0, 0]"));
}

TEST_CASE("anomaly_mode: backward inside a module's forward names each module once") {
  const anomaly_mode on;
  struct Penalty : nn::Callable<Penalty> {
    Model model;
    void children(nn::Visitor& visit) override { visit("model", model); }
    Tensor forward(const Tensor& x) {
      const Tensor y = sum(model(x));
      return sum(square(grad({y}, {x}, {}, {.create_graph = true})[0]));
    }
  };
  struct Outer : nn::Callable<Outer> {
    Penalty penalty;
    void children(nn::Visitor& visit) override { visit("penalty", penalty); }
    Tensor forward(const Tensor& x) { return penalty(x); }
  } outer;
  const std::string text = "sqrt: the gradient of input 0, of shape [1, 2], is infinite at [0, 1]";
  REQUIRE_THROWS_WITH(outer(leaf({4, 0})), "in penalty.model.block.roots.1: " + text);
  REQUIRE_THROWS_WITH(outer.penalty(leaf({4, 0})), "in model.block.roots.1: " + text);

  // An operation of somewhere else, differentiated here.
  struct Taker : nn::Callable<Taker> {
    Tensor forward(const Tensor& y) {
      sum(y).backward();
      return y;
    }
  };
  struct Pair : nn::Callable<Pair> {
    Model model;
    Taker taker, model2;
    void children(nn::Visitor& visit) override {
      visit("model", model);
      visit("taker", taker);
      visit("model2", model2);
    }
    Tensor forward(const Tensor& x, bool second) { return (second ? model2 : taker)(model(x)); }
  } pair;
  const std::string ran = text + " (the operation ran in model.block.roots.1)";
  REQUIRE_THROWS_WITH(pair(leaf({4, 0}), false), "in taker: " + ran);
  REQUIRE_THROWS_WITH(pair(leaf({4, 0}), true), "in model2: " + ran);
  Taker alone;
  REQUIRE_THROWS_WITH(alone(sqrt(leaf({4, 0}))), text);
}

TEST_CASE("anomaly_mode: options, scopes and threads") {
  const Tensor zero = zeros({1});
  CHECK_FALSE(in_anomaly_mode());
  CHECK(std::isinf(log(zero).item()));
  {
    const anomaly_mode nan_alone({.infinite = false});
    CHECK(std::isinf(log(zero).item()));
    CHECK(masked_fill(ones({2}), Tensor::from(std::vector<bool>{true, false}, {2}), -inf).numel() == 2);
    REQUIRE_THROWS_AS(log(full({1}, -1)), ValueError);
    {
      const anomaly_mode both;
      REQUIRE_THROWS_AS(log(zero), ValueError);
      bool elsewhere = true;
      std::thread([&] { elsewhere = in_anomaly_mode(); }).join();
      CHECK_FALSE(elsewhere);
    }
    CHECK(std::isinf(log(zero).item()));
  }
  CHECK_FALSE(in_anomaly_mode());
}

TEST_CASE("anomaly_mode: values and gradients keep their bits") {
  const auto run = [](bool on) {
    set_anomaly_mode(on);
    default_generator().manual_seed(3);
    nn::TransformerBlock block({.embed_dim = 8, .dropout = 0.1});
    const Tensor x = random_tensor({2, 5, 8}, DType::float32, 1);
    const Tensor y = checkpoint([&](const std::vector<Tensor>& in) { return block(in[0]); }, {block(x)});
    sum(mul(y, y)).backward();
    set_anomaly_mode(false);
    return block.ffn.up.weight.tensor().grad();
  };
  check_identical(run(true), run(false));
}

TEST_CASE("find_not_finite: the first NaN, else the first infinity") {
  CHECK(find_not_finite(zeros({0})).what == nullptr);
  CHECK(find_not_finite(ones({2}, {.dtype = DType::int64})).what == nullptr);
  const Tensor x = Tensor::from({1, -inf, 2, not_a_number, inf, not_a_number}, {2, 3});
  CHECK(find_not_finite(x).what == std::string("NaN"));
  CHECK(find_not_finite(x).at == Dims{1, 0});
  const Tensor y = Tensor::from({1, -inf, inf}, {3});
  CHECK(find_not_finite(y).at == Dims{1});
  CHECK(find_not_finite(y, false).what == nullptr);
}
