#include "tutti/core/generator.h"

#include "tutti/core/cuda_graph.h"
#include "tutti/core/detail/recorded_draws.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

void refuse_setting() {
  throw DeviceError(
      "CudaGraph: the step sets a generator's seed or position, which a replay would not do; set it between replays");
}

}  // namespace

Generator::Generator(uint64_t seed) : seed_(seed) {
  if (Recording* now = Recording::current()) made_in_ = now->draws().number();
}

/// Of a step that this thread records. Null if there is none, or if the step made the generator itself: then it draws
/// the same each time.
RecordedDraws* Generator::recorded() const {
  Recording* const now = Recording::current();
  return now && now->draws().number() != made_in_ ? &now->draws() : nullptr;
}

void Generator::manual_seed(uint64_t seed) {
  if (recorded()) refuse_setting();
  seed_ = seed;
  stream_ = 0;
}

void Generator::set_position(uint64_t stream) {
  if (recorded()) refuse_setting();
  stream_ = stream;
}

RandomKey Generator::next() {
  if (recorded()) [[unlikely]]
    throw DeviceError("CudaGraph: the step draws random numbers on the host, which would not do so in a replay");
  return {seed_, stream_.fetch_add(1, std::memory_order_relaxed)};
}

DrawKey Generator::next_for(const char* op, Device device) {
  RecordedDraws* const draws = recorded();
  if (!draws) [[likely]]
    return {next()};
  if (device != draws->device())
    throw DeviceError(message("CudaGraph: ", std::string_view(op), " draws random numbers on ", device,
                              " in a step that is recorded on ", draws->device(), ", and would not do so in a replay"));
  DrawKey& next = draws->next(*this);
  const DrawKey key = next;
  ++next.key.stream;
  return key;
}

DrawKey Generator::mark() {
  if (RecordedDraws* const draws = recorded()) return draws->next(*this);
  return {{seed_, stream_}};
}

void Generator::go_back(const DrawKey& mark) {
  if (RecordedDraws* const draws = recorded()) {
    draws->next(*this) = mark;
    return;
  }
  if (mark.start)
    throw DeviceError("CudaGraph: what was recorded draws its random numbers again outside of the recording");
  seed_ = mark.key.seed;
  stream_ = mark.key.stream;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }

}  // namespace tutti
