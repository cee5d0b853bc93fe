// Modules in a row.
#pragma once
#include "tutti/nn/module.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

/// `Sequential model(Linear({.in = 4, .out = 8}), GELU(), Linear({.in = 8, .out = 2}))`: each takes and gives one
/// Tensor. Copies copy their modules; assigning a copy (`model = best`) assigns module to module where the two have the
/// same type, so that an optimizer keeps hold of their tensors, and copies the others; the copies come first, and one
/// that throws changes nothing. Children are named "0", "1", ...
class Sequential : public Callable<Sequential> {
 public:
  template <class... M>
  explicit Sequential(M... modules) {
    (add(std::move(modules)), ...);
  }
  template <class M>
  void add(M module) {
    steps_.push_back(std::make_unique<Holder<M>>(std::move(module)));
  }
  Sequential(const Sequential& other);
  Sequential& operator=(const Sequential& other);
  Sequential(Sequential&&) noexcept = default;
  Sequential& operator=(Sequential&&) noexcept = default;
  void children(Visitor& visit) override;
  Tensor forward(const Tensor& x);
  size_t size() const { return steps_.size(); }

 private:
  struct Step {
    virtual ~Step() = default;
    virtual Module& module() = 0;
    virtual Tensor call(const Tensor& x) = 0;
    virtual std::unique_ptr<Step> copy() const = 0;
    virtual bool like(const Step& other) const = 0;  // of the same type, which can be assigned
    virtual void assign(const Step& other) = 0;      // one that is like this
  };
  template <class M>
  struct Holder final : Step {
    explicit Holder(M m) : held(std::move(m)) {}
    Module& module() override { return held; }
    Tensor call(const Tensor& x) override { return held(x); }
    std::unique_ptr<Step> copy() const override { return std::make_unique<Holder>(held); }
    bool like(const Step& other) const override {
      return std::is_copy_assignable_v<M> && dynamic_cast<const Holder*>(&other);
    }
    void assign(const Step& other) override {
      if constexpr (std::is_copy_assignable_v<M>) held = static_cast<const Holder&>(other).held;
    }
    M held;
  };
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace tutti::nn
#pragma GCC visibility pop
