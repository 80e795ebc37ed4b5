// cuPPA: the exact copy model of a graph in device memory, in one cooperative launch. Source: Alam,
// Perumalla, Sanders 2019, section 3; cuppa_gpu.py explains the departures.
//
//   The vertices are cut into segments; a round generates one segment, by all teams of threads:
//   phase 1  execute the copy model: a team takes vertices in turn. A direct edge is final at once,
//            a copy reads the endpoint of its source. If that is unknown, the vertex goes to the
//            team's waiting queue, in shared memory
//   phase 2  resolve the waiting queue, vertex after vertex
//   A grid barrier ends the round; block 0 checks for cancellation and logs the round; dynamic
//   segments grow while queues have room.
// A team is a warp for D <= 32 (cuppa_short.cuh), else a block (cuppa_long.cuh). cuppa_graph.cuh
// has the data that teams share, and why relaxed loads suffice.
//
// No deadlock: all blocks are resident, and a team waits only for vertices below all those that it
// has not begun; the lowest waiting vertex of the grid can always be finished. Where teams take
// consecutive vertices, each waits for itself or for those before it, and the first for none. With
// more ranks the same holds of all their grids: a rank's places are in the order of its vertices,
// so a barrier of the rank that has the lowest waiting vertex only waits for lower ones.
//
//   MGRAPH_QUEUE_CAPACITY  vertices in a team's waiting queue, at most 32
//   MGRAPH_THREADS         threads per block
//   MGRAPH_RANKS           GPUs of one host that generate the graph at once; see cuppa_graph.cuh
//   MGRAPH_STRIPE_BITS     of the number of vertices in a stripe, with more than one
// and the macros of copy_model.cuh.

#include <mgraph/clock.cuh>
#include <mgraph/grid_barrier.cuh>
#include <mgraph/stop_watch.cuh>

#if MGRAPH_BY_WARP
#include "cuppa_short.cuh"
#else
#include "cuppa_long.cuh"
#endif

using namespace mgraph;

constexpr u32 queue_capacity = MGRAPH_QUEUE_CAPACITY;
constexpr u32 rows = cuppa_team::rows;

// The log entry of a round.
struct round_log {
  u64 stop;         // the place after the segment; 0: there was no such round
  u64 nanoseconds;  // the time at its end
  u64 longest;      // the maximum number of vertices in one queue
  u64 waited;       // vertices that waited in any queue
  u64 overflows;    // how often a queue had no room for a team's next vertices
};

// The kernel's other arguments, which cuppa_gpu.py packs.

struct segment_plan {
  u64 size;     // vertices of this rank in the first segment
  int dynamic;  // not 0: segments grow
  // The paper's f, at least 2: segments grow f-fold while no queue had more than its f-th part. 0:
  // while no queue was half full, at least twofold, and further if queues have room.
  u64 growth;
  u64 max_size;     // up to which they grow
  int consecutive;  // not 0: a team takes consecutive vertices of a segment, else they are dealt in
                    // turn
};

struct launch_state {
  round_log* log;  // [log_rounds], at least 3, all 0; further rounds overwrite them in turn
  u32 log_rounds;
  u64* arrived;          // of the barrier; 0
  u64* cancelled_round;  // its number, at first the largest number
};

// A team's vertices that wait, in ascending order, in shared memory.
class waiting_queue {
 public:
  u32 length = 0, longest = 0, waited = 0, overflows = 0;

  __device__ waiting_queue(waiting_vertex* items, cuppa_team& team) : items(items), team(team) {}

  // Finishes all vertices, in order.
  __device__ void resolve() {
    for (u32 begin = 0; begin < length; begin += rows) {
      const u32 at = begin + team.row();
      const bool is_active = team.row() < rows && at < length;
      const u64 edge = is_active ? items[at].edge : 0;
      team.advance(uvertex(edge / D), u32(edge % D), is_active, true);
    }
    length = 0;
    team.sync();
  }

  // Advances the first vertices whose sources are known by now.
  __device__ void retry() {
    if (length == 0) return;
    const vertex_t* source = team.thread() < length ? items[team.thread()].source : nullptr;
    const u32 ready = team.ballot(source && load_end(source) != unknown);
    if (!ready) return;
    const u32 at = __fns(ready, 0, team.row() + 1);
    const bool is_active = team.row() < rows && at < 32;
    const u64 edge = is_active ? items[at].edge : 0;
    const waiting_vertex item = team.advance(uvertex(edge / D), u32(edge % D), is_active, false);
    team.sync();
    if (is_active && team.is_row_leader()) items[at] = item;
    team.sync();
    compact();
  }

  // Appends those of the team's vertices that have to wait.
  __device__ void push(const waiting_vertex& item) {
    if (D > 32 && !item.source) return;  // the same for all threads of a block
    const u32 waiting = team.ballot(item.source && team.is_row_leader());
    if (!waiting) return;
    const u32 at = length + __popc(waiting & ((1u << team.thread() % 32) - 1));
    if (item.source && team.is_row_leader()) items[at] = item;
    length += __popc(waiting);
    waited += __popc(waiting);
    longest = max(longest, length);
    team.sync();
  }

 private:
  waiting_vertex* const items;
  cuppa_team& team;

  // Removes the vertices that are finished.
  __device__ void compact() {
    waiting_vertex item{0, nullptr};
    if (team.thread() < length) item = items[team.thread()];
    const u32 kept = team.ballot(item.source != nullptr);
    team.sync();
    if (item.source) items[__popc(kept & ((1u << team.thread() % 32) - 1))] = item;
    length = __popc(kept);
    team.sync();
  }
};

// Generates all edges of this rank's vertices. All blocks are resident. Dynamic shared memory per
// team: its own words, then its queue.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    cuppa_generate(__grid_constant__ const cuppa_launch cuppa_launch_,
                   __grid_constant__ const segment_plan segment_plan_,
                   __grid_constant__ const launch_state launch_state_) {
  const u64 places = u64(cuppa_launch_.places);
  round_log* const log = launch_state_.log;
  const u32 log_rounds = launch_state_.log_rounds;
  u64 segment = segment_plan_.size;
  extern __shared__ __align__(16) u64 shared[];
  constexpr u32 queue_words = queue_capacity * sizeof(waiting_vertex) / 8;
  u64* const own = shared + (D <= 32 ? threadIdx.x / 32 * queue_words : 0);
  const cuppa_graph graph(cuppa_launch_);
  cuppa_team team(own, graph);
  grid_barrier barrier{launch_state_.arrived, 0};
  __shared__ stop_watch watch;
  if (threadIdx.x == 0) watch = {cuppa_launch_.cancel_flag, 0, false};
  if (blockIdx.x == 0 && threadIdx.x == 0) graph.begin_with_all();
  if (ranks > 1) barrier.wait(100);

  u64 start = 0;
  for (u32 round = 0; start < places; ++round) {
    round_log& entry = log[round % log_rounds];
    const u64 stop = segment < places - start ? start + segment : places;
    waiting_queue queue(reinterpret_cast<waiting_vertex*>(own + cuppa_team::shared_words), team);

    // Phase 1: execute the copy model for each vertex of the segment.
    const bool consecutive = segment_plan_.consecutive;
    const u64 shares = (stop - start + rows - 1) / rows, teams = team.teams();
    const u64 share = consecutive ? (shares + teams - 1) / teams * rows : rows;
    const u64 first = start + team.index() * share;
    const u64 end = consecutive ? min(stop, first + share) : stop;
    for (u64 base = first; base < end; base += consecutive ? rows : teams * rows) {
      const u64 place = base + team.row();
      const bool is_active = team.row() < rows && place < end;
      if (queue.length + rows > queue_capacity) {
        ++queue.overflows;
        queue.resolve();
      }
      const waiting_vertex item = team.advance(graph.vertex_at(place), 0, is_active, false);
      queue.push(item);
      queue.retry();
    }
    // Phase 2: resolve the waiting queue.
    queue.resolve();

    if (team.thread() == 0) {
      atomicMax(&entry.longest, u64(queue.longest));
      atomicAdd(&entry.waited, u64(queue.waited));
      atomicAdd(&entry.overflows, u64(queue.overflows));
      if (team.index() == 0) log[(round + 1) % log_rounds] = {};
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && watch.stopped())
      *launch_state_.cancelled_round = round;
    barrier.wait(100);
    // Written before the barrier of its round; a later round writes a larger number.
    if (fresh(launch_state_.cancelled_round) <= round) return;
    if (team.index() == 0 && team.thread() == 0) {
      entry.stop = stop;
      entry.nanoseconds = nanoseconds();
    }
    const u64 longest = fresh(&entry.longest), factor = segment_plan_.growth;
    u64 growth = factor * (longest * factor <= queue_capacity);
    if (!factor && 2 * longest < queue_capacity)
      growth = max(queue_capacity / (2 * longest + 1), u64(2));
    // Queues of more ranks are full where one lags behind, whatever the size of a segment.
    if (ranks > 1 && !factor) growth = max(growth, u64(2));
    if (segment_plan_.dynamic && growth > 0)
      segment = min(segment * growth, max(segment, segment_plan_.max_size));
    start = stop;
  }
}

// Rows `first` and on of the edge list, of all ranks: writes their sources, and their endpoints
// unless dst is null, and adds their hashes to the checksum.
extern "C" __global__ void cuppa_list(long long first, long long count,
                                      __grid_constant__ const endpoint_memory endpoint_memory_,
                                      vertex_t* src, vertex_t* dst, u64* checksum) {
  constexpr long long clique = (long long)D * (D - 1) / 2;
  const endpoint_store memory(endpoint_memory_);
  const long long stride = (long long)gridDim.x * blockDim.x;
  u64 sum = 0;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const long long row = first + i;
    long long v = D + (row - clique) / D;
    vertex_t end;
    if (row < clique) {
      v = (long long)((1 + sqrt(double(1 + 8 * row))) / 2);
      v -= v * (v - 1) / 2 > row;
      end = vertex_t(row - v * (v - 1) / 2);
    } else {
      end = *memory.at(uvertex(v), u32((row - clique) % D));
    }
    src[i] = vertex_t(v);
    if (dst) dst[i] = end;
    sum += edge_hash(u64(v), u64(end));
  }
  add_checksum(sum, checksum);
}
