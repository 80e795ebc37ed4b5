// What the blocks of a near-far search keep and tell one another. near_far.cu explains the search.
#pragma once

#include <mgraph/grid_barrier.cuh>
#include <mgraph/warp.cuh>
#include <mgraph/path_length.cuh>
#include "self_tuning.cuh"
#include <mgraph/stop_watch.cuh>

namespace mgraph {

using u16 = unsigned short;
using u64 = unsigned long long;

constexpr int threads = MGRAPH_THREADS;
constexpr int warps = threads / 32;
constexpr u32 all_lanes = 0xFFFFFFFF;
constexpr int most_blocks = 256;         // in one search
constexpr int note_warps = most_blocks / 32;
constexpr int lists = 2 * partitions;    // of each partition: one being read, one being filled
constexpr u16 no_chunk = 0xFFFF, lost_chunk = 0xFFFE;
constexpr u32 piece_arcs = 256;          // a vertex of more arcs is cut into pieces of so many
constexpr u32 few_batches = 8;           // of entries: then the block shares their arcs evenly
constexpr u32 most_local_arcs = 4;       // a thread, with which a block goes on by itself
constexpr float widest_wave = 8;         // arcs a thread, up to which hops are worth while
constexpr int trace_columns = 10;        // trace.py names them

// Sums over a search's blocks, of one round.
enum column {
  near_sum,      // entries that wait near, to be shared
  piece_sum,     // pieces that wait
  expanded_sum,  // X1
  arcs_sum,      // X2
  updated_sum,   // X3, and what was updated twice
  lost_sum,      // blocks that had no room for an entry
  settled_sum,   // targets settled, or those that are not
  met_sum,       // far entries within the threshold
  drawn_sum,     // those of them that were not replaced
  counters,
  far_sum = counters,
  least_near_column = far_sum + partitions,  // minima of keys
  least_far_column,
  largest_column,                            // maxima: of keys updated; of a block's far entries
  fullest_column,
  stopped_column,                            // not 0: the host wants the search to end
  columns
};

// What a block tells the others at a barrier, in one word that they wait for.
struct note {
  u64 word;

  __device__ explicit note(u64 word) : word(word) {}
  __device__ note(u32 near, u32 pieces, bool far, bool lost, u32 round)
      : word(near | u64(pieces) << 26 | u64(far) << 46 | u64(lost) << 47 | u64(round) << 48) {}
  __device__ bool is_of(u32 round) const { return u32(word >> 48) == (round & 0xFFFF); }
  // Counts, to be added up over the blocks: near entries below, pieces above.
  __device__ u64 counts() const { return (word & 0x3FFFFFF) | (word >> 26 & 0xFFFFF) << 32; }
  __device__ bool far() const { return word >> 46 & 1; }
  __device__ bool lost() const { return word >> 47 & 1; }
};

struct graph {
  const long long* indptr;
  const int* indices;
  const weight_t* weights;  // null: every weight is 1

  __device__ key_t along(key_t key, long long arc) const {
    return extended(key, weights ? weights[arc] : weight_t(1));
  }
};

// A vertex and the distance with which it came to wait: it counts while that is its distance.
struct entry {
  bool live;
  int vertex;
  key_t key;
  long long begin;  // its arcs
  u32 degree;
};

struct entry_list {
  int* vertex;
  key_t* key;
};

struct piece_list {
  int* vertex;
  key_t* key;
  u32* number;
};

// What a block keeps for itself, with where the arcs are.
struct local_list {
  long long begin[threads];
  key_t key[threads];
  int vertex[threads];
  u32 degree[threads];
};

// Memory that the host provides. The lists of all blocks stand one behind the other, those that
// are read and those that are written in turn.
struct memory {
  entry_list near;
  u32 near_capacity;
  piece_list pieces;
  u32 piece_capacity;
  entry_list far;  // a block's slice: chunks of entries
  int chunks;
  u32 chunk_entries;
};

// A block's shared memory, but for its local lists and the tables of chunks.
struct block_state {
  stop_watch watch;             // of the first block of a search, by the first lane of control
  controller control;
  // decided for an iteration
  key_t threshold;
  double threshold_before;
  bool stop, collect;           // the search is over; the far queue is lost and begun anew
  bool eager, clean;            // few arcs at a time; look whether far entries were replaced
  int hops;
  u32 quota;                    // far vertices that this block expands itself
  key_t bounds[partitions];     // where new far entries go: beyond bounds[i - 1], to
  int list_of_part[partitions]; // this list
  int reads;                    // lists to read, and where each begins among all their entries
  int read_list[partitions];
  u32 read_start[partitions + 1];
  // this block's share of the sums
  u32 count[counters];
  key_t least_near, largest;
  // the far queue
  u32 size[lists];
  key_t least[lists];
  int list_of[partitions];      // by slot: the list that is filled
  int first_list;               // of the first partition
  int free_chunks;
  // all blocks together
  u64 sums[columns];
  struct {
    u32 near, pieces;
    bool far, lost;             // something waits far; an entry was lost
  } left;
  u64 counts[most_blocks];      // of each warp's share of blocks, prefix sums
  u64 warp_counts[note_warps];
  // the heap, where there is one
  u32 heap_size, moving;
  key_t heap_least;
  bool may_spill;               // there is enough for it, and it is not full
  // work in hand
  u32 near_count, width, next_entry;
  u32 local_count[3];           // of the hop read, the hop written, the one after
  u32 warp_arcs[warps], ends[threads];
};

template <class T> __device__ __forceinline__ T prefix_sum(T value, u32 lane) {
  for (int step = 1; step < 32; step *= 2) {
    const T other = __shfl_up_sync(all_lanes, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

// Where block `block` of `blocks` begins in `count` things.
__device__ __forceinline__ u32 share(u32 count, u32 block, u32 blocks) {
  return u32(u64(count) * block / blocks);
}

}  // namespace mgraph
