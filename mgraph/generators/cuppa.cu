// cuPPA: the exact copy model of a graph that lies in device memory; cuppa_gpu.py explains the
// method. copy_model.cuh says what the host defines, and here also
//   MGRAPH_QUEUE    the vertices that may wait in a team's queue, at most 32
//   MGRAPH_THREADS  threads a block

#include <mgraph/clock.cuh>
#include <mgraph/grid_barrier.cuh>
#include <mgraph/stop_watch.cuh>

#if MGRAPH_BY_WARP
#include "cuppa_short.cuh"
#else
#include "cuppa_long.cuh"
#endif

using namespace mgraph;

constexpr u32 queue_size = MGRAPH_QUEUE;
constexpr u32 rows = cuppa_team::rows;

// A round: its segment, and what waited in it.
struct round_log {
  u64 stop;         // the vertex after the segment; 0: there was no such round
  u64 nanoseconds;  // when it was over, from any time
  u64 longest;      // vertices that waited in one queue, at most
  u64 waited;       // in all queues
  u64 overflows;    // how often a queue had no room for a team's next vertices
};

// How the vertices are cut into segments.
struct segment_plan {
  u64 size;      // vertices of the first
  int dynamic;   // while no queue was half full they grow, twofold at least, and more where there
                 // was room for more, up to `most` vertices
  u64 most;
};

// What the blocks of a launch tell each other and the host.
struct launch_state {
  round_log* log;   // `logged` rounds, at least 3, all 0; more rounds take their places in turn
  u32 logged;
  u64* arrived;     // of the barrier; 0
  const u32* stop;  // not 0: end with the segment
  u64* stopped_at;  // its number, first the largest there is
};

// The vertices of a team that wait, in ascending order, in shared memory.
class waiting_queue {
 public:
  u32 length = 0, most = 0, waited = 0, overflows = 0;

  __device__ waiting_queue(unfinished* items, cuppa_team& team) : items(items), team(team) {}

  // Finishes all, in order. Each waits for lower vertices alone, so some team can always go on.
  __device__ void resolve() {
    for (u32 begin = 0; begin < length; begin += rows) {
      const u32 at = begin + team.row();
      const bool mine = team.row() < rows && at < length;
      const u64 edge = mine ? items[at].edge : 0;
      team.advance(uvertex(edge / D), u32(edge % D), mine, true);
    }
    length = 0;
    team.sync();
  }

  // Goes on with the first of those whose source is known by now.
  __device__ void retry() {
    if (length == 0) return;
    const vertex_t* source = team.thread() < length ? items[team.thread()].source : nullptr;
    const u32 ready = team.ballot(source && load_relaxed(source) != unknown);
    if (!ready) return;
    const u32 at = __fns(ready, 0, team.row() + 1);
    const bool mine = team.row() < rows && at < 32;
    const u64 edge = mine ? items[at].edge : 0;
    const unfinished left = team.advance(uvertex(edge / D), u32(edge % D), mine, false);
    team.sync();
    if (mine && team.leads()) items[at] = left;
    team.sync();
    close_up();
  }

  // Takes the team's vertices that have to wait.
  __device__ void push(const unfinished& left) {
    if (D > 32 && !left.source) return;  // which all threads of a block know
    const u32 all = team.ballot(left.source && team.leads());
    if (!all) return;
    const u32 at = length + __popc(all & ((1u << team.thread() % 32) - 1));
    if (left.source && team.leads()) items[at] = left;
    length += __popc(all);
    waited += __popc(all);
    most = max(most, length);
    team.sync();
  }

 private:
  unfinished* const items;
  cuppa_team& team;

  // Drops the items that wait no more.
  __device__ void close_up() {
    unfinished item{0, nullptr};
    if (team.thread() < length) item = items[team.thread()];
    const u32 kept = team.ballot(item.source != nullptr);
    team.sync();
    if (item.source) items[__popc(kept & ((1u << team.thread() % 32) - 1))] = item;
    length = __popc(kept);
    team.sync();
  }
};

// Makes all edges of vertices D .. n-1. All blocks are resident.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    cuppa_generate(__grid_constant__ const cuppa_launch cuppa_launch_,
                   __grid_constant__ const segment_plan segment_plan_,
                   __grid_constant__ const launch_state launch_state_) {
  const u64 n = u64(cuppa_launch_.n);
  round_log* const log = launch_state_.log;
  const u32 logged = launch_state_.logged;
  u64 segment = segment_plan_.size;
  // Of each team of the block: its own words, then its queue.
  extern __shared__ __align__(16) u64 shared[];
  constexpr u32 queue_words = queue_size * sizeof(unfinished) / 8;
  u64* const own = shared + (D <= 32 ? threadIdx.x / 32 * queue_words : 0);
  const cuppa_graph graph{cuppa_launch_.model, cuppa_launch_.ends};
  cuppa_team team(own, graph);
  grid_barrier barrier{launch_state_.arrived, 0};
  __shared__ stop_watch watch;
  if (threadIdx.x == 0) watch = {launch_state_.stop, 0, false};

  u64 start = D;
  for (u32 round = 0; start < n; ++round) {
    round_log& now = log[round % logged];
    const u64 stop = segment < n - start ? start + segment : n;
    waiting_queue queue(reinterpret_cast<unfinished*>(own + cuppa_team::shared_words), team);

    // Phase 1: the copy model for every vertex of the segment.
    const u64 stride = u64(team.count()) * rows;
    for (u64 base = start + u64(team.number()) * rows; base < stop; base += stride) {
      const u64 v = base + team.row();
      const bool mine = team.row() < rows && v < stop;
      if (queue.length + rows > queue_size) {
        ++queue.overflows;
        queue.resolve();
      }
      const unfinished left = team.advance(uvertex(v), 0, mine, false);
      queue.push(left);
      queue.retry();
    }
    // Phase 2: what waits.
    queue.resolve();

    if (team.thread() == 0) {
      atomicMax(&now.longest, u64(queue.most));
      atomicAdd(&now.waited, u64(queue.waited));
      atomicAdd(&now.overflows, u64(queue.overflows));
      if (team.number() == 0) log[(round + 1) % logged] = {};
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && watch.stopped()) *launch_state_.stopped_at = round;
    barrier.wait(100);
    if (fresh(launch_state_.stopped_at) <= round) return;  // what is written later is larger
    if (team.number() == 0 && team.thread() == 0) {
      now.stop = stop;
      now.nanoseconds = nanoseconds();
    }
    const u64 room = queue_size / (2 * fresh(&now.longest) + 1);
    if (segment_plan_.dynamic && room > 0)
      segment = min(segment * max(room, u64(2)), max(segment, segment_plan_.most));
    start = stop;
  }
}

// Rows `first` and on of the edge list, whose endpoints are `ends`: their sources, a copy of the
// endpoints where dst is another array, and their hashes, added to the checksum.
extern "C" __global__ void cuppa_list(long long first, long long count, const vertex_t* ends,
                                      vertex_t* src, vertex_t* dst, u64* checksum) {
  constexpr long long clique = (long long)D * (D - 1) / 2;
  const long long stride = (long long)gridDim.x * blockDim.x;
  u64 sum = 0;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const long long row = first + i;
    long long v = D + (row - clique) / D;
    if (row < clique) {
      v = (long long)((1 + sqrt(double(1 + 8 * row))) / 2);
      v -= v * (v - 1) / 2 > row;
    }
    const vertex_t end = ends[i];
    src[i] = vertex_t(v);
    if (dst != ends) dst[i] = end;
    sum += edge_hash(u64(v), u64(end));
  }
  add_checksum(sum, checksum);
}
