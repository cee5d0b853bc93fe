// Sums, extrema, sums by index and losses on the device beside the CPU's: sizes at which the work is cut another way,
// and bits in every thread order.
#include <cmath>
#include <functional>
#include <vector>

#include "emulator.h"
#include "support/catch.h"
#include "support/op_test.h"
#include "tutti/autograd/node.h"
#include "tutti/core/generator.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/extrema.h"
#include "tutti/ops/index.h"
#include "tutti/ops/join.h"
#include "tutti/ops/loss.h"
#include "tutti/ops/random.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

using F = std::function<Tensor(const Tensor&)>;

const Device gpu = Device::cuda();

Tensor made_here(const Dims& shape, DType dtype, uint64_t seed) {
  Generator g(seed);
  return to(randn(shape, {.device = cpu}, g), dtype);
}

/// The largest difference, relative to the largest number.
double apart(const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  double most = 0, scale = 1e-30;
  for (size_t i = 0; i < x.size(); ++i) {
    most = std::max(most, std::abs(x[i] - y[i]));
    scale = std::max(scale, std::abs(y[i]));
  }
  return most / scale;
}

/// f gives the same bits in other orders of threads, and with more multiprocessors.
void check_repeats(const std::function<std::vector<Tensor>()>& f) {
  emulator::Config& config = emulator::config();
  const emulator::Config before = config;
  const auto want = f();
  using emulator::Order;
  for (const auto& [order, seed, processors] :
       {std::tuple{Order::reverse, 1, 2}, {Order::random, 7, 2}, {Order::forward, 1, 5}}) {
    config.order = order;
    config.seed = static_cast<uint64_t>(seed);
    config.multiprocessors = processors;
    const auto got = f();
    config = before;
    for (size_t i = 0; i < want.size(); ++i) check_identical(to(got[i], cpu), to(want[i], cpu));
  }
}

}  // namespace

TEST_CASE("cuda reduce: along rows and columns of every length, as on the CPU") {
  const std::vector<std::pair<const char*, F>> functions = {
      {"sum", [](const Tensor& x) { return sum(x, {1}, true); }},
      {"columns", [](const Tensor& x) { return sum(x, 0); }},
      {"all", [](const Tensor& x) { return sum(x); }},
      {"var", [](const Tensor& x) { return var(x, {1}, 0); }},
      {"stddev", [](const Tensor& x) { return stddev(x, {0}, 0); }},
      {"norm", [](const Tensor& x) { return norm(x, 2, {0}); }},
      {"norm 1", [](const Tensor& x) { return norm(x, 1); }},
      {"norm 3", [](const Tensor& x) { return norm(x, 3, {1}); }},
      {"max", [](const Tensor& x) { return max(x, 1).values; }},
      {"argmin", [](const Tensor& x) { return argmin(x, 0); }},
      {"argmax", [](const Tensor& x) { return argmax(x); }}};
  const std::vector<Dims> shapes = {{1, 1}, {3, 31}, {33, 7}, {97, 97}, {1, 5003}, {5003, 1}, {3, 4096}, {2100, 12}};
  for (const DType t : {DType::float32, DType::float64, DType::bfloat16})
    for (const Dims& shape : shapes) {
      const Tensor here = made_here(shape, t, 3), there = to(here, gpu);
      for (const auto& [name, f] : functions) {
        INFO(name << " " << name_of(t) << " " << to_string(shape));
        CHECK(apart(f(there), f(here)) <= (t == DType::float64 ? 1e-13 : t == DType::float32 ? 1e-6 : 0.008));
        CHECK(apart(f(transpose(there, 0, 1)), f(transpose(here, 0, 1))) <= (t == DType::float64   ? 1e-13
                                                                             : t == DType::float32 ? 1e-6
                                                                                                   : 0.008));
      }
    }
}

TEST_CASE("cuda reduce: views of odd steps, and axes in the middle") {
  const Tensor here = made_here({5, 12, 9, 6}, DType::float32, 4), there = to(here, gpu);
  const std::vector<F> functions = {[](const Tensor& x) {
                                      return sum(x, Dims{0, 2});
                                    },
                                    [](const Tensor& x) {
                                      return sum(x, Dims{1, 3});
                                    },
                                    [](const Tensor& x) { return var(x, Dims{1}); },
                                    [](const Tensor& x) { return max(x, 2).values; },
                                    [](const Tensor& x) {
                                      return sum(slice(x, 1, 1, 12, 3), Dims{1, 2});
                                    },
                                    [](const Tensor& x) {
                                      return sum(slice(x, 3, 1, 6), Dims{0, 3});
                                    },
                                    [](const Tensor& x) { return sum(expand(slice(x, 0, 0, 1), x.shape()), Dims{0}); }};
  for (size_t i = 0; i < functions.size(); ++i) {
    INFO("function " << i);
    CHECK(apart(functions[i](there), functions[i](here)) <= 1e-6);
  }
  const Tensor whole = to(to(mul(here, 1000), DType::int32), gpu);
  CHECK(apart(sum(whole, Dims{0, 3}), sum(to(whole, cpu), Dims{0, 3})) == 0);
  CHECK(sum(to(whole, DType::uint8), 1).to_vector<int64_t>() ==
        sum(to(to(whole, cpu), DType::uint8), 1).to_vector<int64_t>());
}

TEST_CASE("cuda reduce: numbers at the ends of float64's range") {
  for (const double big : {1e300, 1e-300}) {
    const Tensor x = full({400}, big, {.dtype = DType::float64, .device = gpu});
    const Tensor y = cat({x, mul(x, 3)}, 0);
    CHECK(sum(y).item() == Approx(1600 * big));
    CHECK(norm(y).item() == Approx(std::sqrt(4000.) * big));
    CHECK(norm(y, 1).item() == Approx(1600 * big));
    CHECK(stddev(y, {0}, 0).item() == Approx(big));
    CHECK(stddev(x).item() == 0);
  }
  const Tensor most = full({4}, 1.7e308, {.dtype = DType::float64, .device = gpu});
  CHECK(mean(most).item() == Approx(1.7e308));
  CHECK(std::isinf(sum(most).item()));
}

TEST_CASE("cuda reduce: bits do not depend on the order of threads or the number of multiprocessors") {
  const Tensor x = to(made_here({300, 130}, DType::float32, 5), gpu), flat = reshape(x, {39000});
  const Tensor table = to(made_here({61, 8}, DType::float32, 6), gpu);
  Generator g(7);
  const Tensor at = to(randint(0, 61, {2500}, {.dtype = DType::int64, .device = cpu}, g), gpu);
  const Tensor dy = to(made_here({2500, 8}, DType::float32, 8), gpu);
  check_repeats([&] {
    Tensor w = clone(table).requires_grad_();
    embedding(at, w).backward(dy);
    Tensor logits = clone(x).requires_grad_();
    const Tensor loss = cross_entropy(logits, slice(at, 0, 0, 300), {.label_smoothing = 0.1});
    loss.backward();
    return std::vector<Tensor>{sum(flat),         sum(x, 0), sum(x, 1),     var(flat),     norm(x, 2, {0}),
                               max(x, 0).indices, w.grad(),  loss.detach(), logits.grad(), topk(x, 20, 1).values};
  });
}

TEST_CASE("cuda reduce: topk, by rounds and by sorting, as on the CPU") {
  for (const DType t : {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::int64, DType::uint8}) {
    const Tensor here = to(mul(abs(made_here({3, 1500}, DType::float32, 9)), 50), t), there = to(here, gpu);
    for (const int64_t k : {2, 16, 17, 1500})
      for (const bool largest : {true, false}) {
        INFO(name_of(t) << " " << k << " " << largest);
        const auto a = topk(here, k, 1, largest), b = topk(there, k, 1, largest);
        check_identical(a.values, to(b.values, cpu));
        check_identical(a.indices, to(b.indices, cpu));
      }
    const auto a = topk(here, 2, 0), b = topk(there, 2, 0);
    check_identical(a.indices, to(b.indices, cpu));
  }
  const Tensor odd = Tensor::from({0, NAN, -0., INFINITY, NAN, -INFINITY, 0}, {7});
  check_identical(topk(to(odd, cpu), 7).indices, to(topk(to(odd, gpu), 7).indices, cpu));
  const Tensor few = expand(to(odd, gpu), {3, 7});
  CHECK(topk(few, 2).indices.to_vector<int64_t>() == std::vector<int64_t>{1, 4, 1, 4, 1, 4});
}

TEST_CASE("cuda reduce: sums by index have the CPU's bits, with few indices and many") {
  for (const int64_t count : {1, 33, 2048, 2049, 6000})
    for (const int64_t width : {1, 3, 8, 300}) {
      if (count * width > 100000) continue;
      INFO(count << " " << width);
      Generator g(static_cast<uint64_t>(count));
      const Tensor at = randint(0, count < 100 ? 5 : 700, {count}, {.dtype = DType::int64, .device = cpu}, g);
      const Tensor dy = made_here({count, width}, DType::float32, 11);
      const auto gradient = [&](Device d) {
        Tensor w = zeros({700, width}, {.device = d}).requires_grad_();
        embedding(to(at, d), w).backward(to(dy, d));
        return to(w.grad(), cpu);
      };
      check_identical(gradient(cpu), gradient(gpu));
    }
  for (const int64_t width : {7, 64, 65, 3000})
    for (const int64_t axis : {0, 1}) {
      INFO(width << " along " << axis);
      Generator g(12);
      const Dims shape = axis ? Dims{3, width} : Dims{width, 3};
      const Tensor at = randint(0, 40, shape, {.dtype = DType::int64, .device = cpu}, g),
                   x = made_here(shape, DType::float32, 13);
      const Tensor start = made_here(axis ? Dims{3, 40} : Dims{40, 3}, DType::float32, 14);
      check_identical(scatter_add(start, axis, at, x),
                      to(scatter_add(to(start, gpu), axis, to(at, gpu), to(x, gpu)), cpu));
      const Tensor whole = to(mul(x, 1e6), DType::int64), from = to(mul(start, 1e6), DType::int64);
      check_identical(scatter_add(from, axis, at, whole),
                      to(scatter_add(to(from, gpu), axis, to(at, gpu), to(whole, gpu)), cpu));
    }
}

TEST_CASE("cuda reduce: cross-entropy of narrow and wide lines, as on the CPU") {
  for (const DType t : {DType::float32, DType::float64})
    for (const int64_t classes : {2, 10, 33, 1000, 20011})
      for (const double smoothing : {0.0, 0.1}) {
        INFO(name_of(t) << " " << classes << " classes, smoothing " << smoothing);
        const int64_t lines = classes > 1000 ? 3 : 37;
        Generator g(15);
        const Tensor logits = mul(made_here({lines, classes}, t, 16), 4);
        const Tensor target = randint(0, classes, {lines}, {.dtype = DType::int64, .device = cpu}, g);
        fill_(slice(target, 0, 1, 2), -100);
        const Tensor weight = add(abs(made_here({classes}, t, 17)), 0.1);
        const auto run = [&](Device d) {
          Tensor x = to(logits, d).detach().requires_grad_();
          const Tensor loss = cross_entropy(x, to(target, d), {.label_smoothing = smoothing, .weight = to(weight, d)});
          loss.backward();
          return std::vector<Tensor>{loss.detach(), x.grad()};
        };
        const auto want = run(cpu), got = run(gpu);
        for (size_t i = 0; i < 2; ++i) CHECK(apart(got[i], want[i]) <= (t == DType::float32 ? 1e-6 : 1e-13));
      }
}
