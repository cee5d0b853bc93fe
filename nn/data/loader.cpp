#include "tutti/nn/data/loader.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "tutti/autograd/with_grad.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"
#include "tutti/core/transfer.h"
#include "tutti/nn/detail/named_state.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/random.h"
#include "tutti/ops/shape.h"

namespace tutti::data {

using nn::detail::number;

namespace {

/// A batch, parts of which may still be on their way to a device.
struct Prepared {
  Batch batch;
  std::vector<Transfer> transfers{};

  void send(Tensor& x, Device device) {
    if (!x.defined() || x.device() == device) return;
    if (x.device() != cpu || device == cpu) {
      x = to(x, device);
      return;
    }
    const Tensor whole = contiguous(x);
    const Output there = output(x.shape(), x.dtype(), device);
    transfers.emplace_back(device, there.data(), whole.data(), static_cast<size_t>(x.numel()) * size_of(x.dtype()));
    x = no_gradient(there);
  }
  Batch arrived() {
    for (Transfer& t : transfers) t.arrive();
    return std::move(batch);
  }
};

}  // namespace

struct Loader::Impl {
  const Dataset& dataset;
  const LoaderOptions options;
  int64_t epoch = 0, current = 0;  // of the next pass, and of the one under way
  int64_t skip = 0;                // batches of the next pass that were handed out already, in another run
  std::weak_ptr<const int> pass;   // held by the iterator of the pass under way

  // The pass under way.
  std::vector<int64_t> order;
  RandomKey key;         // of its transforms: stream + batch number
  int64_t total = 0;     // batches, of the dataset as it was at the start
  int64_t next = 0;      // batch, of whoever prepares
  int64_t expected = 0;  // batch, of the consumer

  // Shared with the background thread, under the mutex.
  struct Ready {
    Prepared made;
    std::exception_ptr error;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Ready> ready;
  bool stop = false;
  std::thread worker;

  Impl(const Dataset& d, LoaderOptions o) : dataset(d), options(std::move(o)) {}
  ~Impl() { finish(); }

  int64_t batches(int64_t samples) const {
    const int64_t b = options.batch_size;
    return samples / b + (!options.drop_last && samples % b != 0);
  }

  Prepared prepare(int64_t number) const {
    const no_grad off;
    const int64_t n = static_cast<int64_t>(order.size()), begin = number * options.batch_size;
    const int64_t end = std::min(n, begin + options.batch_size);
    Batch batch = dataset.get({order.begin() + begin, order.begin() + end});
    if (options.transform)
      batch.input = options.transform(batch.input, {key.seed, key.stream + static_cast<uint64_t>(number)});
    Prepared made{std::move(batch)};
    if (options.device)
      for (Tensor* x : {&made.batch.input, &made.batch.label}) made.send(*x, *options.device);
    return made;
  }

  void start() {
    finish();
    current = epoch++;
    const auto number = static_cast<uint64_t>(current);
    const int64_t n = dataset.size();
    total = batches(n);
    next = expected = std::exchange(skip, 0);
    key = {options.seed ^ 0x5DEECE66D1CE4E5B, number << 32};  // apart from the shuffle's
    if (options.shuffle) {
      Generator generator(options.seed);
      generator.set_position(number);
      order = randperm(n, generator).to_vector<int64_t>();
    } else {
      order.resize(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), int64_t{0});
    }
    if (options.prefetch > 0 && next < total) worker = std::thread([this, first = next] { serve(first); });
  }

  /// The background thread: keeps `prefetch` batches ready, until the last or the first error.
  void serve(int64_t first) {
    const SerialScope alone;
    for (int64_t number = first; number < total; ++number) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stop || static_cast<int64_t>(ready.size()) < options.prefetch; });
        if (stop) return;
      }
      Ready made;
      try {
        made.made = prepare(number);
      } catch (...) {
        made.error = std::current_exception();
      }
      const bool failed = made.error != nullptr;
      {
        const std::lock_guard lock(mutex);
        ready.push_back(std::move(made));
      }
      changed.notify_all();
      if (failed) return;
    }
  }

  /// The next batch, or nothing at the end of the pass.
  std::optional<Batch> take() {
    if (expected >= total) {
      finish();
      return {};
    }
    ++expected;
    if (!worker.joinable()) return prepare(next++).arrived();
    Ready taken;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !ready.empty(); });
      taken = std::move(ready.front());
      ready.pop_front();
    }
    changed.notify_all();
    if (taken.error) {
      expected = total;
      finish();
      std::rethrow_exception(taken.error);
    }
    return taken.made.arrived();
  }

  void finish() {
    if (!worker.joinable()) return;
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    worker.join();
    stop = false;
    ready.clear();
  }
};

Loader::Loader(const Dataset& dataset, LoaderOptions options) {
  if (options.batch_size < 1)
    throw ValueError(message("Loader: batch_size is ", options.batch_size, "; it must be at least 1"));
  if (options.prefetch < 0)
    throw ValueError(message("Loader: prefetch is ", options.prefetch, "; it must not be negative"));
  if (options.device) (void)backend(*options.device);  // there is such a device
  impl_ = std::make_unique<Impl>(dataset, std::move(options));
}
Loader::~Loader() = default;

int64_t Loader::size() const { return impl_->batches(impl_->dataset.size()); }
int64_t Loader::epoch() const { return impl_->epoch; }
void Loader::set_epoch(int64_t epoch) {
  if (epoch < 0) throw ValueError(message("Loader: epoch ", epoch, " is negative"));
  impl_->epoch = epoch;
  impl_->skip = 0;
}

std::map<std::string, Tensor> Loader::state_dict() const {
  const bool amid = !impl_->pass.expired();
  return {{"epoch", number(amid ? impl_->current : impl_->epoch)},
          {"batch", number(amid ? impl_->expected : impl_->skip)},
          {"samples", number(impl_->dataset.size())},
          {"seed", number(static_cast<int64_t>(impl_->options.seed))},
          {"batch_size", number(impl_->options.batch_size)},
          {"shuffle", number(int64_t{impl_->options.shuffle})},
          {"drop_last", number(int64_t{impl_->options.drop_last})}};
}

void Loader::load_state_dict(const std::map<std::string, Tensor>& state) {
  nn::detail::StateReader reader("Loader: load_state_dict", state);
  const int64_t epoch = reader.integer("epoch"), batch = reader.integer("batch");
  if (epoch < 0 || batch < 0) reader.fail(message("batch ", batch, " of epoch ", epoch, " is none"));
  const auto own = state_dict();
  for (const char* name : {"samples", "seed", "batch_size", "shuffle", "drop_last"}) {
    const int64_t now = own.at(name).to_vector<int64_t>()[0], then = reader.integer(name);
    if (batch > 0 && now != then)
      reader.fail(message("amid an epoch, of which ", batch, " batches were seen, ", name, " was ", then,
                          " and is now ", now, ": the rest of it would be others"));
  }
  reader.end();
  impl_->finish();
  impl_->pass.reset();
  impl_->epoch = epoch;
  impl_->skip = batch;
}

Loader::Iterator Loader::begin() & {
  impl_->start();
  Iterator it;
  it.impl_ = impl_.get();
  it.pass_ = std::make_shared<const int>();
  impl_->pass = it.pass_;
  return ++it;
}
Loader::Iterator Loader::end() & { return {}; }

Batch& Loader::Iterator::operator*() { return batch_; }

Loader::Iterator& Loader::Iterator::operator++() {
  if (!impl_) return *this;
  if (pass_ != impl_->pass.lock())
    throw ValueError("Loader: this iterator's epoch is over, since another begin() started the next");
  auto batch = impl_->take();
  if (batch)
    batch_ = std::move(*batch);
  else
    impl_ = nullptr, pass_ = nullptr;
  return *this;
}

bool Loader::Iterator::operator!=(const Iterator& other) const { return impl_ != other.impl_; }

}  // namespace tutti::data
