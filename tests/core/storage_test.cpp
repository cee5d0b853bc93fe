// The caching allocator: reuse, splitting and merging, exact statistics, out of memory, several threads.
#include "tutti/core/storage.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/on_cpu.h"
#include "tutti/core/detail/allocator.h"
#include "tutti/core/error.h"
#include "tutti/core/scratch.h"
#include "tutti/core/tensor.h"

using namespace tutti;
using memory::Allocator;
using memory::Block;

#if defined(__SANITIZE_ADDRESS__)
#define TUTTI_TEST_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TUTTI_TEST_ASAN
#endif
#endif
#ifdef TUTTI_TEST_ASAN
#include <sanitizer/asan_interface.h>

TEST_CASE("the address sanitizer sees the use of a dropped tensor, and what lies behind a living one") {
  for (int64_t n : {13, 5000, 300000}) {
    Tensor x = Tensor::from(std::vector<uint8_t>(static_cast<size_t>(n), 1), {n}, cpu);
    const auto* p = x.data<uint8_t>();
    CHECK_FALSE(__asan_address_is_poisoned(p + n - 1));
    CHECK(__asan_address_is_poisoned(p + n));
    x = Tensor();
    CHECK(__asan_address_is_poisoned(p));
    CHECK(__asan_address_is_poisoned(p + n - 1));
  }
}
#endif

namespace {

// A device with little memory, which counts what it lends.
size_t room = 0, lent = 0, discarded = 0;
const Backend tiny_device{
    .name = "tiny",
    .segment = size_t{64} << 20,
    .granule = 64,
    .guard = 0,
    .count = [] { return 1; },
    .select = nullptr,
    .allocate = [](int, size_t bytes) -> void* {
      if (lent + bytes > room) return nullptr;
      lent += bytes;
      return std::aligned_alloc(64, bytes);
    },
    .free =
        [](int, void* p, size_t bytes) {
          lent -= bytes;
          std::free(p);
        },
    .discard = [](void*, size_t bytes) { discarded += bytes; },
    .mark = nullptr,
    .copy = nullptr,
    .synchronize = nullptr,
};
constexpr size_t MB = size_t{1} << 20;

void set_room(size_t bytes) {
  room = bytes;
  lent = discarded = 0;
}

}  // namespace

TEST_CASE("blocks are aligned, apart, and counted in multiples of 64 bytes") {
  set_room(400 * MB);
  Allocator a(cpu, tiny_device);
  std::vector<Block*> blocks;
  size_t bytes = 0, expected = 0;
  for (size_t n : {1, 63, 64, 65, 1000, 4096, 32768, 32769, 100000, 3000000}) {
    bytes = n;
    blocks.push_back(a.take(bytes));
    CHECK(reinterpret_cast<uintptr_t>(blocks.back()->data) % 64 == 0);
    std::memset(blocks.back()->data, static_cast<int>(blocks.size()), bytes);
    expected += (bytes + 63) / 64 * 64;
    CHECK(a.stats().current == expected);
    CHECK(a.stats().peak == expected);
    CHECK(a.stats().allocations == blocks.size());
  }
  for (size_t i = 0; i < blocks.size(); ++i) CHECK(blocks[i]->data[0] == static_cast<char>(i + 1));
  for (Block* b : blocks) a.give(b);
  CHECK(a.stats().current == 0);
  CHECK(a.stats().peak == expected);
  CHECK(a.stats().cached >= expected);
  a.reset_peak();
  CHECK(a.stats().peak == 0);
  a.release_cached();
  CHECK(a.stats().cached == 0);
  CHECK(lent == 0);
}

TEST_CASE("a block that came back is used again") {
  set_room(200 * MB);
  Allocator a(cpu, tiny_device);
  for (size_t bytes : {size_t{100}, size_t{20000}, size_t{50000}, 5 * MB}) {
    Block* first = a.take(bytes);
    void* const data = first->data;
    a.give(first);
    const auto before = a.stats();
    Block* second = a.take(bytes);
    CHECK(second->data == data);
    CHECK(a.stats().from_cache == before.from_cache + 1);
    a.give(second);
  }
}

TEST_CASE("free neighbours merge, and the smallest fitting block is taken") {
  set_room(64 * MB);
  Allocator a(cpu, tiny_device);
  std::vector<Block*> b;
  for (size_t mb : {8, 4, 12, 4, 6, 4}) b.push_back(a.take(mb * MB));
  char* const holes[] = {b[0]->data, b[2]->data, b[4]->data};
  for (int i : {0, 2, 4}) a.give(b[static_cast<size_t>(i)]);
  Block* five = a.take(5 * MB);
  CHECK(five->data == holes[2]);
  Block* nine = a.take(9 * MB);
  CHECK(nine->data == holes[1]);
  a.give(five);
  a.give(nine);
  a.give(b[1]);  // joins the 8 and 12 MB on its sides
  Block* all = a.take(24 * MB);
  CHECK(all->data == holes[0]);
  a.give(all);
  CHECK(lent == 64 * MB);  // one segment was enough for everything
  a.give(b[3]);
  a.give(b[5]);
}

TEST_CASE("cached counts only memory that was ever used") {
  set_room(200 * MB);
  Allocator a(cpu, tiny_device);
  Block* x = a.take(10 * MB);
  CHECK(a.stats().cached == 0);  // the rest of the segment was never touched
  Block* y = a.take(2 * MB);
  a.give(x);
  CHECK(a.stats().cached >= 10 * MB);
  CHECK(a.stats().cached < 10 * MB + 4096);
  a.release_cached();  // the segment is in use, its free part is given up
  CHECK(a.stats().cached == 0);
  CHECK(discarded >= 10 * MB);
  CHECK(a.stats().current == 2 * MB);
  a.give(y);
}

TEST_CASE("out of memory: the cache is given up first, then an error names the size") {
  set_room(100 * MB);
  Allocator a(cpu, tiny_device);
  a.give(a.take(60 * MB));
  CHECK(lent > 0);
  Block* big = a.take(90 * MB);  // fits only once the cached segment is gone
  CHECK(lent <= 100 * MB);
  const auto before = a.stats();
  REQUIRE_THROWS_AS(a.take(50 * MB), MemoryError);
  REQUIRE_THROWS_WITH(a.take(50 * MB), "out of memory on cpu: 52428800 bytes asked for (94371840 in use)");
  REQUIRE_THROWS_WITH(a.take(SIZE_MAX), "out of memory on cpu: 18446744073709551615 bytes asked for (94371840 in use)");
  CHECK(a.stats().current == before.current);
  CHECK(a.stats().allocations == before.allocations);
  a.give(big);
  REQUIRE_THROWS_AS(output({int64_t{1} << 50}, DType::float32, cpu), MemoryError);
  REQUIRE_THROWS_WITH(output({int64_t{1} << 50}, DType::float32, cpu), Contains("4503599627370496 bytes asked for"));
  // Addresses for this much exist, memory does not.
  REQUIRE_THROWS_WITH(output({int64_t{1} << 46}, DType::uint8, cpu), Contains("70368744177664 bytes asked for"));
}

TEST_CASE("random traffic keeps blocks apart and the books right") {
  set_room(4096 * MB);
  Allocator a(cpu, tiny_device);
  std::mt19937 random(7);
  struct Live {
    Block* block;
    size_t bytes;
    unsigned char mark;
  };
  std::vector<Live> live;
  size_t expected = 0, peak = 0;
  const auto drop = [&](size_t i) {
    const Live x = live[i];
    live[i] = live.back();
    live.pop_back();
    for (size_t k : {size_t{0}, x.bytes / 2, x.bytes - 1})
      REQUIRE(static_cast<unsigned char>(x.block->data[k]) == x.mark);
    expected -= (x.bytes + 63) / 64 * 64;
    a.give(x.block);
  };
  for (int step = 0; step < 20000; ++step) {
    if (live.size() < 60 && (live.empty() || random() % 2)) {
      const size_t bytes = 1 + random() % (random() % 4 ? 3000 : random() % 4 ? 300000 : 5000000);
      Block* block = a.take(bytes);
      const auto mark = static_cast<unsigned char>(random());
      for (size_t k : {size_t{0}, bytes / 2, bytes - 1}) block->data[k] = static_cast<char>(mark);
      live.push_back({block, bytes, mark});
      expected += (bytes + 63) / 64 * 64;
      peak = std::max(peak, expected);
    } else {
      drop(random() % live.size());
    }
    REQUIRE(a.stats().current == expected);
    if (step % 5000 == 4999) a.release_cached();
  }
  CHECK(a.stats().peak == peak);
  while (!live.empty()) drop(0);
  a.release_cached();
  CHECK(a.stats().cached == 0);
  CHECK(lent == 0);
}

TEST_CASE("a repeated pattern of sizes, as training steps have, settles near its peak") {
  set_room(1024 * MB);
  Allocator a(cpu, tiny_device);
  const auto step = [&] {
    std::vector<Block*> saved;
    for (size_t layer = 0; layer < 8; ++layer) {
      for (size_t n : {3 * MB, MB, 4 * MB, MB / 8, size_t{5000}}) saved.push_back(a.take(n + layer * 64));
      a.give(a.take(2 * MB));
    }
    for (; !saved.empty(); saved.pop_back()) {
      a.give(a.take(3 * MB));
      a.give(saved.back());
    }
  };
  for (int i = 0; i < 3; ++i) step();
  const size_t cached = a.stats().cached;
  const size_t missed = a.stats().allocations - a.stats().from_cache;
  for (int i = 0; i < 20; ++i) step();
  CHECK(a.stats().cached == cached);
  CHECK(a.stats().allocations - a.stats().from_cache == missed);
  CHECK(static_cast<double>(cached) < 1.05 * static_cast<double>(a.stats().peak));
}

TEST_CASE("several threads allocate at once") {
  const tutti_test::OnCpu here;
  const auto before = memory::stats();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::mt19937 random(t);
      std::vector<Output> live;
      for (int i = 0; i < 3000; ++i) {
        live.push_back(output({static_cast<int64_t>(1 + random() % 20000)}, DType::uint8, cpu));
        *live.back().data<uint8_t>() = 1;
        if (live.size() > 20) live.erase(live.begin() + static_cast<long>(random() % live.size()));
      }
    });
  for (auto& t : threads) t.join();
  CHECK(memory::stats().current == before.current);
  CHECK(memory::stats().allocations == before.allocations + 4 * 3000);
}

TEST_CASE("memory::stats counts tensors and scratch of the device") {
  const tutti_test::OnCpu here;
  memory::reset_peak();
  const auto before = memory::stats();
  {
    const Output x = output({1000, 1000}, DType::float32, cpu);
    CHECK(memory::stats().current == before.current + 4'000'000);
    const Output none = output({0, 5}, DType::float32, cpu);
    CHECK(none.data() != nullptr);
    const Scratch scratch(100);
    CHECK(memory::stats().current == before.current + 4'000'128);
  }
  CHECK(memory::stats().current == before.current);
  CHECK(memory::stats().peak == before.current + 4'000'128);
  memory::reset_peak();
  CHECK(memory::stats().peak == before.current);
  CHECK(memory::stats().cached >= 4'000'000);
  REQUIRE_THROWS_AS(memory::stats({DeviceType::cuda, 99}), DeviceError);
}
