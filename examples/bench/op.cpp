// `tutti-bench op`: one operation on ready inputs, with the gradients of all of them if asked.
#include <map>
#include <memory>

#include "bench/contender.h"
#include "common/program.h"
#include "tutti/tutti.h"

namespace bench {
namespace {

using namespace tutti;

struct Work {
  std::vector<Tensor> inputs;
  std::function<Tensor(const std::vector<Tensor>&)> function;
};
using Sizes = std::vector<int64_t>;
struct Entry {
  size_t sizes;  // how many it takes at least
  const char* usage;
  std::function<Work(const Sizes&)> make;
};

Dims dims(const Sizes& s) {
  Dims d;
  for (int64_t n : s) d.push(n);
  return d;
}

template <class F>
Entry elementwise(F f) {
  return {1, "SIZES..", [f](const Sizes& s) { return Work{{randn(dims(s))}, [f](const auto& x) { return f(x[0]); }}; }};
}

template <class F>
Entry binary(F f, std::function<Dims(const Sizes&)> second) {
  return {2, "ROWS COLS", [f, second](const Sizes& s) {
            return Work{{randn(dims(s)), randn(second(s))}, [f](const auto& x) { return f(x[0], x[1]); }};
          }};
}

Entry attention(bool causal) {
  return {4, "B H T D", [causal](const Sizes& s) {
            return Work{{randn(dims(s)), randn(dims(s)), randn(dims(s))}, [causal](const auto& x) {
                          return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = causal});
                        }};
          }};
}

const std::map<std::string, Entry>& operations() {
  const auto same = [](const Sizes& s) { return dims(s); };
  const auto row = [](const Sizes& s) { return Dims{s.back()}; };
  const auto column = [](const Sizes& s) { return Dims{s[0], 1}; };
  static const std::map<std::string, Entry> table{
      {"matmul",
       {3, "M N K",
        [](const Sizes& s) {
          return Work{{randn({s[0], s[2]}), randn({s[2], s[1]})}, [](const auto& x) { return matmul(x[0], x[1]); }};
        }}},
      {"batched_matmul",
       {4, "B M N K",
        [](const Sizes& s) {
          return Work{{randn({s[0], s[1], s[3]}), randn({s[0], s[3], s[2]})},
                      [](const auto& x) { return matmul(x[0], x[1]); }};
        }}},
      {"linear",
       {3, "ROWS IN OUT",
        [](const Sizes& s) {
          return Work{{randn({s[0], s[1]}), randn({s[2], s[1]}), randn({s[2]})},
                      [](const auto& x) { return linear(x[0], x[1], x[2]); }};
        }}},
      {"grouped_linear",
       {4, "ROWS IN OUT GROUPS",
        [](const Sizes& s) {
          return Work{{randn({s[0], s[1]}), randn({s[3], s[2] / s[3], s[1] / s[3]}), randn({s[2]})},
                      [](const auto& x) { return grouped_linear(x[0], x[1], x[2]); }};
        }}},
      {"softmax", elementwise([](const Tensor& x) { return softmax(x, -1); })},
      {"softmax_dim0", elementwise([](const Tensor& x) { return softmax(x, 0); })},
      {"layer_norm",
       {1, "SIZES..",
        [](const Sizes& s) {
          return Work{{randn(dims(s)), randn({s.back()}), randn({s.back()})},
                      [](const auto& x) { return layer_norm(x[0], x[1], x[2]); }};
        }}},
      {"gelu", elementwise([](const Tensor& x) { return gelu(x); })},
      {"gelu_tanh", elementwise([](const Tensor& x) { return gelu(x, Gelu::tanh); })},
      {"relu", elementwise([](const Tensor& x) { return relu(x); })},
      {"exp", elementwise([](const Tensor& x) { return exp(x); })},
      {"tanh", elementwise([](const Tensor& x) { return tanh(x); })},
      {"add", binary([](const Tensor& a, const Tensor& b) { return add(a, b); }, same)},
      {"add_bias", binary([](const Tensor& a, const Tensor& b) { return add(a, b); }, row)},
      {"add_column", binary([](const Tensor& a, const Tensor& b) { return add(a, b); }, column)},
      {"mul", binary([](const Tensor& a, const Tensor& b) { return mul(a, b); }, same)},
      {"sum", elementwise([](const Tensor& x) { return sum(x); })},
      {"sum_dim0", elementwise([](const Tensor& x) { return sum(x, 0); })},
      {"sum_dim1", elementwise([](const Tensor& x) { return sum(x, 1); })},
      {"max_dim1", elementwise([](const Tensor& x) { return max(x, 1).values; })},
      {"transpose", elementwise([](const Tensor& x) { return contiguous(transpose(x, -1, -2)); })},
      {"dropout", elementwise([](const Tensor& x) { return dropout(x, 0.1); })},
      {"cross_entropy",
       {2, "ROWS CLASSES",
        [](const Sizes& s) {
          const Tensor target = randint(0, s[1], {s[0]});
          return Work{{randn(dims(s))}, [target](const auto& x) { return cross_entropy(x[0], target); }};
        }}},
      {"embedding",
       {3, "VOCABULARY WIDTH TOKENS",
        [](const Sizes& s) {
          const Tensor index = randint(0, s[0], {s[2]});
          return Work{{randn({s[0], s[1]})}, [index](const auto& x) { return embedding(index, x[0]); }};
        }}},
      {"attention", attention(false)},
      {"causal_attention", attention(true)},
  };
  return table;
}

/// The optimizer's update of ready parameters and gradients.
std::function<void()> adamw(const Sizes& s) {
  if (s.size() < 2) throw ValueError("op adamw: expected TENSORS NUMEL");
  std::vector<Tensor> parameters;
  for (int64_t i = 0; i < s[0]; ++i) {
    parameters.push_back(randn({s[1]}).requires_grad_());
    parameters.back().set_grad(randn({s[1]}));
  }
  auto optimizer = std::make_shared<optim::AdamW>(parameters, optim::AdamWOptions{.lr = 1e-3});
  return [optimizer] { optimizer->step(); };
}

struct Options {
  std::string op;
  Sizes sizes;
  bool backward = false;
  examples::ProgramOptions program{.threads = 2};
};

std::function<void()> prepare(const Options& o) {
  if (o.op == "adamw") return adamw(o.sizes);
  const auto found = operations().find(o.op);
  if (found == operations().end()) {
    std::string known = "adamw";
    for (const auto& [name, entry] : operations()) known += ", " + name;
    throw ValueError("op '" + o.op + "' is unknown; there are " + known);
  }
  if (o.sizes.size() < found->second.sizes) throw ValueError("op " + o.op + ": expected " + found->second.usage);
  auto work = std::make_shared<Work>(found->second.make(o.sizes));
  if (!o.backward)
    return [work] {
      const no_grad off;
      work->function(work->inputs);
    };
  for (Tensor& x : work->inputs) x.requires_grad_();
  const Tensor dy = randn(work->function(work->inputs).shape());
  return [work, dy] { grad({work->function(work->inputs)}, work->inputs, {dy}); };
}

int run(const Options& o) {
  examples::apply(o.program);
  const auto step = prepare(o);
  for (int i = 0; i < 3; ++i) step();
  std::string name = "tutti " + o.op;
  for (int64_t n : o.sizes) name += " " + std::to_string(n);
  if (o.backward) name += " backward";
  return contend(name, {{"environment", examples::environment()}}, step, [] { return nlohmann::json::object(); });
}

}  // namespace

std::function<int()> add_op(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("op", o->op, "The operation (a wrong name lists them)")->required();
  app.add_option("sizes", o->sizes, "Its sizes")->required()->check(examples::positive);
  app.add_flag("--backward", o->backward, "Also the gradients of all inputs");
  examples::add_options(app, o->program);
  return [o] { return run(*o); };
}

}  // namespace bench
