// Devices: every operation of several tensors refuses two devices by both their names, and every operation works, and
// leaves its result and its gradients, where its operands are: whatever the default device is.
#include "support/devices.h"
#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/tutti.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// A call, with its tensors as the CPU makes them.
struct Call {
  const char* name;
  Tensors inputs;
  std::function<Tensor(const Tensors&)> f;
};
using X = const Tensors&;

Tensor real(const Dims& shape, double low = 0.5, double high = 2) {
  static uint64_t seed = 0;
  return random_tensor(shape, DType::float64, ++seed, low, high);
}
Tensor flags(const Dims& shape) { return gt(real(shape, -1, 1), 0); }
Tensor index(std::initializer_list<double> values, const Dims& shape) {
  return Tensor::from(values, shape, DType::int64);
}

/// Those of several tensors: each of them is tried on another device than the others.
std::vector<Call> of_several() {
  const Dims m{3, 4};
  const Tensor a = real(m), b = real(m), c = flags(m), q = real({1, 2, 5, 4});
  const Tensor labels = index({1, 0, 3}, {3}), places = index({0, 2, 1, 1}, {1, 4});
  const auto attend = [](X x) {
    return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3], .layout = x[4], .block = 2});
  };
  return {
      {"add", {a, b}, [](X x) { return add(x[0], x[1]); }},
      {"sub", {a, b}, [](X x) { return sub(x[0], x[1]); }},
      {"mul", {a, b}, [](X x) { return mul(x[0], x[1]); }},
      {"div", {a, b}, [](X x) { return div(x[0], x[1]); }},
      {"maximum", {a, b}, [](X x) { return maximum(x[0], x[1]); }},
      {"minimum", {a, b}, [](X x) { return minimum(x[0], x[1]); }},
      {"pow", {a, b}, [](X x) { return pow(x[0], x[1]); }},
      {"eq", {a, b}, [](X x) { return eq(x[0], x[1]); }},
      {"ne", {a, b}, [](X x) { return ne(x[0], x[1]); }},
      {"lt", {a, b}, [](X x) { return lt(x[0], x[1]); }},
      {"le", {a, b}, [](X x) { return le(x[0], x[1]); }},
      {"gt", {a, b}, [](X x) { return gt(x[0], x[1]); }},
      {"ge", {a, b}, [](X x) { return ge(x[0], x[1]); }},
      {"logical_and", {c, flags(m)}, [](X x) { return logical_and(x[0], x[1]); }},
      {"logical_or", {c, flags(m)}, [](X x) { return logical_or(x[0], x[1]); }},
      {"where", {c, a, b}, [](X x) { return where(x[0], x[1], x[2]); }},
      {"masked_fill", {a, c}, [](X x) { return masked_fill(x[0], x[1], 7); }},
      {"cat", {a, b, real(m)}, [](X x) { return cat(x, 1); }},
      {"stack", {a, b, real(m)}, [](X x) { return stack(x, 1); }},
      {"matmul", {a, real({4, 2})}, [](X x) { return matmul(x[0], x[1]); }},
      {"bmm", {real({2, 3, 4}), real({2, 4, 2})}, [](X x) { return bmm(x[0], x[1]); }},
      {"linear", {a, real({5, 4}), real({5})}, [](X x) { return linear(x[0], x[1], x[2]); }},
      {"grouped_linear", {a, real({2, 3, 2}), real({6})}, [](X x) { return grouped_linear(x[0], x[1], x[2]); }},
      {"index_select", {a, index({2, 0}, {2})}, [](X x) { return index_select(x[0], 0, x[1]); }},
      {"gather", {a, places}, [](X x) { return gather(x[0], 0, x[1]); }},
      {"scatter_add", {a, places, real({1, 4})}, [](X x) { return scatter_add(x[0], 0, x[1], x[2]); }},
      {"embedding", {index({2, 0, 2}, {3}), a}, [](X x) { return embedding(x[0], x[1]); }},
      {"cross_entropy", {a, labels, real({4})}, [](X x) { return cross_entropy(x[0], x[1], {.weight = x[2]}); }},
      {"mse_loss", {a, b}, [](X x) { return mse_loss(x[0], x[1]); }},
      {"binary_cross_entropy_with_logits",
       {a, real(m, 0, 1)},
       [](X x) { return binary_cross_entropy_with_logits(x[0], x[1]); }},
      {"layer_norm", {a, real({4}), real({4})}, [](X x) { return layer_norm(x[0], x[1], x[2]); }},
      {"rms_norm", {a, real({4})}, [](X x) { return rms_norm(x[0], x[1]); }},
      {"scaled_dot_product_attention",
       {q, real(q.shape()), real(q.shape()), real({5, 5}), ones({3, 3}, {DType::boolean})},
       attend},
      {"packed_attention",
       {real({1, 5, 3, 2, 4}), real({5, 5}), ones({3, 3}, {DType::boolean})},
       [](X x) { return packed_attention(x[0], {.mask = x[1], .layout = x[2], .block = 2}); }},
  };
}

/// Those of one.
std::vector<Call> of_one() {
  const Tensor a = real({3, 4}), small = real({3, 4}, 0.1, 0.4);
  std::vector<Call> list;
  const auto call = [&](const char* name, const Tensor& x, auto f) {
    list.push_back({name, {x}, [f](X in) { return f(in[0]); }});
  };
  using T = const Tensor&;
  call("neg", a, [](T x) { return neg(x); });
  call("abs", a, [](T x) { return abs(x); });
  call("exp", a, [](T x) { return exp(x); });
  call("log", a, [](T x) { return log(x); });
  call("log1p", a, [](T x) { return log1p(x); });
  call("sqrt", a, [](T x) { return sqrt(x); });
  call("rsqrt", a, [](T x) { return rsqrt(x); });
  call("reciprocal", a, [](T x) { return reciprocal(x); });
  call("square", a, [](T x) { return square(x); });
  call("sin", a, [](T x) { return sin(x); });
  call("cos", a, [](T x) { return cos(x); });
  call("tanh", a, [](T x) { return tanh(x); });
  call("clamp", a, [](T x) { return clamp(x, 0.7, 1.5); });
  call("sigmoid", a, [](T x) { return sigmoid(x); });
  call("relu", a, [](T x) { return relu(x); });
  call("gelu", a, [](T x) { return gelu(x); });
  call("gelu, tanh", a, [](T x) { return gelu(x, Gelu::tanh); });
  call("silu", a, [](T x) { return silu(x); });
  call("numbers", small, [](T x) { return (2 - x * 3 + 1) / (1 / x + 2) + pow(x, 2.5); });
  call("comparisons", a, [](T x) { return logical_and(logical_not(lt(x, 1)), logical_not(isnan(x))); });
  call("clone", a, [](T x) { return clone(x); });
  call("to", a, [](T x) { return to(x, DType::float32); });
  call("like", a, [](T x) { return zeros_like(x) + ones_like(x) + full_like(x, 3); });
  call("max", a, [](T x) { return max(x); });
  call("min of an axis", a, [](T x) { return min(x, 1).values; });
  call("argmax", a, [](T x) { return argmax(x, 0); });
  call("topk", a, [](T x) { return topk(x, 2).values; });
  call("one_hot", index({1, 0, 3}, {3}), [](T x) { return one_hot(x, 4); });
  call("tril", a, [](T x) { return tril(x); });
  call("pad", a, [](T x) { return pad(x, {1, 0}, {0, 2}, 9); });
  call("sum", a, [](T x) { return sum(x, 0); });
  call("mean", a, [](T x) { return mean(x); });
  call("var", a, [](T x) { return var(x, 1); });
  call("stddev", a, [](T x) { return stddev(x); });
  call("norm", a, [](T x) { return norm(x) + norm(x, INFINITY) + norm(x, 1) + norm(x, 3); });
  call("logsumexp", a, [](T x) { return logsumexp(x, 1); });
  call("any and all", flags({3, 4}), [](T x) { return logical_or(any(x), all(x, 1)); });
  call("sum_to", a, [](T x) { return sum_to(x, {1, 4}); });
  call("softmax", a, [](T x) { return softmax(x, 0); });
  call("log_softmax", a, [](T x) { return log_softmax(x, 1); });
  call("views", a, [](T x) {
    return contiguous(transpose(expand(unsqueeze(select(permute(x, {1, 0}), 0, 1), 0), {2, 3}), 0, 1));
  });
  call("slice", a, [](T x) { return flatten(slice(x, 1, 0, 4, 2)) + reshape(slice(x, 1, 1, 3), {-1}); });
  call("split", a, [](T x) { return split(x, 3, 1)[1] + chunk(x, 4, 1)[2]; });
  call("dropout", a, [](T x) { return manual_seed(3), dropout(x, 0.4); });
  return list;
}

Tensors placed_on(const Tensors& x, Device device) {
  Tensors list;
  for (const Tensor& t : x) list.push_back(to(t, device).detach());
  return list;
}

/// The result, the gradients of the floating inputs, and theirs.
Tensors everything(const Call& call, Device device) {
  Tensors x = placed_on(call.inputs, device), leaves;
  const bool mask = std::string(call.name).find("attention") != std::string::npos;
  const bool weighted = std::string(call.name) == "cross_entropy";
  for (size_t i = 0; i < x.size(); ++i) {
    if (!is_floating(x[i].dtype())) continue;
    if ((mask && x[i].rank() == 2) || (weighted && i == 2)) continue;  // these have no gradient
    leaves.push_back(x[i].requires_grad_());
  }
  const Tensor y = call.f(x);
  Tensors all{y};
  if (leaves.empty() || !is_floating(y.dtype()) || !y.requires_grad()) return all;
  for (const Tensor& g : grad({y}, leaves, {ones_like(y)}, {.retain_graph = true})) all.push_back(g);
  const Tensors first = grad({y}, leaves, {ones_like(y)}, {.create_graph = true});
  Tensor total;
  for (const Tensor& g : first) total = total.defined() ? total + sum(square(g)) : sum(square(g));
  if (total.requires_grad())
    for (const Tensor& g : grad({total}, leaves)) all.push_back(g);
  return all;
}

}  // namespace

TEST_CASE("devices: operations of several tensors refuse two of them") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu made_here;
  for (const Device other_default : {cpu, other}) {
    for (const Call& call : of_several()) {
      set_default_device(other_default);
      for (size_t odd = 0; odd < call.inputs.size(); ++odd) {
        Tensors x = call.inputs;
        x[odd] = to(x[odd], other);
        INFO(call.name << ", input " << odd << " on " << to_string(other));
        std::string kind = "nothing thrown", text;
        try {
          call.f(x);
        } catch (const Error& e) {
          kind = e.kind();
          text = e.what();
        }
        CHECK(kind == std::string("DeviceError"));
        CHECK(text.starts_with(std::string(call.name) + ": "));
        CHECK_THAT(text, Contains("cpu") && Contains(to_string(other)));
      }
      set_default_device(cpu);
    }
  }
}

TEST_CASE("devices: results and gradients are where the operands are, and the CPU's") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu made_here;
  std::vector<Call> calls = of_several();
  for (Call& call : of_one()) calls.push_back(std::move(call));
  for (const Call& call : calls) {
    INFO(call.name);
    const Tensors want = everything(call, cpu), got = everything(call, other);
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      INFO("tensor " << i);
      REQUIRE(got[i].defined() == want[i].defined());
      if (!got[i].defined()) continue;
      CHECK(got[i].device() == other);
      CHECK(got[i].dtype() == want[i].dtype());
      check_close(got[i], Array(want[i]), got[i].dtype() == DType::float64 ? 1e-10 : 1e-5);
    }
  }
  // And the other way round.
  set_default_device(other);
  for (const Call& call : calls) {
    INFO(call.name << ", default device " << to_string(other));
    for (const Tensor& t : everything(call, cpu))
      if (t.defined()) CHECK(t.device() == cpu);
  }
}

TEST_CASE("devices: what makes tensors asks for a device, or takes the default") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu before;
  const auto check = [](Device device, const TensorOptions& o, const TensorOptions& whole) {
    const Tensors made{empty({2}, o),      zeros({2}, o),          ones({2}, o),     full({2}, 3, o),
                       arange(0, 3, 1, o), linspace(0, 1, 3, o),   eye(2, o),        rand({2}, o),
                       randn({2}, o),      bernoulli(0.5, {2}, o), arange(3, whole), randint(0, 5, {3}, whole)};
    for (const Tensor& t : made) CHECK(t.device() == device);
  };
  check(other, {.device = other}, {.dtype = DType::int64, .device = other});
  CHECK(Tensor::from({1, 2}, {2}, DType::float32, other).device() == other);
  CHECK(Tensor::from(std::vector<float>{1, 2}, {2}, other).to_vector<float>() == std::vector<float>{1, 2});
  CHECK(Tensor::from(std::vector<bool>{true, false}, {2}, other).device() == other);
  CHECK(randperm(5, default_generator(), other).device() == other);
  check(cpu, {}, {.dtype = DType::int64});
  set_default_device(other);
  CHECK(default_device() == other);
  check(other, {}, {.dtype = DType::int64});
  CHECK(Tensor::from({1, 2}, {2}).device() == other);
  Generator a(3), b(3);
  for (const int64_t n : {1, 31, 50, 64, 65, 1000, 1024, 1025, 2500}) {  // across the sizes at which sorting changes
    INFO("randperm " << n);
    CHECK(randperm(n, a).to_vector<int64_t>() == randperm(n, b, cpu).to_vector<int64_t>());
  }
}

TEST_CASE("devices: copies, in place and across") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu before;
  const Tensor x = real({3, 4}), there = to(x, other);
  CHECK(there.device() == other);
  CHECK(to(there, other).impl() == there.impl());
  check_identical(to(there, cpu), x);
  check_identical(to(to(transpose(there, 0, 1), cpu), other), transpose(x, 0, 1));
  if (cuda_device_count() > 1) check_identical(to(there, Device::cuda(0)), x);
  copy_(there, x * 2);  // from the CPU
  check_identical(there, x * 2);
  copy_(transpose(x, 0, 1), transpose(there, 0, 1));
  check_identical(there, x);
  fill_(there, 5);
  CHECK(there.at({2, 3}) == 5);
  CHECK_THAT(to_string(Tensor::from({1.5, 2}, {2}, DType::float32, other)),
             Contains("Tensor([1.5, 2. ], device=" + to_string(other) + ")"));
  // A gradient goes back to where its tensor is.
  Tensor leaf = real({3});
  leaf.requires_grad_();
  sum(square(to(leaf, other))).backward();
  CHECK(leaf.grad().device() == cpu);
  check_close(leaf.grad(), Array(leaf.detach() * 2), 1e-12);
  REQUIRE_THROWS_WITH(leaf.set_grad(to(leaf.detach(), other)), Contains("cpu") && Contains(to_string(other)));
  const Tensor hooked = square(leaf);
  hooked.register_hook([other](const Tensor& g) { return to(g, other); });
  REQUIRE_THROWS_WITH(hooked.backward(leaf.detach()),
                      "square: a hook returned a tensor on " + to_string(other) + " for a gradient on cpu");
  REQUIRE_THROWS_WITH(square(leaf).backward(to(leaf.detach(), other)),
                      "backward: gradient on " + to_string(other) + " for a tensor on cpu");
}
