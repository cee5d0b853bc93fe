// Batches on their way to the device while it computes.
#include "tutti/nn/data/loader.h"
#include "emulator.h"
#include "support/catch.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/backend.h"
#include "tutti/core/error.h"
#include "tutti/core/transfer.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"

using namespace tutti;

namespace {

/// Samples of 300 numbers each, all of them the sample's own.
data::TensorDataset numbers(int64_t n) {
  std::vector<float> rows;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < n; ++i) {
    rows.insert(rows.end(), 300, static_cast<float>(i));
    labels.push_back(i);
  }
  const Device before = default_device();
  set_default_device(cpu);
  data::TensorDataset made{Tensor::from(rows, {n, 300}), Tensor::from(labels, {n})};
  set_default_device(before);
  return made;
}

}  // namespace

TEST_CASE("cuda loader: batches arrive on the device, in order, without a wait") {
  const Device gpu = Device::cuda();
  const auto dataset = numbers(50);
  for (const int64_t prefetch : {0, 1, 3}) {
    data::Loader loader(dataset, {.batch_size = 8, .prefetch = prefetch, .device = gpu});
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<Tensor> kept;
      int64_t sample = 0;
      for (auto& [input, label] : loader) {
        REQUIRE(input.device() == gpu);
        kept.push_back(mul(input, 2));
        const auto labels = label.to_vector<int64_t>();
        for (int64_t l : labels) CHECK(l == sample++);
      }
      CHECK(sample == 50);
      for (size_t i = 0; i < kept.size(); ++i) {
        CHECK(kept[i].at({0, 0}) == 16 * static_cast<double>(i));
        CHECK(kept[i].at({kept[i].size(0) - 1, 299}) ==
              2 * (8 * static_cast<double>(i) + static_cast<double>(kept[i].size(0)) - 1));
      }
    }
  }
}

TEST_CASE("cuda loader: the consumer waits for nothing") {
  const Device gpu = Device::cuda();
  const auto dataset = numbers(64);
  data::Loader loader(dataset, {.batch_size = 8, .prefetch = 0, .device = gpu});
  for (auto& batch : loader) (void)mul(batch.input, 2);  // pinned memory is taken
  synchronize(gpu);
  const auto before = emulator::counters().host_waits;
  int batches = 0;
  for (auto& batch : loader) {
    (void)mul(batch.input, 2);
    if (++batches == 7) break;  // each has memory of its own, two a batch: the 17th copy waits for the first
  }
  CHECK(emulator::counters().host_waits == before);
  synchronize(gpu);
}

TEST_CASE("cuda loader: a pass that is left early, and another device") {
  const auto dataset = numbers(40);
  {
    data::Loader loader(dataset, {.batch_size = 4, .prefetch = 4, .device = Device::cuda()});
    for (auto& batch : loader) {
      (void)mul(batch.input, 2);
      break;
    }
  }
  synchronize(Device::cuda());
  if (cuda_device_count() < 2) return;
  data::Loader loader(dataset, {.batch_size = 4, .device = Device::cuda(1)});
  int64_t batches = 0;
  for (auto& batch : loader) {
    CHECK(batch.input.device() == Device::cuda(1));
    CHECK(batch.input.at({3, 0}) == 4 * static_cast<double>(batches++) + 3);
  }
  CHECK(batches == 10);
}

TEST_CASE("cuda transfer: the values are there for what comes after arrive()") {
  const Device gpu = Device::cuda();
  for (const int64_t n : {0, 1, 31, 33, 97, 40000}) {
    std::vector<float> host(static_cast<size_t>(n), 1.5f);
    const Output there = output({n}, DType::float32, gpu);
    Transfer transfer(gpu, there.data(), host.data(), host.size() * sizeof(float));
    std::fill(host.begin(), host.end(), 0.f);  // it is free
    transfer.arrive();
    const Tensor twice = mul(no_gradient(there), 2);
    for (const float v : twice.to_vector<float>()) REQUIRE(v == 3);
  }
}
