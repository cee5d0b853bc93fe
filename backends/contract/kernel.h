// The registry of kernels is the linker. A kernel is declared once,
//     struct softmax_forward : Kernel<softmax_forward> { template <class Target> static void run(ConstRows x, Rows y);
//     };
// defined once per target as `template <> void softmax_forward::run<Here>(...)`, and called by ops as
// `softmax_forward::on(x.device())(...)`. A kernel that is forgotten is a link error that names it and the target.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

#include "tutti/config.h"
#include "tutti/core/device.h"

#pragma GCC visibility push(default)
namespace tutti {

namespace target {  // config.h adds one name per CPU instruction set, lowest first
struct any_cpu {};  // kernels that are the same on every instruction set (calls into oneDNN, plain copies)
struct cuda {};
}  // namespace target

namespace isa {
/// The instruction sets of this build, lowest first ("sse2", "avx2", "avx512").
inline constexpr std::array names = config::isa_names;
/// The one in use, as an index into `names`: what the CPU and the OS support, or what TUTTI_ISA says (empty is unset).
/// ValueError if TUTTI_ISA names none of them or one that this CPU lacks. The argument is never given: it makes the
/// list of targets a part of the symbol, so that headers of a build for other targets do not link with this one.
int level(config::CpuTargets = {});
/// The highest that this CPU and OS support.
int supported();
/// For tests: from now on use this one. ValueError if unsupported.
void force(int level);
}  // namespace isa

/// An intended gap: which targets a kernel has no version for, on purpose. Calling it there is a DeviceError.
enum class Gap { none, cuda };

namespace detail {
[[noreturn]] void missing(std::string_view kernel, Device device);
void enter(Device device);  ///< this thread launches there from now on
}  // namespace detail

/// Self::run must be a static template over the target. With `per_isa` false there is one CPU version, target::any_cpu.
template <class Self, Gap gap = Gap::none, bool per_isa = true>
struct Kernel {
  static auto on(Device device) {
    if constexpr (per_isa)
      return pick(config::CpuTargets{}, device);
    else
      return pick(config::TargetList<target::any_cpu>{}, device);
  }

 private:
  template <class... Cpu>
  static auto pick(config::TargetList<Cpu...>, Device device) {
    static constexpr std::array table{&Self::template run<Cpu>..., cuda()};
    const bool on_cpu = device.type == DeviceType::cpu;
    const auto run = table[!on_cpu ? sizeof...(Cpu) : per_isa ? static_cast<size_t>(isa::level()) : 0];
    if (!run) detail::missing(name(), device);
    if (!on_cpu) detail::enter(device);
    return run;
  }
  static constexpr auto cuda() {
    using Function = decltype(&Self::template run<target::cuda>);
    if constexpr (gap == Gap::cuda || !config::cuda)
      return Function{nullptr};
    else
      return &Self::template run<target::cuda>;
  }
  static constexpr std::string_view name() {  // "... [with Self = tutti::kernel::softmax_forward; ..."
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("Self = ") + 7);
    return text.substr(0, text.find_first_of(",;]"));
  }
};

}  // namespace tutti
#pragma GCC visibility pop
