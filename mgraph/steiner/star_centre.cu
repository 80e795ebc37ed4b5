// STAR's first tree: breadth-first search from all terminals of a query until a vertex is reached by
// all, and the paths from it. star_centre_cpu.py explains the method.
//
// A group of blocks does one query after another. Of a query:
//
//   hubs     whether the next level would reach one of the vertices of most arcs from all terminals
//   expand   what is new at a level's vertices arrives at their neighbours
//   commit   what arrived becomes part of the vertices' state, and they are the next level's
//   walk     the paths, a terminal a block
//   reset    the state of what was touched
//
// Cost: two barriers a step, two steps a level; an arc its head's state once a level and 32
// terminals.
#include "mgraph/arc_queue.cuh"

using namespace mgraph;

namespace {

constexpr int low = 0, high = 1, arriving = 2;  // a vertex's words; of each as many as 32 terminals
constexpr int large = 128;                      // arcs; such vertices are cut into pieces

struct query {
  long long terminals, paths;  // where its own begin
  int count;                   // of terminals
  int room;                    // for path vertices, of each terminal
};

struct outcome {
  int levels, centre;  // -1: no vertex is reached by all
};

struct path_step {
  key_t weight;  // to the vertex before
  int vertex;
};

struct counters {
  u32 near[2], arrived[2];
  u32 touched, job;
  u64 best;  // the arcs of the best vertex reached by all, and the complement of its id
};

static_assert(sizeof(counters) <= 192, "as star_memory_gpu.py has it");

struct centre_search {
  group blocks;
  const long long* indptr;
  const int* indices;
  const weight_t* weights;
  u32* state;   // [n][3][words]
  u32* listed;  // a bit a vertex: it is among those that arrived
  counters* told;
  counters& seen;  // what was told up to the last barrier; in shared memory
  int tile;
  int* near_vertex;  // pieces of large vertices, [2][capacity]
  u64* near_arcs;
  key_t* near_key;
  u32 near_capacity;
  int* arrived;  // [2][n]; large vertices whose pieces are near stand there as complements
  int* touched;  // [n]
  size_t n;
  const int* hubs;
  u32* hub_words;  // [hubs][words]
  int hub_count;
  long long hub_arcs;
  // the query
  const int* terminals;
  int count, words;
  int half;  // of the lists, the one that is read

  __device__ u32* words_of(int v, int which) const { return state + (size_t(v) * 3 + which) * words; }
  __device__ u32 reached(int v, int word) const {
    return fresh(words_of(v, low) + word) | fresh(words_of(v, high) + word);
  }
  __device__ u32 all_of(int word) const {
    const int rest = min(max(count - 32 * word, 0), 32);
    return rest == 32 ? ~0u : (1u << rest) - 1;
  }
  __device__ arc_queue near(int which) const {
    const size_t at = size_t(which) * near_capacity;
    return {near_vertex + at, near_arcs + at, near_key + at, near_capacity, &told->near[which]};
  }

  __device__ void look() {
    blocks.wait();
    if (threadIdx.x < sizeof(counters) / 4) {
      ((u32*)&seen)[threadIdx.x] = fresh((const u32*)told + threadIdx.x);
    }
    blocks.wait();
  }

  // A vertex reached by all stands for the centre.
  __device__ void propose(int v) const {
    const u64 degree = u64(min(indptr[v + 1] - indptr[v], 0xFFFFFFFFLL));
    atomicMax(&told->best, degree << 32 | u32(~v));
  }

  // What arrived at a vertex is its state now, of a level.
  __device__ void take(int v, int level) const {
    const int code = level % 3 + 1;
    bool first = true, all = true;
    for (int word = 0; word < words; ++word) {
      const u32 bits = fresh(words_of(v, arriving) + word);
      const u32 is_low = fresh(words_of(v, low) + word), is_high = fresh(words_of(v, high) + word);
      first = first && !(is_low | is_high);
      all = all && (is_low | is_high | bits) == all_of(word);
      if (code & 1) words_of(v, low)[word] = is_low | bits;
      if (code & 2) words_of(v, high)[word] = is_high | bits;
      words_of(v, arriving)[word] = 0;
    }
    if (all) propose(v);
    if (first) touched[atomicAdd(&told->touched, 1u)] = v;
  }

  // The vertices of a level take what arrived; large ones are cut into pieces.
  __device__ void commit(int level) {
    int* const list = arrived + half * n;
    const u32 size = seen.arrived[half];
    for (u32 base = 0; base < size; base += blocks.threads()) {
      const u32 i = base + blocks.thread();
      const bool mine = i < size;
      const int v = mine ? fresh(&list[i]) : 0;
      if (mine) {
        take(v, level);
        atomicAnd(&listed[v >> 5], ~(1u << (v & 31)));
      }
      const bool is_large = mine && indptr[v + 1] - indptr[v] > large;
      const long long begin = is_large ? indptr[v] : 0, end = is_large ? indptr[v + 1] : 0;
      if (near(half).put(is_large, v, false, 0, begin, end, tile) && is_large) list[i] = ~v;
    }
  }

  // What is new at u arrives at an arc's head. By all lanes of a warp.
  __device__ void spread(bool mine, int u, long long arc) {
    int v = 0;
    bool news = false;
    if (mine) {
      v = indices[arc];
      for (int word = 0; word < words; ++word) {
        const u32 bits = reached(u, word) & ~reached(v, word);
        if (!bits || !(bits & ~fresh(words_of(v, arriving) + word))) continue;
        atomicOr(words_of(v, arriving) + word, bits);
        news = true;
      }
    }
    const u32 bit = 1u << (v & 31);
    if (news) news = !(atomicOr(&listed[v >> 5], bit) & bit);
    const u32 mask = __ballot_sync(all_lanes, news);
    if (!mask) return;
    const int lane = threadIdx.x & 31, leader = __ffs(mask) - 1;
    u32 place = 0;
    if (lane == leader) place = atomicAdd(&told->arrived[1 - half], __popc(mask));
    place = __shfl_sync(all_lanes, place, leader) + __popc(mask & ((1u << lane) - 1));
    if (news) arrived[(1 - half) * n + place] = v;
  }

  __device__ void expand() {
    const int lane = threadIdx.x & 31, in_tile = lane & (tile - 1);
    const u32 warp = blocks.thread() / 32, tiles = 32 / tile, all = blocks.threads() / tile;
    const u32 pieces = min(seen.near[half], near_capacity);
    for (u32 base = warp * tiles; base < pieces; base += all) {
      const u32 i = base + lane / tile;
      const arc_piece piece = i < pieces ? near(half).at(i) : arc_piece{0, 0, 0, 0};
      for (int step = 0; step < steps; ++step) {
        const int arc = step * tile + in_tile;
        spread(arc < piece.count, piece.vertex, piece.begin + arc);
      }
    }
    const int* const list = arrived + half * n;
    for (u32 base = warp * tiles; base < seen.arrived[half]; base += all) {
      const u32 i = base + lane / tile;
      const int u = i < seen.arrived[half] ? fresh(&list[i]) : -1;
      const long long end = u < 0 ? 0 : indptr[u + 1];
      for (long long arc = u < 0 ? 0 : indptr[u] + in_tile; __any_sync(all_lanes, arc < end);
           arc += tile) {
        spread(arc < end, u, arc);
      }
    }
  }

  // Propose the hubs that the next level would reach from all terminals; what arrives there does so.
  __device__ void try_hubs() {
    for (u32 i = blocks.thread(); i < hub_count * words; i += blocks.threads()) {
      hub_words[i] = reached(hubs[i / words], i % words);
    }
    look();
    const u32 warps = blocks.threads() / 32, warp = blocks.thread() / 32;
    for (int hub = 0; hub < hub_count; ++hub) {
      const long long end = indptr[hubs[hub] + 1];
      for (long long base = indptr[hubs[hub]] + 32 * warp; base < end; base += 32 * warps) {
        const long long arc = base + (threadIdx.x & 31);
        for (int word = 0; word < words; ++word) {
          const u32 mine = arc < end ? reached(indices[arc], word) : 0;
          const u32 bits = __reduce_or_sync(all_lanes, mine);
          u32* const to = hub_words + hub * words + word;
          if ((threadIdx.x & 31) == 0 && (bits & ~fresh(to))) atomicOr(to, bits);
        }
      }
    }
    look();
    for (u32 hub = blocks.thread(); hub < hub_count; hub += blocks.threads()) {
      bool all = true;
      for (int word = 0; word < words; ++word) {
        all = all && fresh(hub_words + hub * words + word) == all_of(word);
      }
      if (all) propose(hubs[hub]);
    }
    look();
    if (seen.best && blocks.leads()) {
      const int centre = int(~u32(seen.best));
      for (int word = 0; word < words; ++word) {
        words_of(centre, arriving)[word] = all_of(word) & ~reached(centre, word);
      }
    }
  }

  // Search; the outcome is the same in all threads.
  __device__ outcome meet() {
    if (blocks.leads()) {
      told->near[0] = told->near[1] = told->arrived[1] = told->touched = 0;
      told->arrived[0] = count;
      told->best = 0;
    }
    half = 0;
    for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
      words_of(terminals[i], arriving)[i / 32] = 1u << (i % 32);
      arrived[i] = terminals[i];
    }
    look();
    for (int level = 0;; ++level) {
      commit(level);
      look();
      if (seen.best) return {level, int(~u32(seen.best))};
      if (seen.arrived[half] == 0) return {-1, -1};
      const u64 about = u64(seen.near[half]) * steps * tile + seen.arrived[half];
      if (hub_count && about > hub_arcs) {
        try_hubs();
        if (seen.best) {
          const int centre = int(~u32(seen.best));
          if (blocks.leads()) take(centre, level + 1);
          look();
          return {level + 1, centre};
        }
      }
      expand();
      look();
      if (blocks.leads()) told->near[half] = told->arrived[half] = 0;
      half = 1 - half;
    }
  }

  // 0, or 1 to 3 by the level at which a terminal's search reached a vertex.
  __device__ int code(int v, int terminal) const {
    const int word = terminal / 32, bit = terminal % 32;
    return (fresh(words_of(v, low) + word) >> bit & 1) +
           2 * (fresh(words_of(v, high) + word) >> bit & 1);
  }

  // The path from the centre to a terminal; by a block. Returns how many vertices it has.
  __device__ int walk(int centre, int terminal, path_step* path) {
    __shared__ u32 least[2];
    int x = centre;
    for (int length = 0;; ++length) {
      if (threadIdx.x == 0) {
        path[length].vertex = x;
        if (length == 0) path[0].weight = 0;
      }
      if (x == terminals[terminal]) return length + 1;
      if (threadIdx.x == 0) {
        least[length & 1] = ~0u;
        path[length + 1].weight = no_key;
      }
      __syncthreads();
      const int nearer = (code(x, terminal) + 1) % 3 + 1;
      u32 mine = ~0u;
      weight_t its = 0;
      for (long long arc = indptr[x] + threadIdx.x; arc < indptr[x + 1]; arc += blockDim.x) {
        const u32 u = indices[arc];
        if (u > mine || code(u, terminal) != nearer) continue;
        const weight_t w = weights ? weights[arc] : weight_t(1);
        if (u < mine || w < its) its = w;
        mine = u;
      }
      const u32 best = __reduce_min_sync(all_lanes, mine);
      if ((threadIdx.x & 31) == 0 && best < ~0u) atomicMin(&least[length & 1], best);
      __syncthreads();
      x = least[length & 1];
      if (mine == u32(x)) atomicMin(&path[length + 1].weight, as_key(length_t(its)));
    }
  }

  __device__ void reset() {
    for (u32 i = blocks.thread(); i < seen.touched; i += blocks.threads()) {
      u32* const words_here = words_of(fresh(&touched[i]), low);
      for (int word = 0; word < 2 * words; ++word) words_here[word] = 0;
    }
  }
};

}  // namespace

// state, listed: 0; of each group. sizes: of each terminal how many vertices its
// path has; or -1 where there is no room for them; or, where no centre is, whether the first terminal
// reaches it.
extern "C" __global__ void __launch_bounds__(1024, 1)
#if MGRAPH_CLUSTER > 1 && __CUDA_ARCH__ >= 900
    __cluster_dims__(MGRAPH_CLUSTER, 1, 1)
#endif
        star_centre(const long long* indptr, const int* indices, const weight_t* weights, int n,
                    int tile, const query* queries, int query_count, u32* next_query,
                    const int* terminals, int words, const int* hubs, int hub_count,
                    long long hub_arcs, outcome* outcomes, int* sizes, path_step* pool,
                    int blocks, u64* arrived_blocks, void* told, u32* state,
                    u32* listed, u32* hub_words, int* near_vertex, u64* near_arcs, key_t* near_key,
                    u32 near_capacity, int* lists) {
  __shared__ counters seen;
  const group all = this_group<group>(blocks, arrived_blocks);
  const size_t index = blockIdx.x / blocks, vertices = size_t(n), near_at = 2 * index * near_capacity;
  int* const mine = lists + 4 * index * vertices;
  centre_search it{all,
                   indptr,
                   indices,
                   weights,
                   state + index * vertices * 3 * words,
                   listed + index * ((vertices + 31) / 32),
                   (counters*)told + index,
                   seen,
                   tile,
                   near_vertex + near_at,
                   near_arcs + near_at,
                   near_key + near_at,
                   near_capacity,
                   mine,
                   mine + 2 * vertices,
                   vertices,
                   hubs,
                   hub_words + index * hub_count * words,
                   hub_count,
                   hub_arcs};
  it.words = words;
  while (true) {
    if (it.blocks.leads()) it.told->job = atomicAdd(next_query, 1u);
    it.look();
    const u32 at = seen.job;
    if (at >= query_count) return;
    const query its = queries[at];
    it.terminals = terminals + its.terminals;
    it.count = its.count;
    const outcome found = it.meet();
    if (it.blocks.leads()) outcomes[at] = found;
    for (int i = it.blocks.rank; i < its.count; i += blocks) {
      const long long path = its.paths + (long long)i * its.room;
      int size = -1;
      if (found.levels < 0) {
        size = it.reached(it.terminals[i], 0) & 1;
      } else if (found.levels < its.room) {
        size = it.walk(found.centre, i, pool + path);
      }
      if (threadIdx.x == 0) sizes[its.terminals + i] = size;
      __syncthreads();
    }
    it.look();
    it.reset();
  }
}
