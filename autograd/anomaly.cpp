#include "tutti/autograd/anomaly.h"

#include <algorithm>

#include "tutti/autograd/detail/mode.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

constinit thread_local const detail::Caller* innermost = nullptr;

/// While results are looked at, and while a gradient function runs, operations are not looked at.
class Aside {
 public:
  explicit Aside(const Node* differentiated = nullptr) : before_(detail::mode) {
    detail::mode.anomaly = differentiated;
    detail::mode.differentiated = differentiated;
  }
  ~Aside() {
    detail::mode.anomaly = before_.anomaly;
    detail::mode.differentiated = before_.differentiated;
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  detail::Mode before_;
};

NotFinite look_at(const Tensor& x) {
  if (!x.defined()) return {};
  const bool infinite = detail::mode.infinite;
  const Aside aside;
  const no_grad off;
  return find_not_finite(x, infinite);
}

/// The part of a path below the modules that are being called, which say their own names; null if it lies elsewhere.
const char* below_current(const std::string& where) {
  const std::string here = innermost ? innermost->path() : "";
  if (here.empty()) return where.c_str();
  if (!where.starts_with(here) || (where.size() > here.size() && where[here.size()] != '.')) return nullptr;
  return where.c_str() + std::min(where.size(), here.size() + 1);
}

[[noreturn]] void fail(const Node& node, const char* which, size_t number, const Tensor& g, const NotFinite& found) {
  const char* below = node.where ? below_current(*node.where) : nullptr;
  std::string elsewhere;
  if (!node.where)
    elsewhere = " (the operation ran outside anomaly_mode: its module is not known)";
  else if (!below)
    elsewhere = " (the operation ran " + (node.where->empty() ? "outside this module)" : "in " + *node.where + ")");
  ValueError error(message(node.op, ": the gradient of ", which, " ", number, ", of shape ", g.shape(), ", is ",
                           found.what, " at ", found.at, elsewhere));
  if (below && *below) error.prepend(below);
  throw error;
}

}  // namespace

anomaly_mode::anomaly_mode(AnomalyOptions options)
    : before_(detail::mode.anomaly), options_before_{detail::mode.infinite} {
  set_anomaly_mode(true, options);
}
anomaly_mode::~anomaly_mode() { set_anomaly_mode(before_, options_before_); }

void set_anomaly_mode(bool on, AnomalyOptions options) {
  detail::mode.anomaly = on;
  detail::mode.infinite = options.infinite;
}
bool in_anomaly_mode() { return detail::mode.anomaly; }

namespace detail {

Caller::Caller() : outer_(innermost) { innermost = this; }
Caller::~Caller() { innermost = outer_; }
const Caller* Caller::current() { return innermost; }

void check_results(const char* op, std::span<const Output> outputs, std::span<const Tensor> inputs) {
  if (mode.differentiated) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto alias = std::make_shared<TensorImpl>(*outputs[i].impl());
    alias->node = nullptr;
    const Tensor y = Access::tensor(alias);
    const NotFinite found = look_at(y);
    if (!found.what) continue;
    std::string blame;
    for (size_t k = 0; k < inputs.size() && blame.empty(); ++k)
      if (const NotFinite before = look_at(inputs[k]); before.what)
        blame = message("; input ", k, " is ", before.what, " at ", before.at, " already");
    throw ValueError(message(op, ": the result of shape ", y.shape(), " is ", found.what, " at ", found.at,
                             blame.empty() ? ", the inputs are finite" : blame));
  }
}

void note_place(Node& node) {
  if (const Node* of = mode.differentiated)
    node.where = of->where ? std::make_unique<const std::string>(*of->where) : nullptr;
  else
    node.where = std::make_unique<const std::string>(innermost ? innermost->path() : "");
}

Grads checked_backward(Node& node, Saved& saved, const Grads& dy) {
  for (size_t i = 0; i < dy.size(); ++i)
    if (const NotFinite found = look_at(dy[i]); found.what) fail(node, "result", i, dy[i], found);
  Grads grads;
  {
    const Aside aside(&node);
    grads = node.backward(saved, dy);
  }
  for (size_t i = 0; i < grads.size(); ++i)
    if (const NotFinite found = look_at(grads[i]); found.what) fail(node, "input", i, grads[i], found);
  return grads;
}

}  // namespace detail
}  // namespace tutti
