#include "tutti/backends/cuda/complaint.h"

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "tutti/backends/contract/view.h"
#include "tutti/backends/cuda/capture.h"
#include "tutti/backends/cuda/runtime.h"
#include "tutti/core/cuda_check.h"

namespace tutti::cuda {
namespace {

struct PerDevice {
  std::once_flag once;
  Complaint* complaint = nullptr;
  std::atomic<bool> pending = false;
  std::atomic<unsigned long long> checks = 0;
};

/// Of this thread's device. Never destroyed, like streams.
PerDevice& here() {
  static auto& devices = *new std::array<PerDevice, 128>;
  return devices[static_cast<size_t>(device())];
}

void clear(Complaint* complaint) {
  check(cudaMemsetAsync(complaint, 0, sizeof(Complaint), main_stream()), "cudaMemsetAsync");
}

/// A copy of the name that lives for ever: the operation may be over when its complaint is read.
const char* kept(const char* name) {
  static auto& names = *new std::set<std::string, std::less<>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto found = names.find(std::string_view(name));
  return (found != names.end() ? found : names.emplace(name).first)->c_str();
}

const char* text(unsigned long long address) { return reinterpret_cast<const char*>(static_cast<uintptr_t>(address)); }

}  // namespace

void prepare_checks() {
  PerDevice& d = here();
  std::call_once(d.once, [&] {
    check(cudaMalloc(reinterpret_cast<void**>(&d.complaint), sizeof(Complaint)), "cudaMalloc");
    clear(d.complaint);
  });
}

Check begin_check(const char* op, const char* what, int64_t limit) {
  prepare_checks();
  PerDevice& d = here();
  return {d.complaint, ++d.checks, kept(op), what, limit};
}

void end_check() {
  if (captured().stream) return;  // nothing runs yet
  here().pending = true;
  if (cuda_checks_at_once()) wait();
}

void end_replay() {
  if (here().checks == 0) return;
  here().pending = true;
  if (cuda_checks_at_once() && !captured().stream) wait();
}

bool fetch_complaint(Complaint* complaint) {
  PerDevice& d = here();
  if (!d.pending.exchange(false)) return false;
  check(cudaMemcpyAsync(complaint, d.complaint, sizeof *complaint, cudaMemcpyDeviceToHost, stream()),
        "cudaMemcpyAsync");
  return true;
}

void throw_complaint(const Complaint& c) {
  if (c.check == 0) return;
  clear(here().complaint);
  constexpr unsigned long long low = (1ull << 24) - 1;
  const unsigned long long value = (c.parts[0] & low) << 40 | (c.parts[1] & low) << 16 | (c.parts[2] & low);
  const unsigned long long position = ~c.parts[0] >> 24;
  throw_index_error(text(c.op), text(c.what), static_cast<int64_t>(value), static_cast<int64_t>(position),
                    static_cast<int64_t>(c.limit));
}

}  // namespace tutti::cuda
