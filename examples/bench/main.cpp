// tutti-bench: every kernel beside the machine's peaks; or one training step or one operation as a contender that a
// driver times against other frameworks.
#include "bench/contender.h"
#include "common/program.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Times kernels: all of them, or one training step or one operation for a driver, which writes 'run N' lines to\n"
      "standard input and reads JSON lines.\n"
      "  tutti-bench kernels --only softmax,linear --json before.json     and after a change\n"
      "  tutti-bench kernels --only softmax,linear --compare before.json\n"
      "  echo 'run 20' | tutti-bench step --kind grouped\n"
      "  echo 'run 20' | tutti-bench op layer_norm 4096 768 --backward",
      "tutti-bench");
  app.require_subcommand(1);
  CLI::App* kernels = app.add_subcommand("kernels", "Every kernel, beside what the machine can do");
  CLI::App* step = app.add_subcommand(
      "step", "A training step of the classifier (forward, cross-entropy, backward, AdamW), or a forward pass");
  CLI::App* op = app.add_subcommand("op", "One operation, forward or forward and backward, in float32");
  const auto run_kernels = bench::add_kernels(*kernels), run_step = bench::add_step(*step), run_op = bench::add_op(*op);
  return examples::run(app, argc, argv, [&] {
    return kernels->parsed() ? run_kernels() : step->parsed() ? run_step() : run_op();
  });
}
