// Philox against Random123's published vectors, and the generator's streams.
#include "tutti/core/generator.h"

#include <set>

#include "support/catch.h"
#include "tutti/core/philox.h"

using namespace tutti;

TEST_CASE("philox gives Random123's known answers") {
  // kat_vectors of Random123 1.14, "philox4x32 10": counter words 0-3, key words 0-1, result.
  const struct {
    uint32_t counter[4], key[2], result[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  const auto join = [](uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; };
  for (const auto& k : known) {
    const RandomKey key{join(k.key[0], k.key[1]), join(k.counter[2], k.counter[3])};
    const Philox4 got = philox(key, join(k.counter[0], k.counter[1]));
    for (int i = 0; i < 4; ++i) CHECK(got.v[i] == k.result[i]);
  }
}

TEST_CASE("random words become numbers from 0 to below 1") {
  CHECK(uniform01(0u) == 0.0f);
  CHECK(uniform01(0xffffffffu) == 1.0f - 0x1p-24f);
  CHECK(uniform01(0x80000000u) == 0.5f);
  CHECK(uniform01(0u, 0u) == 0.0);
  CHECK(uniform01(0xffffffffu, 0xffffffffu) == 1.0 - 0x1p-53);
  CHECK(uniform01(0x80000000u, 0u) == 0.5);
}

TEST_CASE("a generator hands out one stream after another") {
  Generator g(42);
  CHECK(g.seed() == 42);
  CHECK(g.position() == 0);
  const RandomKey a = g.next(), b = g.next();
  CHECK(a.seed == 42);
  CHECK(a.stream == 0);
  CHECK(b.stream == 1);
  g.set_position(7);
  CHECK(g.next().stream == 7);
  g.manual_seed(5);
  CHECK(g.next().seed == 5);
  CHECK(g.position() == 1);
  std::set<uint32_t> words;  // streams and seeds differ
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (uint64_t stream = 0; stream < 10; ++stream)
      for (uint64_t block = 0; block < 10; ++block) words.insert(philox({seed, stream}, block).v[0]);
  CHECK(words.size() == 1000);
}

TEST_CASE("manual_seed seeds the default generator") {
  const uint64_t seed = default_generator().seed(), position = default_generator().position();
  manual_seed(123);
  CHECK(default_generator().seed() == 123);
  CHECK(default_generator().position() == 0);
  manual_seed(seed);
  default_generator().set_position(position);
}
