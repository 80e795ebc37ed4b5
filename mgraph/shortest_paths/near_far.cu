// Near-far shortest paths in one launch: the whole search, controller included, runs on the device.
//
// A group of blocks does one search after another. An iteration has one barrier among them:
//
//   decide   every block reads the same sums and counts, and so finds the same threshold
//   expand   a block takes its share of the near vertices that all blocks left, and those of its
//            own far vertices that are now within the threshold, and relaxes their arcs
//            (advance); what an arc improved goes to this block's near list or far queue
//            (filter and bisect-frontier), each with the distance it was improved to
//   publish  add the counts up, leave the near list to all, and wait
//
// An entry (vertex, distance) counts only while the distance is still the vertex's: later ones
// replace it. So nothing is ever looked for in a queue, and each value is expanded at most once.
// The far queue is a block's own, in shared-memory tables over its slice of the pool: partitions
// by distance, each a list of chunks. A block that runs out of chunks drops the entry and says so;
// then all blocks collect every reached vertex again (`collect`), which is always right.
// A warp spreads its entries' arcs over its lanes; a vertex of many arcs is cut into pieces that
// the whole grid shares in the next iteration.
#include "mgraph/path_length.cuh"
#include "mgraph/self_tuning.cuh"

namespace mgraph {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int threads = MGRAPH_THREADS;
constexpr int warps = threads / 32;
constexpr int most_blocks = 256;           // in one search
constexpr int lists = 2 * partitions;      // of each partition: one being read, one being filled
constexpr u32 most_arcs = 256;             // of a vertex that one block expands
constexpr u32 few_batches = 8;             // of entries: then the block shares their arcs evenly
constexpr u32 piece_arcs = 256;            // of a vertex with more arcs than this
constexpr u16 no_chunk = 0xFFFF, lost_chunk = 0xFFFE;
constexpr u32 most_local = threads / 4;       // entries with which a block goes on by itself
constexpr u32 local_entries = threads;    // that a block keeps for its next hop
constexpr u32 full_warp = 0xFFFFFFFF;
constexpr int trace_columns = 16;

// Sums over a search's blocks, in a ring of three.
enum column {
  near_sum, piece_sum, expanded_sum, arcs_sum, updated_sum, lost_sum, settled_sum,
  met_sum,     // far entries within the threshold
  drawn_sum,   // those of them that were not replaced
  counters,
  far_sum = counters,
  least_near_column = far_sum + partitions,  // minima of keys
  least_far_column,
  largest_column,                            // maxima
  fullest_column,
  columns
};

// What a block tells the others at a barrier, in one word that they wait for.
struct note {
  u64 word;

  __device__ note(u64 word) : word(word) {}
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
    return weights ? extended(key, weights[arc]) : extended(key, weight_t(1));
  }
};

struct near_list {  // what one block leaves to all
  int* vertex;
  key_t* key;
};

struct piece_list {
  int* vertex;
  key_t* key;
  u32* number;
};

struct local_list {  // what a block keeps for its next hop, with where the arcs are
  long long begin[local_entries];
  key_t key[local_entries];
  int vertex[local_entries];
  u32 degree[local_entries];
};

struct far_pool {  // a block's slice
  int* vertex;
  key_t* key;
};

struct block_state {
  controller control;
  key_t bounds[partitions];    // where new entries go
  int partition_list[partitions];
  key_t threshold;
  u32 count[counters];  // this block's share of the sums
  key_t least_near, largest;
  u32 size[lists];
  key_t least[lists];
  int free_chunks;
  int list_of[partitions];       // the list that a partition's new entries go to
  int read_list[partitions];     // the lists that this iteration reads, and where each begins
  u32 read_start[partitions + 1];
  int reads;
  int current_list;                        // of the far queue's first partition
  bool stop, collect, eager, current_read;
  bool clean;                              // look whether far entries were replaced
  int hops;
  u32 local_count[3];                      // of the hop read, the hop written, the one after
  u32 next_entry;
  u32 quota;                               // of far vertices that this block expands itself
  u64 sums[columns];                       // of the newest round
  u64 counts[most_blocks];                 // of each warp's share of blocks, prefix sums
  u64 warp_counts[most_blocks / 32];
  u32 warp_arcs[warps], ends[threads];     // of the entries that are kept
  u32 entries, width;                      // to look up in this iteration, and at a time by a warp
};

template <class T> __device__ __forceinline__ T fresh(const T* address) { return __ldcg(address); }

__device__ __forceinline__ u32 lanes_below() {
  u32 mask;
  asm("mov.u32 %0, %lanemask_lt;" : "=r"(mask));
  return mask;
}

// A vertex to expand, if it is still live: if no shorter path to it was found since.
struct entry {
  bool live;
  int vertex;
  key_t key;
  long long begin;
  u32 degree;
};

// One search's view from one block.
struct searcher {
  graph g;
  key_t* distance;
  key_t cutoff;
  block_state& s;
  local_list* local;  // [2]
  u16* chunk_of;    // [lists][chunks], shared
  u16* free_list;   // [chunks], shared
  int chunks;
  u32 chunk_entries;
  far_pool far;
  near_list near_out;
  u32 near_capacity;
  piece_list piece_out;
  u32 piece_capacity;
  bool one_partition;
  int hop;

  // Look a vertex up; all loads of it are under way at once.
  __device__ entry look_up(bool mine, int vertex, key_t key) const {
    entry e{false, vertex, key, 0, 0};
    if (mine) {
      const key_t now = fresh(&distance[vertex]);
      e.begin = g.indptr[vertex];
      e.degree = u32(g.indptr[vertex + 1] - e.begin);
      e.live = now == key;
    }
    return e;
  }

  __device__ int partition_of(key_t key) const {
    if (one_partition) return 0;
    int p = 0;
#pragma unroll
    for (int i = 0; i < partitions - 1; ++i) p += key > s.bounds[i];
    return p;
  }

  // Put an entry a lane into a partition's list; all lanes of the warp are here.
  __device__ void put_into(int partition, bool mine, int vertex, key_t key) {
    if (!__any_sync(full_warp, mine)) return;
    const int list = s.partition_list[partition];
    const u32 position = mine ? atomicAdd(&s.size[list], 1u) : 0;
    const u32 index = position / chunk_entries;
    if (mine && position % chunk_entries == 0 && index < chunks) {  // a chunk's first provides it
      const int top = atomicSub(&s.free_chunks, 1) - 1;
      if (top < 0) atomicAdd(&s.free_chunks, 1);
      *(volatile u16*)&chunk_of[list * chunks + index] = top < 0 ? lost_chunk : free_list[top];
    }
    __syncwarp();
    if (mine) {
      u16 chunk = lost_chunk;
      if (index < chunks) {
        const volatile u16* provided = &chunk_of[list * chunks + index];
        while ((chunk = *provided) == no_chunk) {
        }
      }
      if (chunk == lost_chunk) {
        s.count[lost_sum] = 1;
      } else {
        const u32 at = chunk * chunk_entries + position % chunk_entries;
        far.vertex[at] = vertex;
        far.key[at] = key;
        atomicMin(&s.least[list], key);
      }
    }
    __syncwarp();
  }

  __device__ void put_far(bool mine, int vertex, key_t key) {
    put_into(mine ? partition_of(key) : 0, mine, vertex, key);
  }

  // A place for each lane of a mask in a list that grows; all lanes of the warp are here.
  __device__ u32 place_in(u32* count, u32 mask) const {
    const int leader = __ffs(mask) - 1;
    u32 position = 0;
    if ((threadIdx.x & 31) == leader) position = atomicAdd(count, __popc(mask));
    return __shfl_sync(full_warp, position, leader) + __popc(mask & lanes_below());
  }

  // Leave an entry a lane to all blocks, for the next iteration; where there is no room, to the
  // first partition, which the next iteration reads since it holds something near.
  __device__ void leave(bool mine, int vertex, key_t key) {
    const u32 mask = __ballot_sync(full_warp, mine);
    if (!mask) return;
    const u32 position = place_in(&s.count[near_sum], mask);
    const bool room = position < near_capacity;
    if (mine && room) {
      near_out.vertex[position] = vertex;
      near_out.key[position] = key;
      atomicMin(&s.least_near, key);
    }
    put_into(0, mine && !room, vertex, key);
  }

  // Bisect-frontier for one entry a lane; in a hop before the last, with its row.
  __device__ void put(bool mine, const entry& e) {
    bool near = mine && e.key <= s.threshold;
    const bool far = mine && !near;
    if (hop + 1 < s.hops) {  // this block's next hop takes what it has room for
      const u32 mask = __ballot_sync(full_warp, near);
      if (mask) {
        const u32 position = place_in(&s.local_count[(hop + 1) % 3], mask);
        if (near && position < local_entries) {
          local_list& list = local[(hop + 1) & 1];
          list.vertex[position] = e.vertex;
          list.key[position] = e.key;
          list.begin[position] = e.begin;
          list.degree[position] = e.degree;
          near = false;
        }
      }
    }
    leave(near, e.vertex, e.key);
    put_far(far, e.vertex, e.key);
  }

  // Advance along one arc a lane.
  __device__ void relax(bool mine, key_t key, long long arc) {
    entry e{false, 0, no_key, 0, 0};
    if (mine) {
      e.vertex = g.indices[arc];
      e.key = g.along(key, arc);
      mine = e.key <= cutoff;
      // With few arcs about, latency counts: then the row is fetched beside the distance, and the
      // distance not asked for first.
      if (s.eager) {
        e.begin = g.indptr[e.vertex];
        e.degree = u32(g.indptr[e.vertex + 1] - e.begin);
      } else {
        mine = mine && e.key < fresh(&distance[e.vertex]);
      }
      if (mine) mine = e.key < atomicMin(&distance[e.vertex], e.key);
    }
    const u32 improved = __ballot_sync(full_warp, mine);
    if (!improved) return;
    if ((threadIdx.x & 31) == 0) atomicAdd(&s.count[updated_sum], __popc(improved));
    if (mine) atomicMax(&s.largest, e.key);
    put(mine, e);
  }

  // Relax the arcs of one entry a lane, spread evenly over the warp. unsure: the entry may have
  // been replaced; that is looked up while its arcs are on their way.
  __device__ void expand(bool mine, const entry& e, bool unsure = false) {
    const key_t now = unsure && mine ? fresh(&distance[e.vertex]) : e.key;
    const u32 lane = threadIdx.x & 31;
    const bool left = mine && e.degree > most_arcs && leave_pieces(e);
    const u32 degree = mine && !left ? e.degree : 0;
    u32 end = degree;  // inclusive prefix sum
    for (int step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(full_warp, end, step);
      if (lane >= step) end += other;
    }
    const u32 total = __shfl_sync(full_warp, end, 31);
    if (!total) return;
    const u32 start = end - degree;
    const u32 live = __ballot_sync(full_warp, degree > 0);
    if (lane == 0) {
      atomicAdd(&s.count[arcs_sum], total);
      atomicAdd(&s.count[expanded_sum], __popc(live));
    }
    const bool current = !unsure || now == e.key;
    for (u32 base = 0; base < total; base += 32) {
      const u32 rank = base + lane;
      int owner = 0;  // the last lane whose start is at most rank
      for (int step = 16; step; step /= 2) {
        const u32 there = __shfl_sync(full_warp, start, owner + step);
        if (there <= rank) owner += step;
      }
      const key_t from = __shfl_sync(full_warp, e.key, owner);
      const long long begin = __shfl_sync(full_warp, e.begin, owner);
      const u32 skip = __shfl_sync(full_warp, start, owner);
      const bool counts = __shfl_sync(full_warp, int(current), owner);
      relax(rank < total && counts, from, begin + (rank - skip));
    }
  }

  // Keep an entry a lane for `expand_kept`; there is room for one a thread.
  __device__ void keep(bool mine, const entry& e) {
    if (mine && e.degree > most_arcs) mine = !leave_pieces(e);
    const u32 mask = __ballot_sync(full_warp, mine);
    if (!mask) return;
    const u32 position = place_in(&s.local_count[0], mask);
    if (mine) {
      local_list& list = local[0];
      list.key[position] = e.key;
      list.begin[position] = e.begin;
      list.degree[position] = e.degree;
    }
  }

  // Relax the arcs of the kept entries, spread evenly over the block's threads. By all of them.
  __device__ void expand_kept() {
    __syncthreads();
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, count = s.local_count[0];
    local_list& list = local[0];
    u32 end = threadIdx.x < count ? list.degree[threadIdx.x] : 0;
    for (int step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(full_warp, end, step);
      if (lane >= step) end += other;
    }
    if (lane == 31) s.warp_arcs[warp] = end;
    __syncthreads();
    u32 before = 0;
    if (lane < warp) before = s.warp_arcs[lane];
    for (int step = 16; step; step /= 2) before += __shfl_xor_sync(full_warp, before, step);
    u32* const ends = s.ends;
    ends[threadIdx.x] = before + end;
    __syncthreads();
    const u32 total = count ? ends[count - 1] : 0;
    if (threadIdx.x == 0) {
      s.count[arcs_sum] += total;
      s.count[expanded_sum] += count;
      s.local_count[0] = 0;
    }
    for (u32 base = warp * 32; base < total; base += threads) {
      const u32 rank = base + lane;
      u32 low = 0, high = count - 1;  // the first entry whose end is above rank
      while (low < high) {
        const u32 middle = (low + high) / 2;
        if (ends[middle] <= rank) low = middle + 1; else high = middle;
      }
      const u32 skip = low ? ends[low - 1] : 0;
      relax(rank < total, list.key[low], list.begin[low] + (rank - skip));
    }
    __syncthreads();
  }

  // Cut a vertex of many arcs up for the whole grid; false where there is no room.
  __device__ bool leave_pieces(const entry& e) {
    const u32 count = (e.degree + piece_arcs - 1) / piece_arcs;
    const u32 position = atomicAdd(&s.count[piece_sum], count);
    if (position + count > piece_capacity) {
      atomicSub(&s.count[piece_sum], count);
      return false;
    }
    for (u32 i = 0; i < count; ++i) {
      piece_out.vertex[position + i] = e.vertex;
      piece_out.key[position + i] = e.key;
      piece_out.number[position + i] = i;
    }
    atomicMin(&s.least_near, e.key);
    return true;
  }

  __device__ void expand_piece(int u, key_t key, u32 number) {
    const u32 lane = threadIdx.x & 31;
    if (fresh(&distance[u]) != key) return;
    const long long stop = g.indptr[u + 1];
    const long long begin = g.indptr[u] + (long long)number * piece_arcs;
    const long long end = min(begin + piece_arcs, stop);
    if (lane == 0) {
      atomicAdd(&s.count[arcs_sum], u32(end - begin));
      if (number == 0) atomicAdd(&s.count[expanded_sum], 1u);
    }
    for (long long base = begin; base < end; base += 32) {
      relax(base + lane < end, key, base + lane);
    }
  }
};

__device__ __forceinline__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

__device__ __forceinline__ u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// The range `block` of `blocks` has of `count` things.
__device__ __forceinline__ u32 share(u32 count, u32 block, u32 blocks) {
  return u32(u64(count) * block / blocks);
}

// Which part a position falls into: the last b with start[b] <= position.
__device__ __forceinline__ u32 part_of(const u32* start, u32 parts, u32 position) {
  u32 low = 0;
  for (u32 b = 1; b < parts; ++b) {
    if (start[b] <= position) low = b;
  }
  return low;
}

struct place {
  u32 block, offset;
};

// Whose entry stands at a position in the order of blocks. shift: 0 near entries, 32 pieces.
__device__ __forceinline__ place place_of(const block_state& s, const u64* before, u32 position,
                                          int shift) {
  u32 w = 0, base = 0;
#pragma unroll
  for (int i = 1; i < most_blocks / 32; ++i) {
    if (u32(before[i] >> shift) <= position) {
      w = i;
      base = u32(before[i] >> shift);
    }
  }
  const u64* counts = s.counts + w * 32;  // inclusive prefix sums
  u32 low = 0;                            // how many of them are at most position
  for (int step = 16; step; step /= 2) {
    if (base + u32(counts[low + step - 1] >> shift) <= position) low += step;
  }
  return {w * 32 + low, position - base - (low ? u32(counts[low - 1] >> shift) : 0)};
}

}  // namespace mgraph

using namespace mgraph;

#ifdef MGRAPH_PROFILE
#define STAMP(k) if (threadIdx.x == 0 && trace && iteration >= 400 && iteration < 416) trace[(150000 + (iteration - 400) * 40) * 16ll + block * 4 + k] = double(nanoseconds());
#else
#define STAMP(k)
#endif
extern "C" __global__ void __launch_bounds__(threads, 1) near_far_search(
    const long long* indptr, const int* indices, const weight_t* weights, int n,
    // what is asked: searches, each from seeds[seed_start[i]:seed_start[i + 1]]
    int searches, const int* seed_start, const int* seeds, const int* targets, int target_count,
    int first_target, key_t cutoff, key_t* distances,
    // how: delta > 0 is near-far's; else the controller follows set_point
    double delta, const double* set_point, int hops, double mean_degree, double mean_weight, double quantum,
    // working memory
    int blocks, u32 near_capacity, u32 piece_capacity, int chunks, u32 chunk_entries,
    int* near_vertex, key_t* near_key, int* piece_vertex, key_t* piece_key, u32* piece_number,
    int* far_vertex, key_t* far_key, u64* sums, u64* notes,
    // what happened
    double* trace, int trace_rows, u32 most_iterations, u64* status) {
  extern __shared__ local_list shared[];
  u16* const tables = (u16*)(shared + 2);
  __shared__ block_state s;
  const int block = blockIdx.x % blocks, group = blockIdx.x / blocks;
  const int groups = gridDim.x / blocks;
  const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const int me = blockIdx.x;
  constexpr u32 control_warp = warps - 1;
  const bool controls = threadIdx.x == control_warp * 32;
  sums += group * 3 * columns;
  notes += group * 2 * blocks;

  searcher it{{indptr, indices, weights}, nullptr, cutoff, s, shared, tables, tables + lists * chunks,
              chunks, chunk_entries,
              {far_vertex + size_t(me) * chunks * chunk_entries,
               far_key + size_t(me) * chunks * chunk_entries},
              {}, near_capacity, {}, piece_capacity, delta > 0, 0};
  const auto near_at = [&](int side, int b) {
    return (size_t(side) * gridDim.x + group * blocks + b) * near_capacity;
  };
  const auto piece_at = [&](int side, int b) {
    return (size_t(side) * gridDim.x + group * blocks + b) * piece_capacity;
  };
  const auto write_to = [&](int side) {
    it.near_out = {near_vertex + near_at(side, block), near_key + near_at(side, block)};
    it.piece_out = {piece_vertex + piece_at(side, block), piece_key + piece_at(side, block),
                    piece_number + piece_at(side, block)};
  };
  u32 round = 0;  // barriers passed by this group
  for (int search = group; search < searches; search += groups) {
    it.distance = distances + size_t(search) * n;
    __syncthreads();
    for (int i = threadIdx.x; i < lists * chunks; i += threads) it.chunk_of[i] = no_chunk;
    for (int i = threadIdx.x; i < chunks; i += threads) it.free_list[i] = u16(i);
    if (threadIdx.x < lists) {
      s.size[threadIdx.x] = 0;
      s.least[threadIdx.x] = no_key;
    }
    if (threadIdx.x < columns) s.sums[threadIdx.x] = 0;
    if (threadIdx.x < most_blocks / 32) s.warp_counts[threadIdx.x] = 0;
    if (controls) {
      s.control.begin(set_point ? *set_point : 0, mean_degree, mean_weight, quantum, hops);
      if (delta > 0) s.control.threshold = delta;
      s.free_chunks = chunks;
      for (int p = 0; p < partitions; ++p) {
        s.list_of[p] = 2 * p;
        s.partition_list[p] = 2 * p;
        s.bounds[p] = no_key;
      }
      s.bounds[0] = key_at_most(s.control.bounds[0]);
      s.reads = 0;
      for (int i = 0; i < counters; ++i) s.count[i] = 0;
      s.least_near = no_key;
      s.largest = 0;
      s.threshold = key_at_most(s.control.threshold);
      s.eager = false;
      s.hops = 1;
      s.current_list = 0;
    }
    __syncthreads();
    // Seeds are near, at distance 0.
    it.hop = 0;
    write_to(round & 1);
    const int first_seed = seed_start[search], end_seed = seed_start[search + 1];
    for (int i = first_seed + block * threads; i < end_seed; i += blocks * threads) {
      const int index = i + threadIdx.x;
      const bool mine = index < end_seed;
      const int v = mine ? seeds[index] : 0;
      it.put(mine && atomicMin(&it.distance[v], key_t(0)) > 0, entry{true, v, key_t(0), 0, 0});
    }
    for (u32 iteration = 0;; ++iteration, ++round) {
      __syncthreads();
      STAMP(0)

      // publish
      u64* const now = sums + round % 3 * columns;
      const int side = round & 1;
      if (warp == 0) {
        const u32 far_size = lane < partitions ? s.size[s.list_of[lane]] : 0;
        const bool far = __any_sync(full_warp, far_size > 0);
        u32 all_far = far_size;
        for (int step = 1; step < partitions; step *= 2) all_far += __shfl_xor_sync(full_warp, all_far, step);
        const u32 count = lane < counters ? s.count[lane] : 0;
        const u32 near = min(__shfl_sync(full_warp, count, near_sum), near_capacity);
        const u32 pieces = __shfl_sync(full_warp, count, piece_sum);
        const bool lost = __shfl_sync(full_warp, count, lost_sum) > 0;
        if (count) atomicAdd(&now[lane], u64(count));
        if (far_size) {
          atomicAdd(&now[(far_sum + lane)], u64(far_size));
          atomicMin((long long*)&now[least_far_column], (long long)s.least[s.list_of[lane]]);
        }
        if (lane == 0) atomicMin((long long*)&now[least_near_column], (long long)s.least_near);
        if (lane == 1) atomicMax((long long*)&now[largest_column], (long long)s.largest);
        if (lane == 0) atomicMax((long long*)&now[fullest_column], (long long)all_far);
        if (block == 0 && lane < columns) {
          // The ring's next, which was read last two rounds ago.
          const bool minimum = lane == least_near_column || lane == least_far_column;
          sums[((round + 1) % 3 * columns + lane)] = minimum ? u64(no_key) : 0;
        }
        __syncwarp();
        fence();
        STAMP(1)
        if (lane == 0) {
          *(volatile u64*)&notes[side * blocks + block] = note(near, pieces, far, lost, round).word;
        }
      }
      // Meanwhile give back the chunks of the lists that were read.
      if (warp == control_warp) {
        for (int r = 0; r < s.reads; ++r) {
          const int list = s.read_list[r];
          const u32 used = min(u32(chunks), (s.size[list] + chunk_entries - 1) / chunk_entries);
          for (u32 i = lane; i < used; i += 32) {
            const u16 chunk = it.chunk_of[list * chunks + i];
            it.chunk_of[list * chunks + i] = no_chunk;
            if (chunk < lost_chunk) it.free_list[atomicAdd(&s.free_chunks, 1)] = chunk;
          }
        }
      }
      // What the lists are, before the decision changes it.
      const int current_list = s.current_list;
      const u32 current_size = s.size[current_list];
      u32 width = 1, near_count = 0, first = 0, pieces = 0;
      entry e{};
      u64 before[most_blocks / 32] = {};
      u32 near_first = 0;
      const auto near_entry = [&](bool mine, u32 i) {
        if (!mine) return it.look_up(false, 0, 0);
        const place p = place_of(s, before, near_first + i, 0);
        const size_t at = near_at(side, p.block) + p.offset;
        return it.look_up(true, fresh(&near_vertex[at]), fresh(&near_key[at]));
      };
      const auto far_entry = [&](bool mine, int list, u32 position) {
        const u32 index = position / chunk_entries;
        const u16 chunk =
            mine && index < chunks ? it.chunk_of[list * chunks + index] : lost_chunk;
        if (chunk >= lost_chunk) return entry{};
        const u32 at = chunk * chunk_entries + position % chunk_entries;
        return entry{true, it.far.vertex[at], it.far.key[at], 0, 0};  // looked up when it is near
      };
      const auto read_notes = [&](int b) {  // wait for a block; 0 beyond the last
        note told(b < blocks ? *(volatile u64*)&notes[side * blocks + b] : 0);
        while (!__all_sync(full_warp, b >= blocks || told.is_of(round))) {
          if (b < blocks) told = note(*(volatile u64*)&notes[side * blocks + b]);
        }
        return told;
      };
      const int note_warps = (blocks + 31) / 32;
      if (warp != control_warp) {
        // Wait for the notes, a lane a block, and look up a first batch while one warp decides.
        if (warp < note_warps) {
          const note told = read_notes(warp * 32 + lane);
          STAMP(2)
          fence();
          u64 counts = told.counts();
          for (int step = 1; step < 32; step *= 2) {
            const u64 other = __shfl_up_sync(full_warp, counts, step);
            if (lane >= step) counts += other;
          }
          s.counts[warp * 32 + lane] = counts;
          if (lane == 31) s.warp_counts[warp] = counts;
        }
        asm volatile("bar.sync 1, %0;" ::"n"(threads - 32) : "memory");
      } else {
        controller& c = s.control;
        u64 counts = 0;
        bool any_far = false, any_lost = false;
        for (int b = lane; b < note_warps * 32; b += 32) {
          const note told = read_notes(b);
          counts += told.counts();
          any_far |= b < blocks && told.far();
          any_lost |= b < blocks && told.lost();
        }
        fence();
        const u64 newest = lane < columns ? fresh(&now[lane]) : 0;
        for (int step = 1; step < 32; step *= 2) {
          counts += __shfl_xor_sync(full_warp, counts, step);
        }
        any_far = __any_sync(full_warp, any_far);
        any_lost = __any_sync(full_warp, any_lost);
        const bool near_left = counts > 0;
        const u32 near_total = u32(counts);
        if (lane < columns) s.sums[lane] = newest;
        __syncwarp();
        const key_t least_near = key_t(s.sums[least_near_column]);
        const key_t least_far = key_t(s.sums[least_far_column]);
        observation seen;
        seen.near = float(near_total);
        seen.piece_arcs = float(u32(counts >> 32)) * piece_arcs;
        seen.far_here = lane < c.live ? float(s.sums[far_sum + c.slots[lane]]) : 0;
        seen.expanded = float(s.sums[expanded_sum]);
        seen.met = float(s.sums[met_sum]);
        seen.drawn = float(s.sums[drawn_sum]);
        seen.least = double(as_length(near_left ? least_near : least_far));
        seen.largest = double(as_length(key_t(s.sums[largest_column])));
        float far = seen.far_here;  // near-far has one partition, lane 0's
        bool stop = (!near_left && !any_far && !any_lost) || iteration >= most_iterations;
        if (target_count > 0 && iteration > 1) {
          stop = stop || (first_target ? s.sums[settled_sum] > 0 : s.sums[settled_sum] == 0);
        }
        if (delta <= 0) {
          if (!stop) c.decide(seen, lane);
        } else if (!near_left && any_far && lane == 0) {
          c.threshold = fmax(c.threshold + delta, (floor(seen.least / delta) + 1) * delta);
        }
        __syncwarp();
        // Read the partitions that hold something within the threshold; fill new lists.
        const key_t threshold =
            max(key_at_most(c.threshold), near_left || !any_far ? key_t(0) : least_far);
        const bool anything = any_far && least_far <= threshold && !any_lost;
        const int slot = lane < partitions ? c.slots[lane] : 0;
        const int lived = delta > 0 ? 1 : c.live;
        const int divided = delta > 0 ? anything : c.divide(anything, lane);
        // What is read is freed only afterwards: begin while there is room for all of it again.
        const bool clean = s.sums[fullest_column] > u64(chunks) * chunk_entries * 4 / 10;
        const int reads = clean && !any_lost ? lived : divided;
        const int list = s.list_of[slot];
        u32 end = lane < reads ? s.size[list] : 0;
        for (int step = 1; step < partitions; step *= 2) {
          const u32 other = __shfl_up_sync(full_warp, end, step);
          if (lane >= step) end += other;
        }
        __syncwarp();
        if (lane < reads) {
          s.read_list[lane] = list;
          s.read_start[lane + 1] = end;
          s.list_of[slot] = list ^ 1;
          s.size[list ^ 1] = 0;
          s.least[list ^ 1] = no_key;
        }
        __syncwarp();
        if (lane < counters) s.count[lane] = 0;
        if (lane < partitions) {
          s.bounds[lane] = lane < c.live - 1 ? key_at_most(c.bounds[lane]) : no_key;
          s.partition_list[lane] = s.list_of[c.slots[lane]];
        }
        if (lane < 3) s.local_count[lane] = 0;
        if (lane == 0) {
          s.reads = reads;
          s.clean = clean;
          s.read_start[0] = 0;
          s.current_read = reads > 0;
          s.threshold = threshold;
          s.least_near = no_key;
          s.largest = 0;
          s.collect = any_lost;
          s.stop = stop;
          // Few arcs at a time: latency counts, and asking for as little as possible.
          s.eager = hops > 1 && near_total * float(mean_degree) <= float(blocks * threads);
          s.hops = s.eager ? hops : 1;
          s.next_entry = 0;
          const float wanted = delta > 0 ? far : c.target - seen.near;
          s.quota = max(32u, u32(fmaxf(wanted, 0) * (hops > 1 ? 1.25f : 4.0f) / blocks));
        }
      }
      if (warp != control_warp) {
        u64 total = 0;
#pragma unroll
        for (int w = 0; w < most_blocks / 32; ++w) {
          before[w] = total;
          total += s.warp_counts[w];
        }
        pieces = u32(total >> 32);
        near_first = share(u32(total), block, blocks);
        near_count = share(u32(total), block + 1, blocks) - near_first;
        width = max(1u, min(32u, (near_count + current_size + warps - 2) / (warps - 1)));
        first = warp * width + lane;
        const bool mine = lane < width;
        e = first < near_count
                ? near_entry(mine, first)
                : far_entry(mine && first < near_count + current_size, current_list,
                            first - near_count);
        if (threadIdx.x == 0) {
          s.entries = near_count;
          s.width = width;
        }
      }
      __syncthreads();
      STAMP(3)
      if (s.stop) {
        if (threadIdx.x == 0 && block == 0) status[search] = iteration;
        ++round;
        break;
      }
      write_to(side ^ 1);

      if (warp == control_warp && (delta <= 0 || trace)) {
        const double expanded = double(s.sums[expanded_sum]), arcs = double(s.sums[arcs_sum]);
        if (trace && me == 0 && search == 0 && iteration < trace_rows && lane == 0) {
          const controller& c = s.control;
          double* row = trace + size_t(iteration) * trace_columns;
          row[0] = expanded;
          row[1] = arcs;
          row[2] = double(s.sums[updated_sum]);
          row[3] = double(s.sums[near_sum]);
          row[4] = c.threshold - (delta > 0 ? 0 : c.step);
          row[5] = c.advance.slope;
          row[6] = c.alpha;
          row[7] = delta > 0 ? 1 : c.live;
          row[8] = 0;
          for (int p = 0; p < partitions; ++p) row[8] += double(s.sums[far_sum + p]);
          row[9] = double(s.sums[lost_sum]);
          row[11] = double(s.sums[fullest_column]);
          row[10] = double(nanoseconds());
        }
        __syncwarp();
        if (delta <= 0) s.control.learn(expanded, arcs, lane);
      }
      if (controls) s.current_list = s.partition_list[0];

      // expand
      it.hop = 0;
      if (s.collect) {  // an entry was dropped: begin the far queue anew, from every vertex reached
        for (int i = threadIdx.x; i < lists * chunks; i += threads) it.chunk_of[i] = no_chunk;
        for (int i = threadIdx.x; i < chunks; i += threads) it.free_list[i] = u16(i);
        if (threadIdx.x < lists) {
          s.size[threadIdx.x] = 0;
          s.least[threadIdx.x] = no_key;
        }
        if (threadIdx.x == 0) s.free_chunks = chunks;
        __syncthreads();
        const u32 begin = share(u32(n), block, blocks), end = share(u32(n), block + 1, blocks);
        for (u32 base = begin; base < end; base += threads) {
          const u32 v = base + threadIdx.x;
          const key_t key = v < end ? fresh(&it.distance[v]) : no_key;
          it.hop = hops;  // the rows are not at hand
          it.put(v < end && key <= cutoff, entry{true, int(v), key, 0, 0});
          it.hop = 0;
        }
      }
      const u32 entries = near_count + s.read_start[s.reads];
      bool in_batch = lane < width;
      const auto any_far_entry = [&]() {
        const u32 r = part_of(s.read_start, s.reads, first - near_count);
        return far_entry(in_batch && first < entries, s.read_list[r],
                         first - near_count - s.read_start[r]);
      };
      // What becomes of an entry: far again, left to all, or expanded here.
      const auto sift = [&]() {
        const bool present = e.live && in_batch && first < entries;
        const bool above = present && e.key > s.threshold;
        if (first >= near_count) {
          const bool asked = present && (!above || s.clean);
          const bool unasked = present && !asked;
          e = it.look_up(asked, e.vertex, e.key);
          e.live = e.live || unasked;
        }
        it.put_far(above && e.live, e.vertex, e.key);
        const bool near = present && !above && e.live;
        // Far vertices above this block's share of the work go to all.
        bool surplus = near && first >= near_count;
        const u32 met = __ballot_sync(full_warp, present && !above && first >= near_count);
        const u32 drawn = __ballot_sync(full_warp, surplus);
        if (met && lane == 0) atomicAdd(&s.count[met_sum], __popc(met));
        if (drawn) surplus = it.place_in(&s.count[drawn_sum], drawn) >= s.quota && surplus;
        it.leave(surplus, e.vertex, e.key);
        return near && !surplus;
      };
      if (warp != control_warp && first >= near_count &&
          !(s.current_read && first < near_count + current_size)) {
        e = any_far_entry();
      }
      // The first batch is at hand; the further ones are as wide as there is work.
      const u32 all = s.entries + s.read_start[s.reads];
      const u32 begun = (warps - 1) * s.width, rest = all > begun ? all - begun : 0;
      const u32 wide = max(1u, min(32u, (rest + warps - 2) / (warps - 1)));
      const auto next_batch = [&](u32 at) {
        first = begun + at + lane;
        in_batch = lane < wide;
        e = first < near_count ? near_entry(in_batch, first) : any_far_entry();
      };
      if (s.eager || rest > few_batches * 32 * (warps - 1)) {
        while (warp != control_warp && first - lane < entries) {
          it.expand(sift(), e);
          u32 at = 0;
          if (lane == 0) at = atomicAdd(&s.next_entry, wide);
          next_batch(__shfl_sync(full_warp, at, 0));
        }
      } else {  // few entries: some warps might have most of the arcs
        for (u32 done = 0; done == 0 || done - begun < rest; done += done ? (warps - 1) * wide : begun) {
          if (warp != control_warp) {
            if (done) next_batch(done - begun + warp * wide);
            it.keep(sift(), e);
          }
          it.expand_kept();
        }
      }
      for (u32 i = warp * blocks + block; i < pieces; i += blocks * (warps - 1)) {
        const place p = place_of(s, before, i, 32);
        const size_t at = piece_at(side, p.block) + p.offset;
        it.expand_piece(fresh(&piece_vertex[at]), fresh(&piece_key[at]), fresh(&piece_number[at]));
      }
      if (target_count > 0) {
        // Nothing that waits is nearer than this, and nothing ever will be.
        const key_t pending = s.sums[lost_sum]
                                  ? 0
                                  : key_t(min((long long)s.sums[least_near_column],
                                              (long long)s.sums[least_far_column]));
        u32 found = 0;
        for (int i = block * threads + threadIdx.x; i < target_count; i += blocks * threads) {
          const bool settled = fresh(&it.distance[targets[i]]) < pending;
          found += settled == bool(first_target);
        }
        if (found) atomicAdd(&s.count[settled_sum], found);
      }
      // Hops within the block: what is near and was just improved, without asking the others.
      for (int hop = 1; hop < s.hops; ++hop) {
        __syncthreads();
        const u32 count = min(s.local_count[hop % 3], local_entries);
        if (count == 0) break;
        it.hop = hop;
        if (threadIdx.x == 0) s.local_count[(hop + 2) % 3] = 0;
        const u32 width = (count + warps - 1) / warps;
        const u32 i = warp * width + lane;
        const bool mine = lane < width && i < count;
        const local_list& list = it.local[hop & 1];
        const u32 at = mine ? i : 0;
        if (count > most_local) {  // too much for one block: back to all
          it.leave(mine, list.vertex[at], list.key[at]);
          break;
        }
        it.expand(mine, entry{true, list.vertex[at], list.key[at], list.begin[at], list.degree[at]},
                  true);
      }
    }
  }
}
