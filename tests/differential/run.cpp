#include "differential/run.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tutti/backends/contract/kernel.h"
#include "tutti/tutti.h"

using namespace tutti;

namespace differential {
namespace {

/// How far a result may lie from the plain arrays': 16 times what two units in the last place per scalar operation made
/// of it in seven tries (or those two units on the result itself).
double tolerance(const Lanes& want, DType real) {
  constexpr double unit = 0x1p-24;
  const double float32 = 16 * std::max(spread(want), unit * std::abs(want[0]));
  return real == DType::float32 ? float32 + 1e-30 : float32 * 0x1p-29 + 1e-200;
}

std::string shown(const Dims& d) { return to_string(d); }
bool same(const Dims& a, const Shape& b) {
  return static_cast<size_t>(a.n) == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

struct Run {
  const Program& program;
  const Truth& truth;
  const Setting& setting;
  std::vector<double>* bits;
  Library library{setting.dtype};
  std::map<int, Tensor> values{};

  std::optional<std::string> compare(const Tensor& got, const std::vector<Lanes>& want, const Shape& shape,
                                     DType dtype) const {
    if (!got.defined()) return "undefined";
    if (!same(got.shape(), shape)) return message("shape ", shown(got.shape()), ", want ", text(shape));
    if (got.dtype() != dtype) return message("dtype ", got.dtype(), ", want ", dtype);
    const auto v = got.to_vector<double>();
    if (bits) bits->insert(bits->end(), v.begin(), v.end());
    for (size_t i = 0; i < v.size(); ++i) {
      const double allowed = is_floating(dtype) ? tolerance(want[i], setting.dtype) : 0;
      if (!(std::abs(v[i] - want[i][0]) <= allowed))
        return message("element ", i, " is ", v[i], ", want ", want[i][0], ", off by ", std::abs(v[i] - want[i][0]),
                       " where ", allowed, " is allowed");
    }
    return {};
  }
  std::optional<std::string> compare(const Tensor& got, const Truth::Result& want) const {
    return compare(got, want.elements, want.shape, library.dtype(want.kind));
  }

  void make_leaves() {
    for (const auto& [id, leaf] : program.leaves) {
      Dims shape;
      for (int64_t s : leaf.shape) shape.push(s);
      Tensor x = tutti_test::with_layout(to(Tensor::from(leaf.values, shape), library.dtype(leaf.kind)), leaf.layout);
      if (leaf.grad) x.requires_grad_();
      values[id] = x;
    }
  }
  Tensors call(const Step& step) const {
    Tensors x;
    for (int id : step.in) x.push_back(id < 0 ? Tensor() : values.at(id));
    if (step.mode == Mode::no_grad) {
      const no_grad off;
      return step.operation->library(library, step, x);
    }
    if (step.mode == Mode::plain) return step.operation->library(library, step, x);
    // By value: checkpoint calls it again in backward. Undefined inputs stay outside.
    return {checkpoint(
        [step, l = library](const Tensors& again) {
          Tensors all;
          for (size_t i = 0, k = 0; i < step.in.size(); ++i) all.push_back(step.in[i] < 0 ? Tensor() : again[k++]);
          return step.operation->library(l, step, all)[0];
        },
        [&] {
          Tensors defined;
          for (const Tensor& t : x)
            if (t.defined()) defined.push_back(t);
          return defined;
        }())};
  }
  std::optional<std::string> take(size_t k) {
    const Step& step = program.steps[k];
    if (step.malformed) {
      try {
        call(step);
      } catch (const Error&) {
        return {};
      }
      return "a malformed call was accepted";
    }
    const Tensors y = call(step);
    if (y.size() != step.out.size()) return message(y.size(), " results, want ", step.out.size());
    for (size_t i = 0; i < y.size(); ++i) {
      const auto& want = truth.steps[k][i];
      if (auto wrong = compare(y[i], want)) return message("result ", i, ": ", *wrong);
      if (y[i].requires_grad() != want.grad) return message("result ", i, ": requires_grad ", y[i].requires_grad());
      values[step.out[i]] = y[i];
    }
    if (step.operation->trait == Operation::writes)
      if (auto wrong = compare(values[step.in[0]], truth.steps[k][0])) return "target: " + *wrong;
    return {};
  }
  std::optional<std::string> gradients() {
    Tensor loss;
    for (int id : program.loss) {
      const Tensor& v = values[id];
      std::vector<double> w;
      for (int64_t i = 0; i < v.numel(); ++i) w.push_back(weight(id, i));
      const Tensor term = sum(mul(v, to(Tensor::from(w, v.shape()), v.dtype())));
      loss = loss.defined() ? add(loss, term) : term;
    }
    if (!loss.defined() || !loss.requires_grad()) return {};
    std::vector<int> ids;
    Tensors leaves;
    for (const auto& [id, leaf] : program.leaves)
      if (leaf.grad) {
        ids.push_back(id);
        leaves.push_back(values[id]);
      }
    Tensors d;
    if (program.create_graph) {
      d = grad({loss}, leaves, {}, {.create_graph = true});
    } else {
      loss.backward();
      for (const Tensor& leaf : leaves) d.push_back(leaf.grad());
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto& want = truth.gradients.at(ids[i]);
      if (!d[i].defined()) {
        for (const Lanes& w : want)
          if (w[0] != 0) return message("v", ids[i], " has no gradient");
        continue;
      }
      if (auto wrong = compare(d[i], want, program.leaves.at(ids[i]).shape, setting.dtype))
        return message("gradient of v", ids[i], ": ", *wrong);
    }
    return {};
  }
  /// What is read before it was written shall show: the allocator's free blocks are full of this.
  void soil_memory() const {
    Tensors blocks;
    for (int64_t n = 8; n <= 4096; n *= 2)
      for (int i = 0; i < 4; ++i) blocks.push_back(full({n}, 1234.5, {.dtype = setting.dtype}));
  }
  std::optional<std::string> all() {
    soil_memory();
    make_leaves();
    for (size_t k = 0; k < program.steps.size(); ++k) {
      try {
        if (auto wrong = take(k)) return message(program.steps[k].operation->name, " (step ", k, "): ", *wrong);
      } catch (const std::exception& e) {
        return message(program.steps[k].operation->name, " (step ", k, ") throws ", e.what());
      }
    }
    try {
      if (auto wrong = gradients()) return wrong;
    } catch (const std::exception& e) {
      return message("backward throws ", e.what());
    }
    for (const auto& [id, x] : values)  // nothing but what was written has changed
      if (auto wrong = compare(x, truth.last.at(id))) return message("v", id, " at the end: ", *wrong);
    return {};
  }
};

}  // namespace

std::optional<std::string> run(const Program& program, const Truth& truth, const Setting& setting,
                               std::vector<double>* bits) {
  struct Restore {
    int isa = isa::level(), threads = num_threads();
    ~Restore() {
      isa::force(isa);
      set_num_threads(threads);
    }
  } restore;
  isa::force(setting.isa);
  set_num_threads(setting.threads);
  if (auto wrong = Run{program, truth, setting, bits}.all())
    return message(setting.dtype, ", ", isa::names[static_cast<size_t>(setting.isa)], ", ", setting.threads,
                   " threads: ", *wrong);
  return {};
}

std::optional<std::string> check(const Program& program) {
  std::optional<Truth> truth;
  truth.emplace(program);
  const auto pick = [&](uint64_t salt) {
    return static_cast<int>((program.seed * 2654435761u + salt * 40503u) / 7 %
                            static_cast<uint64_t>(isa::supported() + 1));
  };
  const bool big = std::any_of(program.leaves.begin(), program.leaves.end(),
                               [](const auto& l) { return l.second.values.size() > 1000; });
  std::vector<double> one, three;
  const bool bits = big || program.seed % 8 == 0;
  if (auto wrong = run(program, *truth, {DType::float32, pick(1), 1}, bits ? &one : nullptr)) return wrong;
  if (auto wrong = run(program, *truth, {DType::float64, pick(2), 2})) return wrong;
  if (!bits) return {};
  if (auto wrong = run(program, *truth, {DType::float32, pick(1), 3}, &three)) return wrong;
  if (one.size() == three.size() &&
      (one.empty() || !std::memcmp(one.data(), three.data(), one.size() * sizeof(double))))
    return {};
  return "other bits on three threads than on one";
}

}  // namespace differential
