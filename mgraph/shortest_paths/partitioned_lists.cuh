// A rank's rows, and lists to which warps append; for partitioned_delta_stepping.cu and
// partitioned_bfs.cu, which explain them.
#pragma once

#include <mgraph/fresh.cuh>
#include <mgraph/path_length.cuh>
#include <mgraph/warp.cuh>

using namespace mgraph;
using u32 = unsigned int;
using u64 = unsigned long long;
using unsigned_key = unsigned_of<sizeof(length_t)>::type;

constexpr int threads = 512;      // per block
constexpr int min_blocks = 3;     // per multiprocessor
constexpr int ahead = 2;          // arcs per lane whose reads are on the way together
constexpr int buffer_slots = 64;  // per warp and list

// The rank's rows: indptr[row], of the own vertex below + row.
struct rank_rows {
  const long long* indptr;
  const u32* heads;
  const weight_t* weights;  // null: each arc counts 1
  u32 below;
  u32 owned;
  long long num_arcs;
};

// Some arcs of a row, all pieces of a row as many, or those left.
struct row_piece {
  u32 number;
  u32 index;
};

namespace {

__device__ long long first_item() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long stride() { return (long long)gridDim.x * blockDim.x; }

// Calls visit(i, is_item) for i below count, and more, all lanes of a warp together.
template <class Visit> __device__ void for_each_item(long long count, Visit visit) {
  const long long rounded = (count + 31) / 32 * 32;
  for (long long i = first_item(); i < rounded; i += stride()) visit(i, i < count);
}

// A place after cursors[which] for each lane that asks, all lanes of a warp together.
__device__ u64 take_place(u64* cursors, int which, bool asks) {
  const u32 lanes = __match_any_sync(~0u, asks ? which : -1);
  const int leader = __ffs(lanes) - 1;
  u64 place = 0;
  if (asks && (threadIdx.x & 31) == leader) {
    place = atomicAdd(&cursors[which], u64(__popc(lanes)));
  }
  return __shfl_sync(~0u, place, leader) + __popc(lanes & lanes_below());
}

// The owner of a ghost: the last one whose ghosts begin at or before the number.
__device__ int owner_of(u32 number, const u32* starts, int size) {
  int low = 0, high = size - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (number >= starts[middle]) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__device__ weight_t weight_of(const rank_rows& rows, long long arc) {
  return rows.weights ? rows.weights[arc] : weight_t(1);
}

// The first arc in [begin, stop) that leads from `length` to `limit` or farther. Mostly it is one
// of the first: the distance to it is doubled, then halved.
__device__ long long first_beyond(const rank_rows& rows, key_t length, key_t limit, long long begin,
                                  long long stop) {
  auto is_below = [&](long long arc) { return extended(length, weight_of(rows, arc)) < limit; };
  long long low = begin, step = 1;
  while (low + step <= stop && is_below(low + step - 1)) low += step, step *= 2;
  long long high = min(low + step - 1, stop);
  while (low < high) {
    const long long middle = (low + high) / 2;
    if (is_below(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The sum of the values of this lane and those below.
__device__ u32 sum_up_to(u32 value) {
  for (int step = 1; step < 32; step *= 2) {
    const u32 other = __shfl_up_sync(~0u, value, step);
    if ((threadIdx.x & 31) >= step) value += other;
  }
  return value;
}

// The warps that work on an iteration: of the grid, or of one block.
struct team {
  long long warp, warps;
};

// Numbers that a warp has found for a list, in shared memory, until they are 32: with an atomic
// operation for each, all warps would wait for the list's end.
struct buffer {
  u32* slots;
  u32 count;

  // All lanes of a warp call together, here and below. flush(is_item, number) appends to the list.
  template <class Flush> __device__ void push(bool is_item, u32 number, Flush flush) {
    const u32 lanes = __ballot_sync(~0u, is_item);
    if (!lanes) return;
    if (is_item) slots[count + __popc(lanes & lanes_below())] = number;
    count += __popc(lanes);
    __syncwarp();
    if (count < 32) return;
    const u32 lane = threadIdx.x & 31, rest = count - 32;
    const u32 first = slots[lane], second = lane < rest ? slots[32 + lane] : 0;
    __syncwarp();
    if (lane < rest) slots[lane] = second;
    count = rest;
    __syncwarp();
    flush(true, first);
  }

  template <class Flush> __device__ void empty(Flush flush) {
    const u32 lane = threadIdx.x & 31;
    const bool is_item = lane < count;
    const u32 number = is_item ? slots[lane] : 0;
    __syncwarp();
    if (count) flush(is_item, number);
    count = 0;
  }
};

// Appends numbers of lanes to a list; returns the place of this lane's.
template <class Count> __device__ Count take_places(Count* count, bool is_item) {
  const u32 lanes = __ballot_sync(~0u, is_item);
  const int leader = __ffs(lanes) - 1;
  Count place = 0;
  if (lanes && (threadIdx.x & 31) == leader) place = atomicAdd(count, Count(__popc(lanes)));
  return __shfl_sync(~0u, place, max(leader, 0)) + __popc(lanes & lanes_below());
}

// Lists pieces `first` to `stop` of the rows of lanes.
__device__ void list_pieces(bool is_item, u32 number, u32 first, u32 stop, row_piece* pieces,
                            u32* total) {
  u32 lanes = __ballot_sync(~0u, is_item);
  if (!lanes) return;
  const int lane = threadIdx.x & 31;
  const u32 count = is_item ? stop - first : 0, end = sum_up_to(count);
  const u32 sum = __shfl_sync(~0u, end, 31);
  u32 place = 0;
  if (lane == 0) place = atomicAdd(total, sum);
  place = __shfl_sync(~0u, place, 0) + end - count;
  for (; lanes; lanes &= lanes - 1) {
    const int owner = __ffs(lanes) - 1;
    const u32 of = __shfl_sync(~0u, number, owner), from = __shfl_sync(~0u, first, owner);
    const u32 begin = __shfl_sync(~0u, place, owner), size = __shfl_sync(~0u, count, owner);
    for (u32 i = lane; i < size; i += 32) pieces[begin + i] = {of, from + i};
  }
}

}  // namespace
