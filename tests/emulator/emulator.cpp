// The scheduler of emulator.hpp, which is compiled once for all kernels.
#include "emulator.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace emulator {

index launched_blocks, launched_threads;
thread* current;
uint64_t random_state, time_now;

namespace {

constexpr size_t stack_bytes = 64 * 1024;
constexpr uint64_t most_steps = 30'000'000;
constexpr size_t beyond = 256;  // bytes after a block's dynamic shared memory, to be left alone
constexpr char unused = char(0xAB);

}  // namespace

// Threads that wait for each other, the values that they brought, and those of the time before,
// which the slower ones have yet to read.
struct meeting {
  unsigned members = 0, arrived = 0;
  uint64_t times = 0;
  std::vector<uint64_t> brought[2];
  std::vector<thread*> waiting;
};

struct block {
  meeting all;
  std::vector<meeting> warps;
  std::vector<char> dynamic_shared;
  std::map<int, std::vector<char>> static_shared;
  bool stands_still = false;
};

// A thread, and its fiber: what runs it from launch to launch, on a stack of its own.
struct fiber : thread {
  size_t place = 0;  // among the runnable
  bool started = false, done = false;
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  ucontext_t start;
  jmp_buf left;
};

namespace {

std::vector<std::unique_ptr<fiber>> fibers;  // of this launch, and more if an earlier one had more
std::vector<std::unique_ptr<block>> blocks;
std::vector<fiber*> runnable;
void (*kernel)(const void*);
const void* kernel_arguments;
jmp_buf scheduler;

fiber& running() { return *static_cast<fiber*>(current); }

void run_again(thread* which) {
  auto* one = static_cast<fiber*>(which);
  one->place = runnable.size();
  runnable.push_back(one);
}

void stop_running() {
  runnable[running().place] = runnable.back();
  runnable.back()->place = running().place;
  runnable.pop_back();
}

void begin_anew(meeting& its) {
  ++its.times;
  its.arrived = 0;
  for (thread* one : its.waiting) run_again(one);
  its.waiting.clear();
}

// Waits for all members; returns what each brought.
values meet(meeting& its, unsigned member, uint64_t value) {
  auto& brought = its.brought[its.times % 2];
  brought[member] = value;
  if (++its.arrived == its.members) {
    begin_anew(its);
  } else {
    stop_running();
    its.waiting.push_back(current);
    leave();
  }
  return {brought.data(), unsigned(brought.size())};
}

void leave_for_good(meeting& its) {
  --its.members;
  if (its.members && its.arrived == its.members) begin_anew(its);
}

void switch_to_scheduler() {
  if (!_setjmp(running().left)) _longjmp(scheduler, 1);
}

void run_fiber() {
  for (;;) {
    kernel(kernel_arguments);
    running().done = true;
    stop_running();
    leave_for_good(current->its_block->all);
    leave_for_good(current->its_block->warps[current->thread_index.x / 32]);
    switch_to_scheduler();  // until a launch needs this fiber again
  }
}

void prepare(meeting& its, unsigned members) {
  its.members = members;
  for (auto& values : its.brought) values.resize(members);
}

void prepare(unsigned grid, unsigned size, size_t shared) {
  blocks.clear();
  runnable.clear();
  for (unsigned b = 0; b < grid; ++b) {
    blocks.push_back(std::make_unique<block>());
    block& its = *blocks.back();
    prepare(its.all, size);
    its.warps.resize((size + 31) / 32);
    for (unsigned w = 0; w < its.warps.size(); ++w) {
      prepare(its.warps[w], std::min(32u, size - 32 * w));
    }
    its.dynamic_shared.resize(shared + 16 + beyond, unused);
    for (unsigned t = 0; t < size; ++t) {
      if (fibers.size() == runnable.size()) fibers.push_back(std::make_unique<fiber>());
      fiber& one = *fibers[runnable.size()];
      one.thread_index = {t};
      one.block_index = {b};
      one.its_block = &its;
      one.done = false;
      run_again(&one);
    }
  }
}

void resume(fiber& one) {
  current = &one;
  if (_setjmp(scheduler)) return;
  if (one.started) _longjmp(one.left, 1);
  one.started = true;
  getcontext(&one.start);
  one.start.uc_stack.ss_sp = one.stack.get();
  one.start.uc_stack.ss_size = stack_bytes;
  makecontext(&one.start, run_fiber, 0);
  setcontext(&one.start);
}

void* aligned(std::vector<char>& bytes) {
  return reinterpret_cast<void*>((uintptr_t(bytes.data()) + 15) / 16 * 16);
}

bool wrote_beyond(block& its, size_t shared) {
  const char* end = static_cast<char*>(aligned(its.dynamic_shared)) + shared;
  return std::any_of(end, end + beyond, [](char byte) { return byte != unused; });
}

}  // namespace

void leave() {
  ++time_now;
  switch_to_scheduler();
}

int launch(unsigned grid, unsigned size, size_t shared, uint64_t seed, void (*body)(const void*),
           const void* arguments) {
  random_state = seed * 0x9E3779B97F4A7C15 + 1;
  kernel = body;
  kernel_arguments = arguments;
  launched_blocks = {grid};
  launched_threads = {size};
  prepare(grid, size, shared);
  uint64_t next_change = 0, steps = 0;
  for (; !runnable.empty() && steps < most_steps; ++steps) {
    if (steps >= next_change) {
      next_change = steps + random_word() % (200 * size);
      const uint64_t still = random_word() % 4;  // of four blocks, roughly
      for (auto& its : blocks) its->stands_still = random_word() % 4 < still;
    }
    fiber& next = *runnable[random_word() % runnable.size()];
    if (next.its_block->stands_still && random_word() % 64) continue;
    resume(next);
  }
  const bool all_done = std::all_of(fibers.begin(), fibers.begin() + grid * size,
                                    [](auto& one) { return one->done; });
  const bool any_runs = !runnable.empty();
  if (!all_done) fibers.clear();  // each stands somewhere in the kernel
  for (auto& its : blocks) {
    if (wrote_beyond(*its, shared)) return 3;
  }
  return any_runs ? 2 : all_done ? 0 : 1;
}

void* dynamic_shared() { return aligned(current->its_block->dynamic_shared); }

void* static_shared(int which, size_t size) {
  auto& bytes = current->its_block->static_shared[which];
  if (bytes.empty()) bytes.resize(size + 16, char(0xCD));
  return aligned(bytes);
}

values of_block(uint64_t value) {
  return meet(current->its_block->all, current->thread_index.x, value);
}

values of_warp(uint64_t value) {
  const unsigned t = current->thread_index.x;
  return meet(current->its_block->warps[t / 32], t % 32, value);
}

}  // namespace emulator
