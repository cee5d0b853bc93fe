// A loader's place: amid an epoch, at its end, between two.
#include "support/op_test.h"
#include "tutti/nn/data/loader.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/random.h"

using namespace tutti;
using State = std::map<std::string, Tensor>;

namespace {

using Batches = std::vector<std::vector<double>>;

data::TensorDataset numbers(int64_t n) {
  const Tensor x = arange(0, n, 1, {.dtype = DType::float64});
  return {x, x};
}

/// The next `count` batches of whatever loops it takes, with noise of the transform's.
Batches batches(data::Loader& loader, size_t count, State* state = nullptr) {
  Batches list;
  while (list.size() < count)
    for (auto& [input, label] : loader) {
      list.push_back(input.to_vector<double>());
      if (state && list.size() == count) *state = loader.state_dict();
      if (list.size() == count) break;
    }
  return list;
}

}  // namespace

TEST_CASE("loader state: the next loader goes on with the same batches, wherever the first was") {
  const auto d = numbers(10);
  const auto noisy = [](const Tensor& x, RandomKey key) {
    Generator g(key.seed);
    g.set_position(key.stream);
    return x + rand(x.shape(), {.dtype = DType::float64}, g);
  };
  for (const int64_t prefetch : {0, 2}) {
    const data::LoaderOptions options{
        .batch_size = 4, .shuffle = true, .seed = 5, .transform = noisy, .prefetch = prefetch};
    data::Loader straight(d, options);
    const Batches all = batches(straight, 9);
    for (size_t k = 1; k < 9; ++k) {
      INFO("prefetch " << prefetch << ", " << k << " batches");
      data::Loader first(d, options), second(d, options);
      State state;
      (void)batches(first, k, &state);
      second.load_state_dict(state);
      CHECK(second.state_dict().at("batch").item() == state.at("batch").item());
      CHECK(batches(second, 9 - k) == Batches(all.begin() + static_cast<std::ptrdiff_t>(k), all.end()));
    }
  }
}

TEST_CASE("loader state: after the last batch the loop is over, as it was") {
  const auto d = numbers(4);
  data::Loader loader(d, {.batch_size = 2}), next(d, {.batch_size = 2});
  State last;
  for (auto& batch : loader) {
    (void)batch;
    last = loader.state_dict();
  }
  CHECK(loader.state_dict().at("epoch").item() == 1);
  CHECK(loader.state_dict().at("batch").item() == 0);
  next.load_state_dict(last);
  int64_t count = 0;
  for (auto& batch : next) count += batch.input.size(0);
  CHECK(count == 0);  // what a program does at the end of an epoch comes now
  CHECK(next.epoch() == 1);
  for (auto& batch : next) count += batch.input.size(0);
  CHECK(count == 4);
}

TEST_CASE("loader state: a loop that was left is over") {
  const auto d = numbers(8);
  data::Loader loader(d, {.batch_size = 2});
  for (auto& batch : loader) {
    CHECK(batch.input.size(0) == 2);
    CHECK(loader.state_dict().at("batch").item() == 1);
    CHECK(loader.state_dict().at("epoch").item() == 0);
    break;
  }
  CHECK(loader.state_dict().at("batch").item() == 0);
  CHECK(loader.state_dict().at("epoch").item() == 1);
  loader.set_epoch(7);
  CHECK(loader.state_dict().at("epoch").item() == 7);
}

TEST_CASE("loader state: amid an epoch the rest must be the same, between two anything goes") {
  const auto d = numbers(8), longer = numbers(9);
  data::Loader loader(d, {.batch_size = 2, .seed = 1});
  State amid;
  (void)batches(loader, 1, &amid);
  const auto refused = [&](data::Loader& other, const std::string& what) {
    REQUIRE_THROWS_WITH(other.load_state_dict(amid),
                        "Loader: load_state_dict: amid an epoch, of which 1 batches were seen, " + what +
                            ": the rest of it would be others");
    CHECK(other.epoch() == 0);
    other.load_state_dict(loader.state_dict());
    CHECK(other.epoch() == 1);
  };
  data::Loader wider(d, {.batch_size = 4, .seed = 1}), seeded(d, {.batch_size = 2, .seed = 2}),
      shuffled(d, {.batch_size = 2, .shuffle = true, .seed = 1}), grown(longer, {.batch_size = 2, .seed = 1});
  refused(wider, "batch_size was 2 and is now 4");
  refused(seeded, "seed was 1 and is now 2");
  refused(shuffled, "shuffle was 0 and is now 1");
  refused(grown, "samples was 8 and is now 9");
  amid.erase("seed");
  REQUIRE_THROWS_WITH(loader.load_state_dict(amid), "Loader: load_state_dict: the state has no \"seed\"");
}
