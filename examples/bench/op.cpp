// `tutti-bench op`: one operation on ready inputs, with the gradients of all of them if asked.
#include <memory>

#include "bench/contender.h"
#include "bench/operations.h"
#include "common/program.h"

namespace bench {
namespace {

struct Options {
  Case work;
  examples::ProgramOptions program{.threads = 2};
};

int run(const Options& o) {
  examples::apply(o.program);
  const auto step = prepare(o.work);
  for (int i = 0; i < 3; ++i) step();
  return contend("tutti " + text(o.work), {{"environment", examples::environment()}}, step,
                 [] { return nlohmann::json::object(); });
}

}  // namespace

std::function<int()> add_op(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("op", o->work.op, "The operation (a wrong name lists them)")->required();
  app.add_option("sizes", o->work.sizes, "Its sizes")->required()->check(examples::positive);
  app.add_flag("--backward", o->work.backward, "Also the gradients of all inputs");
  app.add_flag("--transposed", o->work.transposed, "The inputs' last two axes lie the other way round in memory");
  examples::add_options(app, o->program);
  return [o] { return run(*o); };
}

}  // namespace bench
