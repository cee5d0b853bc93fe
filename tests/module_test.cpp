#include "support/op_test.h"
#include "tutti/nn/optim/adam.h"
#include "tutti/nn/transformer.h"
using namespace tutti;
using namespace tutti_test;
TEST_CASE("x") { nn::Linear l({.in = 3, .out = 4}); CHECK(l.parameter_count() == 16); }
