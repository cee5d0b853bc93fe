// Datasets and the loader.
#include <set>

#include "support/files.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/nn/data/loader.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// Samples 0 .. n-1, labelled 10 i.
data::TensorDataset numbers(int64_t n) {
  const Tensor x = arange(0, static_cast<double>(n));
  return {reshape(x, {n, 1}), mul(x, 10)};
}

template <class T>
concept can_begin = requires(T&& loader) {
  std::forward<T>(loader).begin();
};

std::vector<std::vector<double>> epoch(data::Loader& loader) {
  std::vector<std::vector<double>> batches;
  for (auto& [input, label] : loader) {
    batches.push_back(input.to_vector<double>());
    const auto ten = label.to_vector<double>();
    for (size_t i = 0; i < ten.size(); ++i) CHECK(ten[i] == 10 * batches.back()[i]);
  }
  return batches;
}

std::vector<size_t> sizes(data::Loader& loader) {
  std::vector<size_t> v;
  for (const auto& b : epoch(loader)) v.push_back(b.size());
  return v;
}

struct Failing final : data::Dataset {
  int64_t size() const override { return 10; }
  data::Batch get(const std::vector<int64_t>& positions) const override {
    for (int64_t p : positions)
      if (p >= 6) throw ValueError(message("sample ", p, " is broken"));
    return {zeros({static_cast<int64_t>(positions.size())}), zeros({1})};
  }
};

}  // namespace

TEST_CASE("TensorDataset: rows of both tensors") {
  const data::TensorDataset d(Tensor::from({1, 2, 3, 4, 5, 6}, {3, 2}), Tensor::from({7, 8, 9}, {3}, DType::int64));
  CHECK(d.size() == 3);
  const data::Batch b = d.get({2, 0, 2});
  CHECK(b.input.to_vector<double>() == std::vector<double>{5, 6, 1, 2, 5, 6});
  CHECK(b.label.to_vector<int64_t>() == std::vector<int64_t>{9, 7, 9});
  REQUIRE_THROWS_WITH(d.get({0, 3}), "TensorDataset: position 3 (number 1 of the batch) is out of range for 3 samples");
  REQUIRE_THROWS_WITH(data::TensorDataset(zeros({3, 2}), zeros({2})),
                      "TensorDataset: input [3, 2] and label [2] do not have the same number of samples (first axis)");
  REQUIRE_THROWS_AS(data::TensorDataset(zeros({}), zeros({})), ShapeError);
  REQUIRE_THROWS_AS(data::TensorDataset(Tensor(), zeros({1})), ValueError);
}

TEST_CASE("Loader: sizes of batches") {
  for (int64_t prefetch : {0, 1, 2, 100}) {
    INFO("prefetch " << prefetch);
    const auto ten = numbers(10), none = numbers(0), eight = numbers(8);
    data::Loader all(ten, {.batch_size = 4, .prefetch = prefetch});
    CHECK(all.size() == 3);
    CHECK(sizes(all) == std::vector<size_t>{4, 4, 2});
    data::Loader full(ten, {.batch_size = 4, .drop_last = true, .prefetch = prefetch});
    CHECK(full.size() == 2);
    CHECK(sizes(full) == std::vector<size_t>{4, 4});
    data::Loader even(eight, {.batch_size = 4, .drop_last = true, .prefetch = prefetch});
    CHECK(sizes(even) == std::vector<size_t>{4, 4});
    data::Loader large(ten, {.batch_size = 64, .prefetch = prefetch});
    CHECK(sizes(large) == std::vector<size_t>{10});
    data::Loader endless(ten, {.batch_size = INT64_MAX, .prefetch = prefetch});
    CHECK(endless.size() == 1);
    CHECK(sizes(endless) == std::vector<size_t>{10});
    data::Loader empty(none, {.batch_size = 4, .shuffle = true, .prefetch = prefetch});
    CHECK(empty.size() == 0);
    CHECK(sizes(empty).empty());
    data::Loader dropped(ten, {.batch_size = 11, .drop_last = true, .prefetch = prefetch});
    CHECK(sizes(dropped).empty());
  }
  const auto d = numbers(1);
  REQUIRE_THROWS_WITH(data::Loader(d, {.batch_size = 0}), "Loader: batch_size is 0; it must be at least 1");
  REQUIRE_THROWS_WITH(data::Loader(d, {.prefetch = -1}), "Loader: prefetch is -1; it must not be negative");
}

TEST_CASE("Loader: the order depends on seed and epoch alone") {
  const auto d = numbers(50);
  const data::LoaderOptions options{.batch_size = 7, .shuffle = true, .seed = 3};
  data::Loader a(d, options);
  const auto first = epoch(a), second = epoch(a);
  CHECK(first != second);
  std::set<double> seen;
  for (const auto& b : first) seen.insert(b.begin(), b.end());
  CHECK(seen.size() == 50);

  data::LoaderOptions plain = options;
  plain.prefetch = 0;
  data::Loader b(d, plain);
  CHECK(epoch(b) == first);
  CHECK(b.epoch() == 1);
  CHECK(epoch(b) == second);
  b.set_epoch(0);
  set_num_threads(6);
  CHECK(epoch(b) == first);
  set_num_threads(0);
  data::Loader other(d, {.batch_size = 7, .shuffle = true, .seed = 4});
  CHECK(epoch(other) != first);
  REQUIRE_THROWS_WITH(b.set_epoch(-1), "Loader: epoch -1 is negative");
}

TEST_CASE("Loader: the transform gets a key of its own per batch, the same whoever prepares it") {
  const auto d = numbers(6);
  std::vector<std::vector<double>> runs;
  for (int64_t prefetch : {0, 2}) {
    data::Loader loader(
        d,
        {.batch_size = 2,
         .transform = [](const Tensor& x, RandomKey key) { return add(x, static_cast<double>(key.stream % 1000003)); },
         .prefetch = prefetch});
    std::vector<double> values;
    for (int e = 0; e < 2; ++e)
      for (auto& [input, label] : loader) values.push_back(input.at({0, 0}) - label.at({0}) / 10);
    CHECK(std::set<double>(values.begin(), values.end()).size() == 6);
    runs.push_back(values);
  }
  CHECK(runs[0] == runs[1]);
}

TEST_CASE("Loader: leaving early, starting again, and errors in the background") {
  for (int64_t prefetch : {0, 2}) {
    INFO("prefetch " << prefetch);
    const auto d = numbers(100);
    data::Loader loader(d, {.batch_size = 2, .prefetch = prefetch});
    for (int i = 0; i < 20; ++i)
      for (auto& [input, label] : loader) {
        CHECK(input.at({0, 0}) == 0);
        break;
      }
    auto old = loader.begin();
    CHECK(sizes(loader).size() == 50);
    REQUIRE_THROWS_WITH(++old, "Loader: this iterator's epoch is over, since another begin() started the next");

    const Failing failing;
    data::Loader broken(failing, {.batch_size = 2, .prefetch = prefetch});
    for (int again = 0; again < 2; ++again) {
      int64_t good = 0;
      try {
        for (auto& batch : broken) good += batch.input.numel();
        FAIL("no error");
      } catch (const ValueError& e) {
        CHECK(std::string(e.what()) == "sample 6 is broken");
      }
      CHECK(good == 6);
    }
  }
}

TEST_CASE("Loader: an epoch has the samples that there were when it began") {
  struct Growing : data::Dataset {
    mutable int64_t samples = 4;
    int64_t size() const override { return samples; }
    data::Batch get(const std::vector<int64_t>& positions) const override {
      samples += 10;
      const Tensor x = zeros({static_cast<int64_t>(positions.size())});
      return {x, x};
    }
  } growing;
  data::Loader loader(growing, {.batch_size = 2, .prefetch = 0});
  int batches = 0;
  for (auto& batch : loader) batches += static_cast<int>(batch.input.numel());
  CHECK(batches == 4);
}

TEST_CASE("Loader: a temporary data set, and an iterator of a temporary loader, do not compile") {
  using data::Loader;
  using data::TensorDataset;
  STATIC_REQUIRE(std::is_constructible_v<Loader, TensorDataset&, data::LoaderOptions>);
  STATIC_REQUIRE(std::is_constructible_v<Loader, const TensorDataset&>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Loader, TensorDataset, data::LoaderOptions>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Loader, TensorDataset>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Loader, const TensorDataset>);
  STATIC_REQUIRE_FALSE(can_begin<Loader>);
  STATIC_REQUIRE(can_begin<Loader&>);
}

TEST_CASE("TensorDataset: tensors that require a gradient are refused, since batches do not carry it") {
  const Tensor x = ones({3, 2}).requires_grad_();
  REQUIRE_THROWS_WITH(data::TensorDataset(x, zeros({3})),
                      "TensorDataset: input of shape [3, 2] requires a gradient, which its batches do not carry; "
                      "detach() it");
  REQUIRE_THROWS_AS(data::TensorDataset(zeros({3}), x * 2.0), AutogradError);
}
