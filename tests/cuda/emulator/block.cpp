// Threads of a block: who goes on next, barriers, collectives. A block in which nobody can go on is a fault that says
// who waits where.
#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "report.h"
#include "running.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator {

Running running;

namespace {

constexpr int most_threads = 1024;
constexpr size_t stack_size = 256 << 10;

std::vector<Thread> threads;
Thread host;  // where the grid was started
Thread* current = &host;
int count, alive, arrived;
std::vector<int> ready;  // from `next` on
size_t next_ready;
// Lanes of each warp, as bits: those that run, and those of them that wait in a collective. With these the arrival of a
// lane costs no look at the others.
uint32_t running_lanes[most_threads / 32], waiting_lanes[most_threads / 32];
uint64_t random_state;
void (*body)(const void*);
const void* body_parameters;

uint32_t random_below(size_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return static_cast<uint32_t>((random_state >> 16) % n);
}

void switch_to(Thread& to) {
  Thread& from = *current;
  if (&from == &to) return;
  current = &to;
  threadIdx = to.index;
  switch_fibers(from.fiber, to.fiber);
}

void make_ready(int* ids, int n) {
  if (config().order == Order::reverse) std::reverse(ids, ids + n);
  for (int i = 0; i < n; ++i) {
    threads[ids[i]].state = ThreadState::ready;
    ready.push_back(ids[i]);
  }
}

/// "; 120 threads (first: 0) wait at __syncthreads x.cu:12; 8 threads (first: 120) have exited"
std::string states() {
  std::map<std::string, std::pair<int, int>> groups;
  for (int t = 0; t < count; ++t) {
    const Thread& thread = threads[t];
    std::string name;
    switch (thread.state) {
      case ThreadState::ready:
        name = "could go on";
        break;
      case ThreadState::at_barrier:
        name = "wait at __syncthreads " + text(thread.site);
        break;
      case ThreadState::in_collective:
        name = "wait in a warp collective " + text(thread.site);
        break;
      case ThreadState::done:
        name = "have exited";
        break;
    }
    auto& [n, first] = groups[name];
    if (n++ == 0) first = t;
  }
  std::string result;
  for (const auto& [name, group] : groups)
    result += "; " + std::to_string(group.first) + " threads (first: " + std::to_string(group.second) + ") " + name;
  return result;
}

void run_next() {
  if (next_ready == ready.size()) {
    if (alive) note("deadlock" + states());
    switch_to(host);
    return;
  }
  if (config().order == Order::random)
    std::swap(ready[next_ready], ready[next_ready + random_below(ready.size() - next_ready)]);
  const int id = ready[next_ready++];
  if (next_ready == ready.size()) ready.clear(), next_ready = 0;
  switch_to(threads[id]);
}

void thread_main() {
  fiber_entered();
  for (;;) {
    body(body_parameters);
    Thread& me = *current;
    const bool forgotten =
        std::any_of(me.copies.begin(), me.copies.end(), [](const PendingCopy& c) { return c.bytes > c.zeros; });
    if (forgotten) fail(std::string("thread ended with asynchronous copies that it has not waited for"), me.site);
    me.state = ThreadState::done;
    running_lanes[me.id / 32] &= ~(1u << me.id % 32);
    --alive;
    if (arrived) {
      note("thread exited while others wait at a barrier [" + name_of(me) + "]" + states());
      switch_to(host);
    }
    run_next();  // comes back when the next block begins
  }
}

void make_threads() {
  if (!threads.empty()) return;
  void* stacks = mmap(nullptr, stack_size * most_threads, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) std::abort();
  threads.resize(most_threads);
  for (int i = 0; i < most_threads; ++i) {
    char* stack = static_cast<char*>(stacks) + stack_size * static_cast<size_t>(i);
    mprotect(stack, 4096, PROT_NONE);  // a recursion without end is a fault, not the neighbour's bug
    threads[i].id = i;
    // Tops at one distance would share a few cache lines' places between them.
    start_fiber(threads[i].fiber, stack, stack_size - static_cast<size_t>(i % 64) * 64, thread_main);
  }
}

bool run_block() {
  ++running.block;
  alive = count;
  arrived = 0;
  running.barriers = 0;
  std::fill(std::begin(running.warp_barriers), std::end(running.warp_barriers), 0);
  ready.clear();
  next_ready = 0;
  std::fill(std::begin(running_lanes), std::end(running_lanes), 0);
  std::fill(std::begin(waiting_lanes), std::end(waiting_lanes), 0);
  int all[most_threads];
  for (int t = 0; t < count; ++t) {
    all[t] = t;
    running_lanes[t / 32] |= 1u << t % 32;
    threads[t].copies.clear();
    threads[t].copy_group = 0;
  }
  make_ready(all, count);
  run_next();
  return alive == 0;
}

}  // namespace

bool run_grid(dim3 grid, dim3 block, void (*function)(const void*), const void* parameters) {
  make_threads();
  count = static_cast<int>(block.x * block.y * block.z);
  body = function;
  body_parameters = parameters;
  gridDim = grid;
  blockDim = block;
  random_state = config().seed * 0x9E3779B97F4A7C15u | 1;
  running.host = pthread_self();
  running.kernel = true;
  running.first_block_of_launch = running.block + 1;
  const size_t blocks = size_t{grid.x} * grid.y * grid.z;
  counters().threads += static_cast<uint64_t>(count) * blocks;
  for (unsigned t = 0; t < static_cast<unsigned>(count); ++t)
    threads[t].index = {t % block.x, t / block.x % block.y, t / (block.x * block.y)};
  std::vector<size_t> order(blocks);
  for (size_t i = 0; i < blocks; ++i) order[i] = i;
  if (config().order == Order::reverse) std::reverse(order.begin(), order.end());
  if (config().order == Order::random)
    for (size_t i = blocks; i > 1; --i) std::swap(order[i - 1], order[random_below(i)]);

  bool ok = true;
  for (size_t i = 0; i < blocks && ok; ++i) {
    const size_t b = order[i];
    blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / (size_t{grid.x} * grid.y))};
    begin_block();
    ok = run_block();
  }
  if (!ok)
    for (Thread& thread : threads) start_fiber(thread.fiber, thread.fiber.stack, thread.fiber.size, thread_main);
  running.kernel = false;
  return ok;
}

Thread& this_thread() { return *current; }
bool on_this_stack(const void* p) {
  const char* stack = current->fiber.stack;
  return p >= stack && p < stack + stack_size;
}
int lane() { return current->id & 31; }

std::string name_of(const Thread& thread) {
  char name[160];
  std::snprintf(name, sizeof name, "block (%u,%u,%u) thread (%u,%u,%u)", blockIdx.x, blockIdx.y, blockIdx.z,
                thread.index.x, thread.index.y, thread.index.z);
  return name;
}
namespace {
[[noreturn]] void give_up() {
  switch_to(host);
  std::abort();  // nobody comes back: the fiber is made anew
}
}  // namespace
void fail(const std::string& what, Site site) {
  note(what + (running.kernel ? " [" + name_of(*current) + " at " + text(site) + "]" : " [" + text(site) + "]"));
  if (!running.kernel) {
    std::fprintf(stderr, "CUDA emulator: %s\n", report().c_str());
    std::abort();
  }
  give_up();
}
void fail(const char* what, Site site) { fail(std::string(what), site); }
void fail_at(const std::string& what, const void* pc) {
  note(what + " [" + name_of(*current) + " at " + source_of(pc) + "]");
  give_up();
}

int barrier(int predicate, Vote vote, Site site) {
  if (!running.kernel) fail("a barrier outside a kernel", site);
  Thread& me = *current;
  me.state = ThreadState::at_barrier;
  me.site = site;
  me.predicate = predicate;
  if (alive < count) fail("__syncthreads after threads have exited" + states(), site);
  if (++arrived == count) {
    int all[most_threads], yes = 0;
    for (int t = 0; t < count; ++t) {
      const Site other = threads[t].site;
      if (other.line != site.line || other.file != site.file) fail("divergent __syncthreads" + states(), site);
      all[t] = t;
      yes += threads[t].predicate != 0;
    }
    const int result = vote == Vote::count ? yes : vote == Vote::all ? yes == count : yes != 0;
    for (int t = 0; t < count; ++t) threads[t].predicate = result;
    arrived = 0;
    ++running.barriers;
    ++counters().barriers;
    make_ready(all, count);
  }
  run_next();
  return me.predicate;
}

namespace {
void only_synchronize(Lanes&) {}
void only_converge(Lanes&) {}
}  // namespace
void converge(Site site) { collective(~0u, only_converge, nullptr, nullptr, 0, site); }
void synchronize_warp(unsigned mask, Site site) { collective(mask, only_synchronize, nullptr, nullptr, 0, site); }

void collective(unsigned mask, WarpFunction function, const void* in, void* out, int parameter, Site site) {
  Thread& me = *current;
  if (!running.kernel) fail("a warp collective outside a kernel", site);
  const int warp = me.id / 32, first = warp * 32;
  const uint32_t here = 1u << me.id % 32;
  if (!(mask & here)) fail("warp collective: the mask does not name the calling lane", site);
  me.state = ThreadState::in_collective;
  me.site = site;
  me.mask = mask;
  me.function = function;
  me.in = in;
  me.out = out;
  me.parameter = parameter;
  if (const uint32_t absent = mask & ~running_lanes[warp])
    fail("warp collective: the mask names a lane that does not exist or has exited (lane " +
             std::to_string(std::countr_zero(absent)) + ")",
         site);
  waiting_lanes[warp] |= here;
  if ((mask & ~waiting_lanes[warp]) == 0) {
    waiting_lanes[warp] &= ~mask;
    Lanes lanes{mask, {}, {}, {}};
    int ids[32], n = 0;
    for (int i = 0; i < 32; ++i) {
      if (!(mask >> i & 1)) continue;
      const Thread& t = threads[first + i];
      if (t.mask != mask || t.function != function || t.site.line != site.line || t.site.file != site.file)
        fail("divergent warp collectives: " + text(t.site) + " and " + text(site), site);
      lanes.in[i] = t.in;
      lanes.out[i] = t.out;
      lanes.parameter[i] = t.parameter;
      ids[n++] = first + i;
    }
    function(lanes);
    if (function == only_synchronize && mask == ~0u) ++running.warp_barriers[warp];
    ++counters().collectives;
    make_ready(ids, n);
  }
  run_next();
}

}  // namespace emulator
