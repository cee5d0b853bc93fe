// feed_forward against plain loops, and against the three operations that it stands for.
#include "tutti/ops/feed_forward.h"

#include <cmath>

#include "support/engines.h"
#include "support/op_test.h"
#include "tutti/autograd/gradcheck.h"
#include "tutti/tutti.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// x [.., in], up [hidden, in], up_bias, down [out, hidden], down_bias.
Array reference(const Arrays& in) {
  const int64_t width = in[1].shape[1], hidden = in[1].shape[0], out = in[3].shape[0];
  Dims shape = in[0].shape;
  shape[shape.n - 1] = out;
  Array y(shape);
  std::vector<double> middle(static_cast<size_t>(hidden));
  for (int64_t r = 0; r < y.numel() / out; ++r) {
    for (int64_t h = 0; h < hidden; ++h) {
      double u = in[2][h];
      for (int64_t i = 0; i < width; ++i) u += in[0][r * width + i] * in[1][h * width + i];
      middle[static_cast<size_t>(h)] = u * std::erfc(-u / std::sqrt(2.0)) / 2;
    }
    for (int64_t o = 0; o < out; ++o) {
      double v = in[4][o];
      for (int64_t h = 0; h < hidden; ++h) v += middle[static_cast<size_t>(h)] * in[3][o * hidden + h];
      y[r * out + o] = v;
    }
  }
  return y;
}

Tensor run(const Tensors& t, Gelu form = Gelu::erf) { return feed_forward(t[0], t[1], t[2], t[3], t[4], form); }
Tensor composed(const Tensors& t, Gelu form) { return linear(gelu(linear(t[0], t[1], t[2]), form), t[3], t[4]); }

Tensors leaves(int64_t rows, int64_t in, int64_t hidden, int64_t out, DType dtype, bool biases = true) {
  Tensors t{random_tensor({rows, in}, dtype, 1), random_tensor({hidden, in}, dtype, 2),
            biases ? random_tensor({hidden}, dtype, 3) : Tensor(), random_tensor({out, hidden}, dtype, 4),
            biases ? random_tensor({out}, dtype, 5) : Tensor()};
  for (Tensor& x : t)
    if (x.defined()) x.requires_grad_();
  return t;
}
Tensors inputs(const Tensors& t) {
  Tensors r;
  for (const Tensor& x : t)
    if (x.defined()) r.push_back(x);
  return r;
}

}  // namespace

TEST_CASE("feed_forward", "[feed_forward]") {
  op_test("feed_forward", {.kernels = "feed_forward feed_forward_backward activate activate_backward",
                           .shapes = {{{3, 4}, {5, 4}, {5}, {2, 5}, {2}},
                                      {{4}, {3, 4}, {3}, {1, 3}, {1}},
                                      {{2, 0, 4}, {5, 4}, {5}, {3, 5}, {3}},
                                      {{3, 0}, {5, 0}, {5}, {2, 5}, {2}},
                                      {{3, 4}, {0, 4}, {0}, {2, 0}, {2}},
                                      {{2, 130, 3}, {5, 3}, {5}, {2, 5}, {2}},  // from 256 rows on, fused
                                      {{257, 1}, {1, 1}, {1}, {1, 1}, {1}}},
                           .op = [](const Tensors& x) { return run(x); },
                           .reference = reference});
}

TEST_CASE("feed_forward: as its three operations, every gradient, both forms", "[feed_forward]") {
  const bool fused_here = default_device() == cpu;
  // Several pieces of rows and of columns; a device has no such pieces, and an emulated one takes long.
  const std::vector<Dims> sizes = fused_here
                                      ? std::vector<Dims>{{300, 17, 70, 9}, {1024, 32, 1100, 33}, {3000, 8, 48, 16}}
                                      : std::vector<Dims>{{260, 5, 9, 3}};
  for_each_isa([&](const char* name) {
    INFO(name);
    for (Gelu form : {Gelu::erf, Gelu::tanh})
      for (const Dims& s : sizes)
        for (DType dtype : {DType::float32, DType::float64})
          for (bool biases : {true, false}) {
            INFO(message(s, " ", dtype, biases ? " with biases" : ""));
            const Tensors t = leaves(s[0], s[1], s[2], s[3], dtype, biases);
            const Tensor dy = random_tensor({s[0], s[3]}, dtype, 6);
            const Tensor y = run(t, form), want = composed(t, form);
            const double tolerance = dtype == DType::float32 ? 2e-5 : 1e-12;
            check_close(y.detach(), Array(want.detach()), tolerance);
            {
              const no_grad off;
              check_identical(run(t, form), y.detach());
            }
            const auto got = grad({y}, inputs(t), {dy}), expected = grad({want}, inputs(t), {dy});
            for (size_t i = 0; i < got.size(); ++i) {
              INFO("input " << i);
              check_close(got[i], Array(expected[i]), tolerance);
            }
            if (fused_here) {  // a retained graph: what was saved is not written over
              const Tensor again = run(t, form);
              for (int k = 0; k < 2; ++k) {
                const auto g = grad({again}, inputs(t), {dy}, {.retain_graph = true});
                for (size_t i = 0; i < g.size(); ++i) check_identical(g[i], got[i]);
              }
            }
            for (size_t only = 0; only < 5; ++only) {  // each gradient alone has the bits that it has with the others
              if (!t[only].defined()) continue;
              Tensors some;
              for (size_t i = 0; i < 5; ++i) some.push_back(t[i].defined() && i != only ? t[i].detach() : t[i]);
              const auto alone = grad({run(some, form)}, {some[only]}, {dy});
              size_t place = 0;
              for (size_t i = 0; i < only; ++i) place += t[i].defined();
              check_identical(alone[0], got[place]);
            }
          }
  });
}

TEST_CASE("feed_forward: second derivatives", "[feed_forward]") {
  for (int64_t rows : {2, 256}) {
    if (rows == 256 && default_device() != cpu) continue;  // nothing else happens there
    const Tensors t = leaves(rows, 2, 3, 2, DType::float64);
    for (Gelu form : {Gelu::erf, Gelu::tanh})
      CHECK(gradgradcheck([&](const Tensors& x) { return sum(run(x, form), 0); }, t));
  }
}

TEST_CASE("feed_forward: the same bits on any threads and engine, and for strided inputs", "[feed_forward]") {
  const int64_t rows = default_device() == cpu ? 2000 : 260;
  const Tensors t = leaves(rows, 24, 600, 40, DType::float32);
  const Tensor dy = random_tensor({rows, 40}, DType::float32, 6);
  const int before = num_threads();
  std::vector<Tensors> all;
  for_each_engine([&] {
    for (int threads : {1, 2, 6}) {
      set_num_threads(threads);
      Tensors r = grad({run(t)}, inputs(t), {dy});
      r.push_back(run(t).detach());
      all.push_back(r);
    }
  });
  set_num_threads(before);
  for (const Tensors& r : all)
    for (size_t i = 0; i < r.size(); ++i) check_identical(r[i], all[0][i]);
  Tensors strided;
  for (const Tensor& x : t) strided.push_back(with_layout(x.detach(), Layout::transposed).requires_grad_());
  const Tensors r = grad({run(strided)}, strided, {with_layout(dy, Layout::transposed)});
  for (size_t i = 0; i < r.size(); ++i) check_identical(contiguous(r[i]), all[0][i]);
}

TEST_CASE("feed_forward: keeps what gelu is given, and nothing else of the middle", "[feed_forward]") {
  if (default_device() != cpu) {
    WARN(
        "skipped: "
        "composed on a device");
    return;
  }
  const Tensors t = leaves(1000, 16, 64, 16, DType::float32);
  const size_t before = memory::stats(cpu).current;
  const Tensor y = run(t);
  CHECK(memory::stats(cpu).current - before == 1000 * (64 + 16) * 4);
  const no_grad off;
  const size_t without = memory::stats(cpu).current;
  const Tensor z = run(t);
  CHECK(memory::stats(cpu).current - without == 1000 * 16 * 4);
}

TEST_CASE("feed_forward: infinities and NaN go through as in gelu", "[feed_forward]") {
  std::vector<float> v(300);
  v[0] = INFINITY;
  v[1] = -INFINITY;
  v[2] = NAN;
  v[3] = 1e30f;
  v[4] = -1e30f;
  const Tensor x = Tensor::from(v, {300, 1}), one = Tensor::from({1}, {1, 1});
  for (Gelu form : {Gelu::erf, Gelu::tanh})
    check_identical(feed_forward(x, one, {}, one, {}, form), linear(gelu(x, form), one));
}

TEST_CASE("feed_forward: errors name what does not fit", "[feed_forward]") {
  const Tensor x = zeros({300, 4}), up = zeros({8, 4}), down = zeros({4, 8}), b8 = zeros({8}), b4 = zeros({4});
  CHECK_THROWS_WITH(feed_forward(zeros({300, 5}), up, b8, down, b4),
                    "feed_forward: input width 5 does not match weight [8, 4] (in = 4)");
  CHECK_THROWS_WITH(feed_forward(x, up, b8, zeros({4, 9}), b4),
                    "feed_forward: input width 8 does not match weight [4, 9] (in = 9)");
  CHECK_THROWS_WITH(feed_forward(x, up, b4, down, b4),
                    "feed_forward: bias of shape [4] does not match weight [8, 4] (out = 8)");
  CHECK_THROWS_WITH(feed_forward(x, up, b8, down, b8),
                    "feed_forward: bias of shape [8] does not match weight [4, 8] (out = 4)");
  CHECK_THROWS_AS(feed_forward({}, up, b8, down, b4), ValueError);
  CHECK_THROWS_AS(feed_forward(x, up, b8, to(down, DType::float64), b4), DTypeError);
  CHECK_THROWS_AS(feed_forward(x, up, b8, zeros({4}), b4), ShapeError);
}
