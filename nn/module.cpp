#include "tutti/nn/module.h"

#include <set>

#include "tutti/autograd/node.h"
#include "tutti/core/safetensors_file.h"
#include "tutti/nn/detail/copied_ties.h"
#include "tutti/nn/detail/load.h"
#include "tutti/ops/copy.h"

namespace tutti::nn {
namespace {

/// Every tensor below a module with its full name, tied ones each time.
struct Collect final : Visitor {
  using Named = std::vector<std::pair<std::string, Tensor>>;
  std::string prefix;
  Named parameters, buffers;
  std::string moved_from;  // the first module below that was
  using Visitor::operator();
  void operator()(const std::string& name, Parameter& p) override {
    if (p.defined()) parameters.emplace_back(prefix + name, p.tensor());
  }
  void operator()(const std::string& name, Buffer& b) override {
    if (b.defined()) buffers.emplace_back(prefix + name, b.tensor());
  }
  void operator()(const std::string& name, Module& m) override {
    const size_t length = prefix.size();
    if (m.moved_from() && moved_from.empty()) moved_from = prefix + name;
    prefix += name + ".";
    m.children(*this);
    prefix.resize(length);
  }
};

/// children() is not const, since visitors may change the members; these do not.
Collect collect(const char* op, const Module& m) {
  Collect c;
  const_cast<Module&>(m).children(c);
  if (m.moved_from()) throw ValueError(message(op, ": the module was moved from; assign another to it first"));
  if (!c.moved_from.empty())
    throw ValueError(message(op, ": ", c.moved_from, " was moved from; assign another to it first"));
  return c;
}

StateDict state_of(const char* op, const Module& m, bool detached) {
  StateDict state;
  const Collect c = collect(op, m);
  for (const auto* list : {&c.parameters, &c.buffers})
    for (const auto& [name, t] : *list)
      if (!state.emplace(name, detached ? t.detach() : t).second)
        throw ValueError(message(op, ": two parameters or buffers are named \"", name, "\""));
  return state;
}

/// Where below a module another one is: "blocks.1.attention".
struct Find final : Visitor {
  const void* wanted = nullptr;
  std::string prefix, found;
  using Visitor::operator();
  void operator()(const std::string&, Parameter&) override {}
  void operator()(const std::string&, Buffer&) override {}
  void operator()(const std::string& name, Module& m) override {
    if (!found.empty()) return;
    if (&m == wanted) {
      found = prefix + name;
      return;
    }
    const size_t length = prefix.size();
    prefix += name + ".";
    m.children(*this);
    prefix.resize(length);
  }
};

struct SetTraining final : Visitor {
  bool on;
  explicit SetTraining(bool value) : on(value) {}
  using Visitor::operator();
  void operator()(const std::string&, Parameter&) override {}
  void operator()(const std::string&, Buffer&) override {}
  void operator()(const std::string&, Module& m) override { m.train(on); }
};

/// f(tensor) for every parameter and buffer, tied ones once.
template <class F>
void for_each_tensor(const char* op, const Module& m, F&& f) {
  const Collect c = collect(op, m);
  std::set<const TensorImpl*> seen;
  for (const auto* list : {&c.parameters, &c.buffers})
    for (const auto& [name, t] : *list)
      if (seen.insert(t.impl()).second) f(t);
}

template <class Target>
void convert(const Module& m, Target target, bool floating_only) {
  const no_grad off;
  for_each_tensor("to", m, [&](const Tensor& t) {
    if (floating_only && !is_floating(t.dtype())) return;
    const Tensor value = tutti::to(t, target);
    if (value.impl()->storage == t.impl()->storage) return;
    Tensor gradient = t.grad();
    if (gradient.defined()) gradient = tutti::to(gradient, target);
    replace(t, value);
    if (gradient.defined()) t.set_grad(gradient);
  });
}

}  // namespace

Module::Module(const Module& other) : flags_(other.flags_) { detail::begin_copy(other); }

Module& Module::operator=(const Module& other) {
  flags_ = other.flags_;
  if (this != &other) detail::begin_copy(other);
  return *this;
}

std::vector<std::pair<std::string, Tensor>> Module::named_parameters() const {
  return collect("named_parameters", *this).parameters;
}

std::vector<std::pair<std::string, Tensor>> Module::named_buffers() const {
  return collect("named_buffers", *this).buffers;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> list;
  std::set<const TensorImpl*> seen;
  for (auto& [name, t] : collect("parameters", *this).parameters)
    if (seen.insert(t.impl()).second) list.push_back(t);
  return list;
}

int64_t Module::parameter_count() const {
  int64_t n = 0;
  for (const Tensor& t : parameters()) n += t.numel();
  return n;
}

StateDict Module::state_dict() const { return state_of("state_dict", *this, /*detached=*/true); }

LoadReport Module::load_state_dict(const StateDict& state, const LoadOptions& options) {
  detail::Offers offers;
  for (const auto& [name, t] : state)
    if (t.defined()) offers.emplace(name, detail::Offer{t.shape(), {}, [&held = t] { return held; }});
  return detail::load(state_of("load_state_dict", *this, /*detached=*/false), offers, options, /*in_memory=*/true);
}

LoadReport Module::load_state_dict(const SafetensorsFile& file, const LoadOptions& options) {
  detail::Offers offers;
  for (const std::string& name : file.names()) {
    const SafetensorsEntry& e = file.entry(name);
    offers.emplace(name, detail::Offer{e.shape, e.readable ? "" : "its dtype is " + e.dtype + ", which Tutti lacks",
                                       [&file, name] { return file.get(name, cpu); }});
  }
  return detail::load(state_of("load_state_dict", *this, /*detached=*/false), offers, options, /*in_memory=*/false);
}

void Module::train(bool on) {
  flags_.training = on;
  SetTraining set(on);
  children(set);
}

void Module::zero_grad() {
  for (const Tensor& t : parameters()) t.zero_grad();
}

void Module::to(Device device) { convert(*this, device, false); }

void Module::to(DType dtype) {
  if (!is_floating(dtype)) throw DTypeError(message("to: a module cannot be ", dtype));
  convert(*this, dtype, true);
}

void Module::refuse_moved_from() { throw ValueError("the module was moved from; assign another to it first"); }

std::string Module::name_of(const void* other) const {
  Find find;
  find.wanted = other;
  const_cast<Module*>(this)->children(find);
  return find.found;
}

// The exception left the module e.leaving() and now leaves this one: its name is looked up below us.
void Module::locate(Error& e) const {
  if (e.leaving() == this) return;
  if (e.leaving()) {
    const std::string name = name_of(e.leaving());
    if (!name.empty()) e.prepend(name);
  }
  e.leave(this);
}

}  // namespace tutti::nn
