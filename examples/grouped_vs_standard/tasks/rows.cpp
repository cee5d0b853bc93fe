#include "grouped_vs_standard/tasks/rows.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "grouped_vs_standard/tasks/draws.h"
#include "tutti/core/error.h"
#include "tutti/ops/index.h"
#include "tutti/ops/random.h"

namespace comparison {
namespace {

using Positions = std::vector<int64_t>;

const uint64_t rows_stream = part_key(60, Part::train).stream;  // 60: a number that no generated task has

int64_t validation_size(int64_t beside_test) { return beside_test / 4; }

/// How many of `pool` each class gives when `count` are taken: largest remainders, ties to the smaller class number.
std::map<int64_t, int64_t> quotas(const Positions& pool, const Positions& labels, int64_t count) {
  std::map<int64_t, int64_t> sizes, result;
  for (const int64_t row : pool) ++sizes[labels[static_cast<size_t>(row)]];
  const int64_t total = static_cast<int64_t>(pool.size());
  std::vector<std::pair<int64_t, int64_t>> remainders;  // (-remainder, class)
  int64_t left = count;
  for (const auto& [label, size] : sizes) {
    left -= result[label] = size * count / total;
    remainders.emplace_back(-(size * count % total), label);
  }
  std::sort(remainders.begin(), remainders.end());
  for (size_t i = 0; left > 0; ++i, --left) ++result[remainders[i].second];
  return result;
}

/// Moves the first `count` positions, or each class's first by its quota, out of `pool`.
Positions take(Positions& pool, const Positions& labels, int64_t count, bool stratified) {
  Positions taken, rest;
  auto left = stratified ? quotas(pool, labels, count) : std::map<int64_t, int64_t>{{0, count}};
  for (const int64_t row : pool) {
    int64_t& more = left[stratified ? labels[static_cast<size_t>(row)] : 0];
    (more > 0 ? taken : rest).push_back(row);
    --more;
  }
  pool = std::move(rest);
  return taken;
}

Rows rows_of(Positions pool, Positions test, const Positions& labels, const TaskSpec& spec,
             const RowsOptions& options) {
  Rows rows{{}, std::move(test)};
  if (spec.validation) rows.test = take(pool, labels, validation_size(std::ssize(pool)), options.stratified);
  rows.train = take(pool, labels, training_size(std::ssize(labels), spec, options), options.stratified);
  return rows;
}

Positions random_order(int64_t n, uint64_t seed) {
  tutti::Generator generator(seed);
  generator.set_position(rows_stream);
  return tutti::randperm(n, generator).to_vector<int64_t>();
}

}  // namespace

int64_t training_size(int64_t samples, const TaskSpec& spec, const RowsOptions& options) {
  int64_t most = samples - options.test;
  if (spec.validation) most -= validation_size(most);
  if (spec.train > most)
    throw tutti::ValueError(tutti::message("task ", spec.name, ": train is ", spec.train, ", but only ", most,
                                           " samples are not tested on"));
  return spec.train > 0 ? spec.train : options.train > 0 ? std::min(options.train, most) : most;
}

Rows random_rows(const tutti::Tensor& labels, const TaskSpec& spec, uint64_t seed, const RowsOptions& options) {
  Positions pool = random_order(labels.size(0), seed);
  const Positions classes = labels.to_vector<int64_t>();
  Positions test = take(pool, classes, options.test, options.stratified);
  return rows_of(std::move(pool), std::move(test), classes, spec, options);
}

Rows rows_before_last(const tutti::Tensor& labels, const TaskSpec& spec, uint64_t seed, const RowsOptions& options) {
  const int64_t before = labels.size(0) - options.test;
  Positions test(static_cast<size_t>(options.test));
  for (int64_t i = 0; i < options.test; ++i) test[static_cast<size_t>(i)] = before + i;
  return rows_of(random_order(before, seed), std::move(test), labels.to_vector<int64_t>(), spec, options);
}

Sample samples_at(const tutti::Tensor& x, const tutti::Tensor& y, const Rows& rows) {
  const auto part = [&](const Positions& positions) {
    const tutti::Tensor index = tutti::Tensor::from(positions, {static_cast<int64_t>(positions.size())});
    return Split{tutti::index_select(x, 0, index), tutti::index_select(y, 0, index)};
  };
  return {part(rows.train), part(rows.test)};
}

tutti::Tensor fixed_permutation(int64_t n) {
  tutti::Generator generator(0);
  generator.set_position(rows_stream + 1);
  return tutti::randperm(n, generator);
}

}  // namespace comparison
