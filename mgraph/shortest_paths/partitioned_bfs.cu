// One rank's steps of partitioned_bfs.py on a GPU; the _gpu.py launches them, level by level.
//
//   bfs_expand       top-down: visit the heads of the last level's arcs. A warp shares the arcs of
//                    32 vertices; rows of more than piece_arcs arcs are in pieces
//   bfs_count_to_send, bfs_pack
//                    the ghosts that were visited first in this level, by owner
//   bfs_receive      visit own vertices to which arcs of other ranks lead
//   bfs_pack_bits    the bits of visited vertices that are ghosts of another rank
//   bfs_mark_ghosts  note which ghosts are visited
//   bfs_search_rows  bottom-up: vertices in whose rows a visited one is get their distance
//   bfs_collect      after bottom-up, they get their bits and are queued
//
// A bit per local number says whether it is visited; the thread that sets it visits the vertex.
// Bottom-up, bits are set by a launch of its own, so that a level does not see itself.
//
// Cost: each arc once top-down, its head's bit at random, mostly in the second-level cache; a few
// arcs per vertex bottom-up.

#include "partitioned_lists.cuh"

constexpr int piece_arcs = 128;  // longer rows are read in pieces

// What a queue of own vertices consists of.
struct queue_sums {
  u64 arcs;  // of its vertices' rows
  u32 vertices;
  u32 pieces;  // of the longer rows
};

constexpr int lane_arcs = 32;  // that a lane reads bottom-up before its warp helps
constexpr int unvisited = 0x7FFFFFFF;

// `pieces`: 2 * num_arcs / piece_arcs + 1.
struct bfs_memory {
  int* distance;            // [locals], unvisited; of visited ghosts any other number
  u32* visited;             // [words] bits
  const u32* queue;         // [owned]: the last level
  const row_piece* pieces;  // [pieces]
  u32* next_queue;          // [owned]
  row_piece* next_pieces;   // [pieces]
  queue_sums* next_sums;
  u32* to_send;  // [ghosts]
  u64* to_send_count;
};

namespace {

// Appends own vertices to a list of vertices and of the pieces of their longer rows; returns the
// arcs of this lane's.
__device__ u64 append_rows(const rank_rows& rows, bool is_item, u32 number, u32* list,
                           row_piece* pieces, queue_sums* counts) {
  if (!__any_sync(~0u, is_item)) return 0;
  const u32 place = take_places(&counts->vertices, is_item);
  if (is_item) list[place] = number;
  const long long* row = rows.indptr + (number - rows.below);
  const long long row_arcs = is_item ? row[1] - row[0] : 0;
  list_pieces(row_arcs > piece_arcs, number, 0, u32((row_arcs + piece_arcs - 1) / piece_arcs),
              pieces, &counts->pieces);
  return u64(row_arcs);
}

// The lists of the next level as a warp sees them.
struct level_lists {
  const rank_rows& rows;
  const bfs_memory& memory;
  buffer queue_buffer, send_buffer;
  u64 arcs;

  __device__ level_lists(const rank_rows& rows, const bfs_memory& memory, u32* slots)
      : rows(rows), memory(memory), arcs(0) {
    u32* own_slots = slots + 2 * buffer_slots * (threadIdx.x / 32);
    queue_buffer = {own_slots, 0};
    send_buffer = {own_slots + buffer_slots, 0};
  }

  __device__ void flush_queue(bool is_item, u32 number) {
    arcs +=
        append_rows(rows, is_item, number, memory.next_queue, memory.next_pieces, memory.next_sums);
  }
  __device__ void flush_send(bool is_item, u32 number) const {
    const u64 place = take_places(memory.to_send_count, is_item);
    if (is_item) memory.to_send[place] = number;
  }

  __device__ void push(bool is_new, u32 number) {
    const bool own = number - rows.below < rows.owned;
    queue_buffer.push(is_new && own, number,
                      [&](bool is_item, u32 item) { flush_queue(is_item, item); });
    send_buffer.push(is_new && !own, number,
                     [&](bool is_item, u32 item) { flush_send(is_item, item); });
  }

  // Visits numbers that are not visited yet, by all lanes of a warp.
  __device__ void visit(bool is_item, u32 number, int length) {
    bool is_new = false;
    if (is_item) {
      u32* word = &memory.visited[number / 32];
      const u32 bit = 1u << (number & 31);
      is_new = !(fresh(word) & bit) && !(atomicOr(word, bit) & bit);
      if (is_new) memory.distance[number] = length;
    }
    push(is_new, number);
  }

  __device__ void finish() {
    queue_buffer.empty([&](bool is_item, u32 number) { flush_queue(is_item, number); });
    send_buffer.empty([&](bool is_item, u32 number) { flush_send(is_item, number); });
    for (int step = 16; step; step /= 2) arcs += __shfl_down_sync(~0u, arcs, step);
    if ((threadIdx.x & 31) == 0 && arcs) atomicAdd(&memory.next_sums->arcs, arcs);
  }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    bfs_expand(__grid_constant__ const rank_rows rows, __grid_constant__ const bfs_memory memory,
               long long size, long long piece_count, int level) {
  __shared__ u32 slots[2 * buffer_slots * threads / 32];
  level_lists lists(rows, memory, slots);
  const int lane = threadIdx.x & 31;
  const long long warp = first_item() / 32, warps = stride() / 32;
  const long long share = min(32LL, (size + warps - 1) / warps);
  for (long long first = share * warp; first < size; first += share * warps) {
    u32 count = 0;
    long long begin = 0;
    if (lane < share && first + lane < size) {
      const long long* row = rows.indptr + (memory.queue[first + lane] - rows.below);
      begin = row[0];
      if (row[1] - begin <= piece_arcs) count = u32(row[1] - begin);
    }
    const u32 end = sum_up_to(count);  // where this lane's arcs end among those of the warp
    const u32 total = __shfl_sync(~0u, end, 31);
    const long long offset = begin - (end - count);
    for (u32 base = 0; base < total; base += 32) {
      const u32 place = base + lane;
      u32 owner = 0;
      for (u32 step = 16; step; step /= 2) {
        if (__shfl_sync(~0u, end, owner + step - 1) <= place) owner += step;
      }
      const long long arc = __shfl_sync(~0u, offset, owner) + place;
      lists.visit(place < total, place < total ? rows.heads[arc] : 0, level + 1);
    }
  }
  for (long long i = warp; i < piece_count; i += warps) {
    const long long* row = rows.indptr + (memory.pieces[i].number - rows.below);
    const long long begin = row[0] + (long long)piece_arcs * memory.pieces[i].index;
    const long long stop = min(begin + piece_arcs, row[1]);
    for (long long base = begin; base < stop; base += 32) {
      const bool is_arc = base + lane < stop;
      lists.visit(is_arc, is_arc ? rows.heads[base + lane] : 0, level + 1);
    }
  }
  lists.finish();
}

// starts: `size` + 1 local numbers, where the ghosts of each owner begin and end; see owner_of.
extern "C" __global__ void bfs_count_to_send(const u32* to_send, long long count, const u32* starts,
                                             int size, u64* totals) {
  for_each_item(count, [&](long long i, bool is_item) {
    take_place(totals, owner_of(is_item ? to_send[i] : 0, starts, size), is_item);
  });
}

// ghosts: positions of ghosts. shifts: by owner, what makes a local number the index of a ghost.
extern "C" __global__ void bfs_pack(const u32* to_send, long long count, const u32* starts,
                                    int size, const u32* shifts, const u32* ghosts, u64* cursors,
                                    u32* positions) {
  for_each_item(count, [&](long long i, bool is_item) {
    const u32 number = is_item ? to_send[i] : 0;
    const int owner = owner_of(number, starts, size);
    const u64 place = take_place(cursors, owner, is_item);
    if (is_item) positions[place] = ghosts[number - shifts[owner]];
  });
}

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    bfs_receive(__grid_constant__ const rank_rows rows, __grid_constant__ const bfs_memory memory,
                const u32* positions, long long count, int length) {
  __shared__ u32 slots[2 * buffer_slots * threads / 32];
  level_lists lists(rows, memory, slots);
  for_each_item(count, [&](long long i, bool is_item) {
    lists.visit(is_item, is_item ? positions[i] + rows.below : 0, length);
  });
  lists.finish();
}

// exports: the positions of own vertices that are ghosts of a rank. words: a bit for each.
extern "C" __global__ void bfs_pack_bits(const u32* visited, u32 below, const u32* exports,
                                         long long count, u32* words) {
  for_each_item(count, [&](long long i, bool is_item) {
    const u32 number = is_item ? exports[i] + below : 0;
    const u32 bits = __ballot_sync(~0u, is_item && (visited[number / 32] >> (number & 31) & 1));
    if (is_item && (i & 31) == 0) words[i / 32] = bits;
  });
}

// words: a bit for each of the ghosts from the local number `begin` on.
extern "C" __global__ void bfs_mark_ghosts(u32* visited, long long begin, long long count,
                                           const u32* words) {
  for_each_item(count, [&](long long i, bool is_item) {
    if (!is_item || !(words[i / 32] >> (i & 31) & 1)) return;
    const u32 number = u32(begin + i), bit = 1u << (number & 31);
    if (!(visited[number / 32] & bit)) atomicOr(&visited[number / 32], bit);
  });
}

extern "C" __global__ void bfs_search_rows(__grid_constant__ const rank_rows rows,
                                           __grid_constant__ const bfs_memory memory, int length) {
  const int lane = threadIdx.x & 31;
  const auto is_visited = [&](u32 number) {
    return bool(memory.visited[number / 32] >> (number & 31) & 1);
  };
  for_each_item(rows.owned, [&](long long row, bool is_item) {
    const u32 number = u32(rows.below + row);
    long long arc = 0, stop = 0;
    if (is_item && !is_visited(number)) arc = rows.indptr[row], stop = rows.indptr[row + 1];
    bool found = false;
    // Two arcs at a time, so that their reads are on the way together.
    for (int i = 0; i < lane_arcs && arc < stop && !found; i += 2, arc += 2) {
      const u32 u = rows.heads[arc], w = arc + 1 < stop ? rows.heads[arc + 1] : u;
      found = is_visited(u) | is_visited(w);
    }
    u32 unfinished = __ballot_sync(~0u, !found && arc < stop);
    for (; unfinished; unfinished &= unfinished - 1) {
      const int owner = __ffs(unfinished) - 1;
      const long long row_stop = __shfl_sync(~0u, stop, owner);
      for (long long base = __shfl_sync(~0u, arc, owner); base < row_stop; base += 32) {
        const bool hit = base + lane < row_stop && is_visited(rows.heads[base + lane]);
        if (!__any_sync(~0u, hit)) continue;
        if (lane == owner) found = true;
        break;
      }
    }
    if (found) memory.distance[number] = length;
  });
}

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    bfs_collect(__grid_constant__ const rank_rows rows, __grid_constant__ const bfs_memory memory,
                int length) {
  __shared__ u32 slots[2 * buffer_slots * threads / 32];
  level_lists lists(rows, memory, slots);
  for_each_item(rows.owned, [&](long long row, bool is_item) {
    const u32 number = u32(rows.below + row);
    lists.visit(is_item && memory.distance[number] == length, number, length);
  });
  lists.finish();
}

// Adds to `total` how many of some own vertices are visited.
extern "C" __global__ void bfs_count_visited(const u32* visited, const u32* numbers,
                                             long long count, u64* total) {
  for_each_item(count, [&](long long i, bool is_item) {
    const u32 number = is_item ? numbers[i] : 0;
    if (is_item && (visited[number / 32] >> (number & 31) & 1)) atomicAdd(total, 1ULL);
  });
}
