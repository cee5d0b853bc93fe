#include "grouped_vs_standard/study/train.h"

#include <cmath>
#include <numeric>

namespace comparison {

using namespace tutti;

namespace {

double percent(const std::vector<uint8_t>& correct) {
  return 100.0 * std::accumulate(correct.begin(), correct.end(), 0.0) / static_cast<double>(correct.size());
}

optim::Schedule schedule_of(const TrainingOptions& o) {
  const auto warmup = std::max<int64_t>(1, std::llround(o.warmup * static_cast<double>(o.steps)));
  const auto rest = o.constant_rate ? optim::constant() : optim::cosine(std::max<int64_t>(1, o.steps - warmup));
  return optim::chained(optim::linear_warmup(warmup), warmup, rest);
}

/// Mini-batches of the training part, shuffled anew every epoch; the last one of an epoch is dropped if it is smaller.
class Batches {
 public:
  Batches(const Split& split, int64_t batch, uint64_t seed)
      : split_(split), batch_(std::min(batch, split.y.size(0))), order_(seed ^ 0x6f72646572ULL) {}
  std::pair<Tensor, Tensor> next() {
    if (!permutation_.defined() || at_ + batch_ > permutation_.size(0)) {
      permutation_ = randperm(split_.y.size(0), order_);
      at_ = 0;
    }
    const Tensor which = slice(permutation_, 0, at_, at_ + batch_);
    at_ += batch_;
    return {index_select(split_.x, 0, which), index_select(split_.y, 0, which)};
  }

 private:
  const Split& split_;
  int64_t batch_, at_ = 0;
  Generator order_;
  Tensor permutation_;
};

}  // namespace

double Outcome::accuracy() const { return percent(correct); }

std::vector<optim::ParameterGroup> parameter_groups(const nn::Module& model, double weight_decay) {
  optim::ParameterGroup matrices{.weight_decay = weight_decay}, others{.weight_decay = 0};
  for (const Tensor& p : model.parameters()) (p.rank() > 1 ? matrices : others).parameters.push_back(p);
  return {matrices, others};
}

Tensor flops_share(const examples::Classifier& model) {
  Tensor total;
  double layers = 0;
  for (const examples::Block& block : model.blocks) {
    const auto* grouped = std::get_if<nn::GroupedMultiHeadAttention>(&block.attention);
    if (!grouped || !grouped->dynamic) continue;
    const Tensor share = grouped->dynamic->flops_share();
    total = total.defined() ? total + share : share;
    layers += 1;
  }
  return total.defined() ? total / layers : total;
}

std::vector<uint8_t> evaluate(examples::Classifier& model, const Task& task, const Split& split, int64_t items) {
  const no_grad off;
  const bool was_training = model.training();
  model.eval();
  const int64_t all = items < 0 ? split.y.size(0) : std::min(items, split.y.size(0)), batch = 250;
  std::vector<uint8_t> correct;
  for (int64_t begin = 0; begin < all; begin += batch) {
    const int64_t end = std::min(all, begin + batch);
    const Tensor x = task.tokens_of(slice(split.x, 0, begin, end), /*training=*/false);
    const auto right = eq(argmax(model(x), 1), slice(split.y, 0, begin, end)).to_vector<uint8_t>();
    correct.insert(correct.end(), right.begin(), right.end());
  }
  model.train(was_training);
  return correct;
}

std::unique_ptr<examples::Classifier> fresh_model(const Setting& setting, uint64_t seed) {
  manual_seed(seed);
  return std::make_unique<examples::Classifier>(completed(setting.model, *make_task(setting.task)));
}

Trained train(const Setting& setting, uint64_t seed, const KeepGoing& keep_going) {
  const TrainingOptions& o = setting.training;
  Trained run{nullptr, make_task(setting.task), {}, {}};
  run.data = run.task->sample(seed);
  run.model = fresh_model(setting, seed);
  examples::Classifier& model = *run.model;
  run.outcome.parameters = model.parameter_count();
  optim::AdamW optimizer(parameter_groups(model, o.weight_decay), {.lr = o.lr});
  optim::Scheduler schedule(optimizer, schedule_of(o));
  Batches batches(run.data.train, o.batch, seed);
  int64_t tested = 0;
  for (int64_t step = 0; step < o.steps; ++step) {
    if (keep_going && !keep_going(step)) return run;
    const auto [raw, labels] = batches.next();
    Tensor loss = cross_entropy(model(run.task->tokens_of(raw, /*training=*/true)), labels);
    run.outcome.losses.push_back(loss.item());
    if (!std::isfinite(run.outcome.losses.back())) {  // diverged: it stays so
      run.outcome.losses.resize(static_cast<size_t>(o.steps), std::nan(""));
      break;
    }
    if (o.flops_penalty != 0)
      if (const Tensor share = flops_share(model); share.defined()) loss = loss + share * o.flops_penalty;
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    schedule.step();
    while (tested < o.evaluations && (step + 1) * o.evaluations >= (tested + 1) * o.steps) {
      run.outcome.curve.push_back(percent(evaluate(model, *run.task, run.data.test, o.evaluation_items)));
      ++tested;
    }
  }
  run.outcome.curve.resize(static_cast<size_t>(o.evaluations), std::nan(""));
  run.outcome.train_accuracy = percent(evaluate(model, *run.task, run.data.train));
  run.outcome.correct = evaluate(model, *run.task, run.data.test);
  return run;
}

namespace {

constexpr char digits[] = "0123456789abcdef";

std::vector<double> numbers(const nlohmann::json& list) {  // JSON has no NaN: null stands for it
  std::vector<double> x;
  for (const auto& v : list) x.push_back(v.is_null() ? std::nan("") : v.get<double>());
  return x;
}

}  // namespace

std::vector<std::vector<uint8_t>> correct_of(const std::vector<Outcome>& outcomes) {
  std::vector<std::vector<uint8_t>> list;
  for (const Outcome& o : outcomes) list.push_back(o.correct);
  return list;
}

nlohmann::json json_of(const Outcome& o) {
  std::string bits;  // four test samples a digit, the first in its highest bit
  for (size_t i = 0; i < o.correct.size(); i += 4) {
    size_t digit = 0;
    for (size_t k = 0; k < 4; ++k) digit = 2 * digit + (i + k < o.correct.size() ? o.correct[i + k] : 0);
    bits += digits[digit];
  }
  std::vector<float> losses(o.losses.begin(), o.losses.end());
  return {{"items", o.correct.size()},          {"correct", bits},           {"losses", losses}, {"curve", o.curve},
          {"train_accuracy", o.train_accuracy}, {"parameters", o.parameters}};
}

Outcome outcome_from(const nlohmann::json& j) {
  Outcome o;
  const auto bits = j.at("correct").get<std::string>();
  const auto items = j.at("items").get<size_t>();
  for (size_t i = 0; i < items; ++i) {
    const char c = bits.at(i / 4);
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    o.correct.push_back(static_cast<uint8_t>(digit >> (3 - i % 4) & 1));
  }
  o.losses = numbers(j.at("losses"));
  o.curve = numbers(j.at("curve"));
  o.train_accuracy = j.at("train_accuracy");
  o.parameters = j.at("parameters");
  return o;
}

}  // namespace comparison
