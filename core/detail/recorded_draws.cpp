#include "tutti/core/detail/recorded_draws.h"

#include "tutti/core/error.h"

namespace tutti {
namespace {

std::atomic<uint64_t> recordings{0};

}  // namespace

RecordedDraws::RecordedDraws(Device device)
    : device_(device), number_(++recordings), starts_(std::make_unique<Storage>(device, most * sizeof(RandomKey))) {}

RecordedDraws::~RecordedDraws() {
  if (!sequences_.empty()) (void)starts_.release();  // 256 bytes; nobody knows which gradients there are
}

DrawKey& RecordedDraws::next(Generator& generator) {
  for (Sequence& s : sequences_)
    if (s.generator == &generator) return s.next;
  if (sequences_.size() == most)
    throw DeviceError(message("CudaGraph: the step draws from more than ", most, " generators"));
  const auto* start = static_cast<const RandomKey*>(starts_->data) + sequences_.size();
  sequences_.push_back({&generator, {{0, 0}, start}});
  return sequences_.back().next;
}

void RecordedDraws::go_on() {
  if (sequences_.empty()) return;
  RandomKey starts[most];
  size_t n = 0;
  for (const auto& [generator, next] : sequences_)
    starts[n++] = {generator->seed_, generator->stream_.fetch_add(next.key.stream, std::memory_order_relaxed)};
  backend(device_).copy(starts_->data, device_, starts, cpu, n * sizeof(RandomKey));
}

}  // namespace tutti
