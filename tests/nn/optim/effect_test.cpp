// Steps that train nothing say so.
#include "support/op_test.h"
#include "support/warnings.h"
#include "tutti/tutti.h"

using namespace tutti;
using namespace tutti_test;

namespace {

template <class Optimizer>
void check_warnings(const std::string& name) {
  INFO(name);
  const std::string idle =
      name +
      ": none of the 2 parameters has a gradient, so step() changes nothing: backward() was not called, or on the "
      "loss of another module (a copy has parameters of its own)";
  const std::string orphan =
      name +
      ": parameter 0 of group 0 (shape [1, 2]) belongs to nobody but the optimizer: perhaps its module is gone, or was "
      "replaced by another (model = Model()). Then what is trained there is not used; make an optimizer of the module "
      "that is";
  const auto train = [](nn::Linear& model) { sum(model(ones({1, 2}))).backward(); };
  const nn::LinearOptions options{.in = 2, .out = 1};

  CHECK(warnings_of([&] {  // as it should be; a parameter without a gradient beside others is nothing unusual
          nn::Linear model(options), unused(options);
          Optimizer optimizer(std::vector<optim::ParameterGroup>{{model.parameters()}, {unused.parameters()}});
          train(model);
          optimizer.step();
        }) == Texts{});
  CHECK(warnings_of([&] {  // no backward
          nn::Linear model(options);
          Optimizer optimizer(model.parameters());
          for (int i = 0; i < 3; ++i) optimizer.step();
          Optimizer another(model.parameters());  // each optimizer says it
          another.step();
        }) == Texts{idle, idle});
  CHECK(warnings_of([&] {  // a copy is trained
          nn::Linear model(options), copy = model;
          Optimizer optimizer(model.parameters());
          train(copy);
          optimizer.step();
        }) == Texts{idle});
  CHECK(warnings_of([&] {  // replaced by a new module
          nn::Linear model(options);
          Optimizer optimizer(model.parameters());
          model = nn::Linear(options);
          train(model);
          optimizer.step();
          optimizer.step();
        }) == Texts{orphan});
  CHECK(warnings_of([&] {  // both, whichever comes first
          nn::Linear model(options);
          Optimizer optimizer(model.parameters());
          optimizer.step();
          model = nn::Linear(options);
          for (int i = 0; i < 2; ++i) {
            train(model);
            optimizer.step();
          }
        }) == Texts{idle, orphan});
  CHECK(warnings_of([&] {  // of a temporary
          Optimizer optimizer(nn::Linear(options).parameters());
          optimizer.step();
        }) == Texts{orphan});
  CHECK(warnings_of([&] {  // values are assigned, and moved tensors stay the same
          nn::Sequential model{nn::Linear(options)};
          const nn::Sequential best = model;
          Optimizer optimizer(model.parameters());
          model = best;
          std::vector<nn::Sequential> list;
          list.push_back(std::move(model));
          sum(list[0](ones({1, 2}))).backward();
          optimizer.step();
        }) == Texts{});
}

}  // namespace

TEST_CASE("optimizers warn of a step that changes nothing that is used") {
  check_warnings<optim::SGD>("SGD");
  check_warnings<optim::Adam>("Adam");
  check_warnings<optim::AdamW>("AdamW");
}
