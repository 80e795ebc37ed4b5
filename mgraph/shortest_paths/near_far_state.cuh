// The data of a near-far search: the kernel's arguments, what blocks publish to each other, and a
// block's shared memory. near_far.cu explains the search.
#pragma once

#include <mgraph/clock.cuh>
#include <mgraph/grid_barrier.cuh>
#include <mgraph/path_length.cuh>
#include <mgraph/stop_watch.cuh>
#include <mgraph/warp.cuh>
#include "progress_watch.cuh"
#include "self_tuning.cuh"

namespace mgraph {

using u16 = unsigned short;
using u64 = unsigned long long;
using word_t = unsigned_of<sizeof(key_t)>::type;  // a key in a heap

constexpr int threads = MGRAPH_THREADS;
constexpr int warps = threads / 32;
constexpr u32 all_lanes = 0xFFFFFFFF;
constexpr int max_blocks = 256;  // per search
constexpr int note_warps = max_blocks / 32;
constexpr int lists = 2 * partitions;  // per partition one that is read and one that is filled
constexpr u16 no_chunk = 0xFFFF, lost_chunk = 0xFFFE;
constexpr u32 piece_arcs = 256;     // a vertex with more arcs is cut into pieces of this size
constexpr u32 few_batches = 8;      // of entries: up to this the block shares arcs evenly
constexpr u32 max_local_arcs = 4;   // per thread: up to this a block goes on with its hops
constexpr float max_wave_arcs = 8;  // per thread, of all queued vertices: up to this there are hops
constexpr int near_bits = 26, piece_bits = 20;       // of the counts in a round's note
constexpr int trace_columns = MGRAPH_TRACE_COLUMNS;  // trace.py names them

// The sums over a search's blocks in one round.
enum column {
  near_sum,      // entries appended to the near queue
  piece_sum,     // pieces appended
  expanded_sum,  // X1: vertices expanded
  arcs_sum,      // X2: arcs relaxed
  updated_sum,   // X3: distances improved
  reached_sum,   // those that were infinite
  lost_sum,      // blocks whose far queue had no room for an entry
  settled_sum,   // targets settled; of those that must all be settled, those that are not
  within_sum,    // far entries within the threshold
  current_sum,   // those of them that are current
  counters,
  far_sum = counters,
  min_near_column = far_sum + partitions,  // minima of keys
  min_far_column,
  max_updated_column,  // the maximum of the improved keys
  fullest_column,      // the maximum of the entries in a block's far queue
  hops_column,         // the maximum of the hops that a block made, if the search is traced
  stopped_column,      // not 0: the host has cancelled the launch, or the search gives up
  columns
};

// What a block publishes at a round's barrier, in one word, which the other blocks wait for.
struct round_note {
  u64 word;

  __device__ explicit round_note(u64 word) : word(word) {}
  __device__ round_note(u32 near, u32 pieces, bool any_far, bool any_lost, u32 round)
      : word(near | u64(pieces) << near_bits | u64(any_far) << 46 | u64(any_lost) << 47 |
             u64(round) << 48) {
    static_assert(near_bits + piece_bits == 46);
  }
  __device__ bool belongs_to(u32 round) const { return u32(word >> 48) == (round & 0xFFFF); }
  // Counts that can be added up over the blocks: near entries in the lower half, pieces above.
  __device__ u64 counts() const {
    return (word & ((1 << near_bits) - 1)) | (word >> near_bits & ((1 << piece_bits) - 1)) << 32;
  }
  __device__ bool any_far() const { return word >> 46 & 1; }
  __device__ bool any_lost() const { return word >> 47 & 1; }
};

// Vertices, each with the distance at which it was queued.
struct entry_list {
  int* vertex;
  key_t* key;
};

// Pieces of rows: arcs number * piece_arcs and on of a vertex.
struct piece_list {
  int* vertex;
  key_t* key;
  u32* number;
};

// The kernel's arguments, which near_far_gpu.py packs.

struct graph {
  const long long* indptr;
  const int* indices;
  const weight_t* weights;  // null: every weight is 1
  int n;
};

// What is searched for. Search i begins at sources[source_starts[i]:source_starts[i + 1]].
struct search_request {
  int searches;
  const int* source_starts;
  const int* sources;
  const int* targets;
  int target_count;
  bool stop_at_first;      // a search ends with its first settled target, else with its last
  key_t cutoff;            // longer paths are dropped
  const u32* cancel_flag;  // not 0: all searches end early; null: they cannot be cancelled
};

struct search_options {
  double delta;  // near-far's; 0: the controller moves the threshold
  double unit;   // the power of two in which the controller measures lengths
  double inverse_unit;
  double set_point;  // P, arcs per iteration; 0 where delta is fixed
  bool is_bound;     // P is an upper bound, else a mean
  double mean_degree;
  double mean_weight;  // in units
  double min_step;     // the smallest step of the threshold that has an effect, in units
  int max_hops;        // per iteration
  u32 max_iterations;
  // A search gives up after so many nanoseconds in which it reached fewer vertices; 0: never.
  double patience, min_reached_per_nanosecond;
};

// Each block's heap, one behind the other; null where there are no heaps.
struct heap_word;  // <mgraph/heap_memory.cuh>
struct heap_counts;
struct far_heap_arrays {
  word_t* keys;
  u32* values;
  heap_word* words;
  heap_counts* counts;
  u32 places;  // per heap
};

// Working memory. Capacities are per block. The near queue and the pieces have two sides, of which
// one is read while the other is written; the blocks' lists stand one behind the other in each.
struct search_memory {
  int blocks;  // per search
  entry_list near;
  u32 near_capacity;
  piece_list pieces;
  u32 piece_capacity;
  entry_list far;
  int chunks;
  u32 chunk_entries;
  u64* sums;   // [groups][3 rounds][columns]
  u64* notes;  // [groups][2 rounds][blocks]
  far_heap_arrays heaps;
};

struct search_output {
  key_t* distance;  // [searches][n]
  u64* iterations;  // [searches]
  double* trace;    // [trace_rows][trace_columns] of the first search, or null
  int trace_rows;
};

constexpr u64 gave_up = 0xFFFFFFFFFFFFFFFF;  // in place of the iterations

// A queued vertex and its row, as a thread holds it.
struct entry {
  bool current;  // key is still the vertex's distance: no shorter path was found since
  int vertex;
  key_t key;
  long long first_arc;
  u32 degree;
};

// Vertices that a block keeps for its own next hop, with their rows.
struct hop_list {
  long long first_arc[threads];
  key_t key[threads];
  int vertex[threads];
  u32 degree[threads];
};

// A block's shared memory, without its hop lists and the tables of its far queue's chunks.
struct block_state {
  stop_watch cancel_watch;  // used by the control warp's first lane in a search's first block
  controller control;
  progress_watch progress;  // used by the control warp's first lane in a search's first block
  // The iteration, decided by the control warp.
  key_t threshold;
  double previous_threshold;
  int previous_hops;
  bool finished, rebuild;  // the search is over; the far queue is lost and must be rebuilt
  bool is_wave;            // few arcs are under way: hop on, and fetch rows early
  bool check_all;          // look up every far entry that is read, to drop stale ones
  int hops;
  u32 far_quota;             // far vertices that this block expands itself
  key_t bounds[partitions];  // a far entry with bounds[i - 1] < key <= bounds[i] is appended
  int list_of_partition[partitions];  // to this list
  int lists_read;                     // the far queue's lists that are read,
  int read_list[partitions];
  u32 read_start[partitions + 1];  // and where each begins among all their entries
  // This block's share of the sums.
  u32 count[counters];
  key_t min_near, max_updated;
  // The far queue.
  u32 list_size[lists];
  key_t list_min[lists];
  int list_of_slot[partitions];  // the list that is filled, by the controller's slots
  int first_list;                // the first partition's
  int free_chunk_count;
  // The search's blocks in sum.
  u64 sums[columns];
  struct {
    u32 near, pieces;
    bool any_far, any_lost;
  } queue_totals;
  u64 block_counts[max_blocks];  // prefix sums of the notes' counts, within each 32 blocks
  u64 warp_counts[note_warps];   // the counts of 32 blocks
  // The heap, if there are heaps.
  u32 heap_size, spilled;
  key_t heap_min;
  bool may_spill;  // many vertices wait, and the heap is not full
  // The work of the iteration.
  u32 near_share, batch_width, next_entry;
  u32 hop_count[3];  // of the hop that is read, the one that is written, the one after
  u32 warp_arcs[warps], arc_ends[threads];
};

template <class T> __device__ __forceinline__ T prefix_sum(T value, u32 lane) {
  for (int step = 1; step < 32; step *= 2) {
    const T other = __shfl_up_sync(all_lanes, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

// The first of `count` items that fall to a block, if all blocks have an equal share.
__device__ __forceinline__ u32 share_start(u32 count, u32 block, u32 blocks) {
  return u32(u64(count) * block / blocks);
}

}  // namespace mgraph
