#include "bench/operations.h"

#include <memory>

namespace bench {
namespace {

using namespace tutti;
using Inputs = std::vector<Tensor>;
using CostOf = std::function<Cost(const Sizes&)>;

Dims dims(const Sizes& s) {
  Dims d;
  for (int64_t n : s) d.push(n);
  return d;
}

double numel(const Sizes& s) {
  double n = 1;
  for (int64_t size : s) n *= static_cast<double>(size);
  return n;
}

/// In numbers of float32 instead of bytes.
Cost floats(double read, double written, double flop = 0) { return {flop, 4 * read, 4 * written}; }

/// `read` and `written` times the elements of the first input.
CostOf per_element(double read, double written) {
  return [=](const Sizes& s) { return floats(read * numel(s), written * numel(s)); };
}
const CostOf nothing = per_element(0, 0);  // gradients that are handed on, or views

/// An operation of one tensor of any shape. Its gradient reads the output's and, mostly, what was saved.
template <class F>
Operation unary(F f, CostOf forward = per_element(1, 1), CostOf backward = per_element(2, 1)) {
  return {1, "SIZES..",
          [f](const Sizes& s) {
            return Work{{randn(dims(s))}, [f](const Inputs& x) { return f(x[0]); }};
          },
          std::move(forward), std::move(backward)};
}

/// The same of a matrix; results of `written` numbers per row.
template <class F>
Operation of_rows(F f, double written, CostOf backward = {}) {
  Operation o = unary(
      f, [=](const Sizes& s) { return floats(numel(s), written * static_cast<double>(s[0])); }, std::move(backward));
  o.sizes = 2;
  o.usage = "ROWS COLS";
  return o;
}

template <class F>
Operation binary(F f, std::function<Dims(const Sizes&)> second, CostOf forward, CostOf backward = {}) {
  return {2, "ROWS COLS",
          [f, second](const Sizes& s) {
            return Work{{randn(dims(s)), randn(second(s))}, [f](const Inputs& x) { return f(x[0], x[1]); }};
          },
          std::move(forward), std::move(backward)};
}

/// `batch` products of [m, k] and [k, n], at sizes' places; the gradients are two products more.
struct Product {
  double batch, m, n, k;
  Cost forward(double bias = 0) const {
    return floats(batch * (m * k + k * n) + bias, batch * m * n, 2 * batch * m * n * k);
  }
  Cost backward(double bias = 0) const {
    return floats(batch * (m * n + m * k + k * n), batch * (m * k + k * n) + bias, 4 * batch * m * n * k);
  }
};

Operation product(size_t sizes, const char* usage, std::function<Work(const Sizes&)> make,
                  std::function<Product(const std::vector<double>&)> of, size_t bias = 0) {
  const auto numbers = [](const Sizes& s) { return std::vector<double>(s.begin(), s.end()); };
  const auto width = [bias](const Sizes& s) { return bias ? static_cast<double>(s[bias]) : 0; };
  return {sizes, usage, std::move(make), [=](const Sizes& s) { return of(numbers(s)).forward(width(s)); },
          [=](const Sizes& s) { return of(numbers(s)).backward(width(s)); }};
}

/// Two products forward, five backward (the scores are made again); a causal one needs half of the scores.
Operation attention(bool causal) {
  const auto product = [causal](const Sizes& s) {
    const double tokens = static_cast<double>(s[2]);
    return 2 * numel(s) * (causal ? (tokens + 1) / 2 : tokens);
  };
  return {4, "B H T D",
          [causal](const Sizes& s) {
            return Work{{randn(dims(s)), randn(dims(s)), randn(dims(s))}, [causal](const Inputs& x) {
                          return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = causal});
                        }};
          },
          [product](const Sizes& s) { return floats(3 * numel(s), numel(s), 2 * product(s)); },
          [product](const Sizes& s) { return floats(5 * numel(s), 3 * numel(s), 5 * product(s)); }};
}

/// A function of ready parameters with gradients.
template <class F>
Operation of_parameters(F make_step, double read, double written) {
  return {2, "TENSORS NUMEL",
          [make_step](const Sizes& s) {
            std::vector<Tensor> parameters;
            for (int64_t i = 0; i < s[0]; ++i) {
              parameters.push_back(randn({s[1]}).requires_grad_());
              parameters.back().set_grad(randn({s[1]}));
            }
            return Work{{}, [parameters, step = make_step(parameters)](const Inputs&) {
                          step();
                          return Tensor();
                        }};
          },
          per_element(read, written)};
}

/// Uses an optimizer, which cannot be copied, from a function, which must be.
template <class Optimizer, class Options>
auto stepping(Options options) {
  return [options](const std::vector<Tensor>& parameters) {
    return [optimizer = std::make_shared<Optimizer>(parameters, options)] { optimizer->step(); };
  };
}

std::map<std::string, Operation> products() {
  return {
      {"matmul", product(
                     3, "M N K",
                     [](const Sizes& s) {
                       return Work{{randn({s[0], s[2]}), randn({s[2], s[1]})},
                                   [](const Inputs& x) { return matmul(x[0], x[1]); }};
                     },
                     [](const auto& s) {
                       return Product{1, s[0], s[1], s[2]};
                     })},
      {"batched_matmul", product(
                             4, "B M N K",
                             [](const Sizes& s) {
                               return Work{{randn({s[0], s[1], s[3]}), randn({s[0], s[3], s[2]})},
                                           [](const Inputs& x) { return matmul(x[0], x[1]); }};
                             },
                             [](const auto& s) {
                               return Product{s[0], s[1], s[2], s[3]};
                             })},
      {"linear", product(
                     3, "ROWS IN OUT",
                     [](const Sizes& s) {
                       return Work{{randn({s[0], s[1]}), randn({s[2], s[1]}), randn({s[2]})},
                                   [](const Inputs& x) { return linear(x[0], x[1], x[2]); }};
                     },
                     [](const auto& s) {
                       return Product{1, s[0], s[2], s[1]};
                     },
                     2)},
      {"grouped_linear", product(
                             4, "ROWS IN OUT GROUPS",
                             [](const Sizes& s) {
                               return Work{
                                   {randn({s[0], s[1]}), randn({s[3], s[2] / s[3], s[1] / s[3]}), randn({s[2]})},
                                   [](const Inputs& x) { return grouped_linear(x[0], x[1], x[2]); }};
                             },
                             [](const auto& s) {
                               return Product{s[3], s[0], s[2] / s[3], s[1] / s[3]};
                             },
                             2)},
      {"attention", attention(false)},
      {"causal_attention", attention(true)},
  };
}

std::map<std::string, Operation> elementwise() {
  const auto same = [](const Sizes& s) { return dims(s); };
  const auto row = [](const Sizes& s) { return Dims{s.back()}; };
  const auto column = [](const Sizes& s) { return Dims{s[0], 1}; };
  const auto sum_of = [](const Tensor& a, const Tensor& b) { return add(a, b); };
  return {
      {"gelu", unary([](const Tensor& x) { return gelu(x); })},
      {"gelu_tanh", unary([](const Tensor& x) { return gelu(x, Gelu::tanh); })},
      {"silu", unary([](const Tensor& x) { return silu(x); })},
      {"relu", unary([](const Tensor& x) { return relu(x); })},
      {"exp", unary([](const Tensor& x) { return exp(x); })},
      {"tanh", unary([](const Tensor& x) { return tanh(x); })},
      {"clamp", unary([](const Tensor& x) { return clamp(x, -1, 1); })},
      {"pow", unary([](const Tensor& x) { return pow(x, 3); })},
      {"dropout", unary([](const Tensor& x) { return dropout(x, 0.1); }, per_element(1, 1), per_element(1, 1))},
      {"add", binary(sum_of, same, per_element(2, 1), nothing)},
      {"add_bias", binary(sum_of, row, per_element(1, 1), per_element(1, 0))},
      {"add_column", binary(sum_of, column, per_element(1, 1), per_element(1, 0))},
      {"mul",
       binary([](const Tensor& a, const Tensor& b) { return mul(a, b); }, same, per_element(2, 1), per_element(3, 2))},
      {"gt", binary([](const Tensor& a, const Tensor& b) { return gt(a, b); }, same, per_element(2, .25))},
      {"where",
       {2, "ROWS COLS",
        [](const Sizes& s) {
          const Tensor mask = gt(randn(dims(s)), 0);
          return Work{{randn(dims(s)), randn(dims(s))}, [mask](const Inputs& x) { return where(mask, x[0], x[1]); }};
        },
        per_element(2.25, 1), per_element(1.25, 2)}},
      {"rand",
       {1, "SIZES..",
        [](const Sizes& s) {
          return Work{{}, [s](const Inputs&) { return rand(dims(s)); }};
        },
        per_element(0, 1)}},
      {"randn",
       {1, "SIZES..",
        [](const Sizes& s) {
          return Work{{}, [s](const Inputs&) { return randn(dims(s)); }};
        },
        per_element(0, 1)}},
      {"adamw", of_parameters(stepping<optim::AdamW>(optim::AdamWOptions{.lr = 1e-3}), 4, 3)},
      {"sgd", of_parameters(stepping<optim::SGD>(optim::SGDOptions{.lr = 1e-3, .momentum = .9}), 3, 2)},
      {"clip_grad_norm",
       of_parameters(
           [](const std::vector<Tensor>& parameters) { return [parameters] { optim::clip_grad_norm(parameters, 1); }; },
           2, 1)},
  };
}

std::map<std::string, Operation> rows_and_copies() {
  return {
      {"softmax", unary([](const Tensor& x) { return softmax(x, -1); })},
      {"softmax_dim0", unary([](const Tensor& x) { return softmax(x, 0); })},
      {"log_softmax", unary([](const Tensor& x) { return log_softmax(x, -1); })},
      {"logsumexp", of_rows([](const Tensor& x) { return logsumexp(x, 1); }, 1, per_element(1, 1))},
      {"layer_norm",
       {1, "SIZES..",
        [](const Sizes& s) {
          return Work{{randn(dims(s)), randn({s.back()}), randn({s.back()})},
                      [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); }};
        },
        per_element(1, 1), per_element(2, 1)}},
      {"rms_norm",
       {1, "SIZES..",
        [](const Sizes& s) {
          return Work{{randn(dims(s)), randn({s.back()})}, [](const Inputs& x) { return rms_norm(x[0], x[1]); }};
        },
        per_element(1, 1), per_element(2, 1)}},
      {"cross_entropy",
       {2, "ROWS CLASSES",
        [](const Sizes& s) {
          const Tensor target = randint(0, s[1], {s[0]});
          return Work{{randn(dims(s))}, [target](const Inputs& x) { return cross_entropy(x[0], target); }};
        },
        per_element(1, 0), per_element(1, 1)}},
      {"sum", unary([](const Tensor& x) { return sum(x); }, per_element(1, 0), nothing)},
      {"sum_dim0", unary([](const Tensor& x) { return sum(x, 0); }, per_element(1, 0), nothing)},
      {"sum_dim1", of_rows([](const Tensor& x) { return sum(x, 1); }, 1, nothing)},
      {"var_dim1", of_rows([](const Tensor& x) { return var(x, Dims{1}); }, 1, per_element(1, 1))},
      {"norm", unary([](const Tensor& x) { return norm(x); }, per_element(1, 0), per_element(1, 1))},
      {"max_dim1", of_rows([](const Tensor& x) { return max(x, 1).values; }, 1, per_element(0, 1))},
      {"argmax_dim1", of_rows([](const Tensor& x) { return argmax(x, 1); }, 2)},
      {"topk", of_rows([](const Tensor& x) { return topk(x, std::min<int64_t>(8, x.size(1))).values; }, 24)},
      {"transpose",
       unary([](const Tensor& x) { return contiguous(transpose(x, -1, -2)); }, per_element(1, 1), nothing)},
      {"cat", binary(
                  [](const Tensor& a, const Tensor& b) {
                    return cat({a, b}, 1);
                  },
                  [](const Sizes& s) { return dims(s); }, per_element(2, 2), nothing)},
      {"embedding",
       {3, "VOCABULARY WIDTH TOKENS",
        [](const Sizes& s) {
          const Tensor index = randint(0, s[0], {s[2]});
          return Work{{randn({s[0], s[1]})}, [index](const Inputs& x) { return embedding(index, x[0]); }};
        },
        [](const Sizes& s) {
          return floats(numel({s[1], s[2]}), numel({s[1], s[2]}));
        },
        [](const Sizes& s) {
          return floats(numel({s[1], s[2]}), numel({s[0], s[1]}));
        }}},
  };
}

}  // namespace

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> table = [] {
    auto all = products();
    all.merge(elementwise());
    all.merge(rows_and_copies());
    return all;
  }();
  return table;
}

}  // namespace bench
