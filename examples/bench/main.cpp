// tutti-bench: one training step or one operation as a contender that a driver times against other frameworks.
#include "bench/contender.h"
#include "common/program.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Times one training step or one operation. Reads 'run N' lines on standard input and answers with JSON lines;\n"
      "  echo 'run 20' | tutti-bench step --kind grouped\n"
      "  echo 'run 20' | tutti-bench op --backward layer_norm 4096 768",
      "tutti-bench");
  app.require_subcommand(1);
  CLI::App* step = app.add_subcommand(
      "step", "A training step of the classifier (forward, cross-entropy, backward, AdamW), or a forward pass");
  CLI::App* op = app.add_subcommand("op", "One operation, forward or forward and backward, in float32");
  const auto run_step = bench::add_step(*step), run_op = bench::add_op(*op);
  return examples::run(app, argc, argv, [&] { return step->parsed() ? run_step() : run_op(); });
}
