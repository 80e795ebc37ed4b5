// One rank's steps of partitioned_predecessors.py on a GPU; the _gpu.py launches them.
//
//   find_in_rows, find_in_pieces
//                   where each arc has its mirror: the smallest number in a row from which a tight
//                   arc comes, from a smaller distance, among the arcs that are not too heavy: rows
//                   ascend by weight
//   propose_nearer  each tight arc from a smaller distance proposes its tail to its head
//   count_proposed, pack_proposed
//                   the proposals for the ghosts of one owner, which are then forgotten
//   receive_proposals
//                   proposals from other ranks
//   mark_missing    own vertices that are reached and have no predecessor, and those that have one
//   list_zero_arcs, list_zero_mirrors
//                   the tight arcs to vertices without a predecessor, or their mirrors
//   propose_level, find_level
//                   those of their tails that got their predecessor in the level before
//   end_level       the vertices that got theirs in this level
//
// The smallest tail wins by atomicMin on unsigned words, of which the greatest, -1, is none.
// Cost: per arc 4 bytes, its weight, and the distance of its head, at random; in rows only of arcs
// that are not too heavy, and once a tight arc is found, only of those with smaller heads.

#include <mgraph/path_length.cuh>

using namespace mgraph;
using u32 = unsigned int;
using u64 = unsigned long long;
using tail_t = MGRAPH_TAIL_T;  // u32, or u64 from 2^31 vertices on

struct rank_rows {
  const long long* indptr;
  const u32* heads;
  const weight_t* weights;  // null: each arc counts 1
  u32 below;
  u32 owned;
  long long first;  // the rank's first vertex
  // What makes local numbers of ghosts global ones: by owner, where its ghosts begin among the
  // local numbers, how much less their index is, and its first vertex.
  const u32* starts;
  const u32* shifts;
  const long long* bounds;
  int size;
  const u32* ghosts;
};

constexpr long long chunk_arcs = 1024;  // that a warp takes at a time, whatever their rows
constexpr int lane_arcs = 8;            // that a lane reads before its warp helps
constexpr u32 no_number = ~0u;

// chunk_arcs of a longer row, or those left.
struct row_piece {
  u32 row;
  u32 index;
};

namespace {

__device__ long long first_item() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long stride() { return (long long)gridDim.x * blockDim.x; }

// The last row in [low, high] that begins at or before the arc.
__device__ long long row_of(const long long* indptr, long long arc, long long low, long long high) {
  while (low < high) {
    const long long middle = (low + high + 1) / 2;
    if (indptr[middle] <= arc) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Calls visit(arc, row) for each arc.
template <class Visit> __device__ void for_each_arc(const rank_rows& rows, Visit visit) {
  const int lane = threadIdx.x & 31;
  const long long num_arcs = rows.owned ? rows.indptr[rows.owned] : 0;
  const long long warp = first_item() / 32, warps = stride() / 32;
  for (long long begin = warp * chunk_arcs; begin < num_arcs; begin += warps * chunk_arcs) {
    const long long stop = min(begin + chunk_arcs, num_arcs);
    long long low = row_of(rows.indptr, begin, 0, rows.owned - 1);
    const long long high = row_of(rows.indptr, stop - 1, low, rows.owned - 1);
    for (long long arc = begin + lane; arc < stop; arc += 32) {
      low = row_of(rows.indptr, arc, low, high);
      visit(arc, low);
    }
  }
}

__device__ weight_t weight_of(const rank_rows& rows, long long arc) {
  return rows.weights ? rows.weights[arc] : weight_t(1);
}

__device__ bool is_tight(const rank_rows& rows, long long arc, key_t tail, key_t head) {
  return extended(tail, weight_of(rows, arc)) == head;
}

__device__ tail_t global_number(const rank_rows& rows, u32 number) {
  if (number - rows.below < rows.owned) return tail_t(rows.first + (number - rows.below));
  int owner = 0;
  while (owner + 1 < rows.size && number >= rows.starts[owner + 1]) ++owner;
  return tail_t(rows.bounds[owner] + rows.ghosts[number - rows.shifts[owner]]);
}

// Whether an arc, and so all that follow in its row, is heavier than a vertex at `length` is far.
__device__ bool is_too_heavy(const rank_rows& rows, long long arc, key_t length) {
  return extended(0, weight_of(rows, arc)) > length;
}

// The arc's head, if a shortest path to the row's vertex, at `length`, comes from it and it is
// smaller than `best`, else `best`.
__device__ u32 smaller(const rank_rows& rows, const key_t* distance, long long arc, key_t length,
                       u32 best) {
  const u32 number = rows.heads[arc];
  if (number >= best) return best;
  const key_t near = distance[number];
  return near < length && extended(near, weight_of(rows, arc)) == length ? number : best;
}

// The same of arcs from `first` on, by a warp.
__device__ u32 smallest_by_warp(const rank_rows& rows, const key_t* distance, long long first,
                                long long stop, key_t length, u32 best) {
  const int lane = threadIdx.x & 31;
  for (; first < stop && !is_too_heavy(rows, first, length); first += 32) {
    const long long arc = first + lane;
    if (arc < stop && !is_too_heavy(rows, arc, length))
      best = smaller(rows, distance, arc, length, best);
    for (int step = 16; step; step /= 2) best = min(best, __shfl_xor_sync(~0u, best, step));
    if (!rows.weights && best != no_number) break;  // heads ascend
  }
  return best;
}

}  // namespace

// predecessor: by local number, -1 everywhere. pieces: receives the rows of more than chunk_arcs.
extern "C" __global__ void find_in_rows(__grid_constant__ const rank_rows rows,
                                        const key_t* distance, key_t infinity, tail_t* predecessor,
                                        row_piece* pieces, u64* piece_count) {
  const int lane = threadIdx.x & 31;
  const long long warps = stride() / 32;
  for (long long base = first_item() / 32 * 32; base < rows.owned; base += 32 * warps) {
    const long long row = base + lane;
    long long arc = 0, stop = 0;
    key_t length = infinity;
    if (row < rows.owned) length = distance[rows.below + row];
    if (length != infinity && length) {
      arc = rows.indptr[row], stop = rows.indptr[row + 1];
      if (stop - arc > chunk_arcs && !is_too_heavy(rows, arc + chunk_arcs, length)) {
        const u32 count = u32((stop - arc + chunk_arcs - 1) / chunk_arcs);
        const u64 place = atomicAdd(piece_count, u64(count));
        for (u32 i = 0; i < count; ++i) pieces[place + i] = {u32(row), i};
        stop = arc;
      }
    }
    u32 best = no_number;
    for (int i = 0; i < lane_arcs && arc < stop; ++i, ++arc) {
      if (is_too_heavy(rows, arc, length) || (!rows.weights && best != no_number)) {
        stop = arc;
      } else {
        best = smaller(rows, distance, arc, length, best);
      }
    }
    for (u32 left = __ballot_sync(~0u, arc < stop); left; left &= left - 1) {
      const int owner = __ffs(left) - 1;
      const u32 found = smallest_by_warp(
          rows, distance, __shfl_sync(~0u, arc, owner), __shfl_sync(~0u, stop, owner),
          __shfl_sync(~0u, length, owner), __shfl_sync(~0u, best, owner));
      if (lane == owner) best = found;
    }
    if (best != no_number) predecessor[rows.below + row] = global_number(rows, best);
  }
}

extern "C" __global__ void find_in_pieces(__grid_constant__ const rank_rows rows,
                                          const key_t* distance, tail_t* predecessor,
                                          const row_piece* pieces, long long count) {
  for (long long i = first_item() / 32; i < count; i += stride() / 32) {
    const long long row = pieces[i].row;
    const long long begin = rows.indptr[row] + chunk_arcs * pieces[i].index;
    const long long stop = min(begin + chunk_arcs, rows.indptr[row + 1]);
    const key_t length = distance[rows.below + row];
    const u32 best = smallest_by_warp(rows, distance, begin, stop, length, no_number);
    if ((threadIdx.x & 31) == 0 && best != no_number)
      atomicMin(&predecessor[rows.below + row], global_number(rows, best));
  }
}

// Where arcs have mirrors: the arcs that add nothing, from the rows of vertices without a
// predecessor, in which they are the first; tails are own rows, heads the numbers from which the
// shortest paths may come. Both are null if the arcs are only counted.
extern "C" __global__ void list_zero_mirrors(__grid_constant__ const rank_rows rows,
                                             const key_t* distance, const unsigned char* is_missing,
                                             u64* cursor, u32* tails, u32* heads) {
  const int lane = threadIdx.x & 31;
  for (long long base = first_item() / 32 * 32; base < rows.owned; base += stride()) {
    const long long lane_row = base + lane;
    const bool is_open = lane_row < rows.owned && is_missing[rows.below + lane_row];
    for (u32 open = __ballot_sync(~0u, is_open); open; open &= open - 1) {
      const long long row = base + __ffs(open) - 1;
      const key_t length = distance[rows.below + row];
      for (long long arc = rows.indptr[row] + lane; arc < rows.indptr[row + 1]; arc += 32) {
        const weight_t weight = weight_of(rows, arc);
        if (extended(length, weight) != length) break;
        const u32 number = rows.heads[arc];
        const key_t near = distance[number];
        if (near > length || extended(near, weight) != length) continue;
        const u64 place = atomicAdd(cursor, 1ULL);
        if (!tails) continue;
        tails[place] = u32(row);
        heads[place] = number;
      }
    }
  }
}

// is_new: by local number, whether a vertex got its predecessor in the level before.
extern "C" __global__ void find_level(__grid_constant__ const rank_rows rows, const u32* tails,
                                      const u32* heads, long long count,
                                      const unsigned char* is_new, const unsigned char* is_missing,
                                      tail_t* predecessor) {
  for (long long i = first_item(); i < count; i += stride()) {
    const u32 number = rows.below + tails[i];
    if (is_missing[number] && is_new[heads[i]])
      atomicMin(&predecessor[number], global_number(rows, heads[i]));
  }
}

// predecessor: by local number, -1 everywhere; tails are global numbers.
extern "C" __global__ void propose_nearer(__grid_constant__ const rank_rows rows,
                                          const key_t* distance, key_t infinity,
                                          tail_t* predecessor) {
  for_each_arc(rows, [&](long long arc, long long row) {
    const key_t tail = distance[rows.below + row];
    if (tail == infinity) return;
    const u32 number = rows.heads[arc];
    const key_t head = distance[number];
    if (tail < head && head != infinity && is_tight(rows, arc, tail, head))
      atomicMin(&predecessor[number], tail_t(rows.first + row));
  });
}

// Of ghosts with local numbers from `begin`.
extern "C" __global__ void count_proposed(const tail_t* predecessor, long long begin,
                                          long long count, u64* total) {
  u64 found = 0;
  for (long long i = first_item(); i < count; i += stride())
    found += predecessor[begin + i] != tail_t(-1);
  if (found) atomicAdd(total, found);
}

// ghosts: the positions of the owner's ghosts. is_missing: null, or forgotten as well.
extern "C" __global__ void pack_proposed(tail_t* predecessor, long long begin, long long count,
                                         const u32* ghosts, u64* cursor, u32* positions,
                                         tail_t* tails, unsigned char* is_missing) {
  for (long long i = first_item(); i < count; i += stride()) {
    const tail_t tail = predecessor[begin + i];
    if (tail == tail_t(-1)) continue;
    const u64 place = atomicAdd(cursor, 1ULL);
    positions[place] = ghosts[i];
    tails[place] = tail;
    predecessor[begin + i] = tail_t(-1);
    if (is_missing) is_missing[begin + i] = 0;
  }
}

// is_missing: null, or whether an own vertex still takes proposals.
extern "C" __global__ void receive_proposals(const u32* positions, const tail_t* tails,
                                             long long count, u32 below, tail_t* predecessor,
                                             const unsigned char* is_missing) {
  for (long long i = first_item(); i < count; i += stride()) {
    const u32 number = positions[i] + below;
    if (!is_missing || is_missing[number]) atomicMin(&predecessor[number], tails[i]);
  }
}

// Of own vertices; sources have a predecessor that is no vertex, the greatest but none. Both arrays
// are by local number, and null if vertices are only counted.
extern "C" __global__ void mark_missing(__grid_constant__ const rank_rows rows,
                                        const key_t* distance, key_t infinity,
                                        const tail_t* predecessor, u64* total,
                                        unsigned char* is_missing, unsigned char* is_new) {
  u64 found = 0;
  for (long long row = first_item(); row < rows.owned; row += stride()) {
    const long long number = rows.below + row;
    const bool is_reached = distance[number] != infinity;
    const bool has_one = predecessor[number] != tail_t(-1);
    found += is_reached && !has_one;
    if (!is_missing) continue;
    is_missing[number] = is_reached && !has_one;
    is_new[number] = is_reached && has_one;
  }
  if (found) atomicAdd(total, found);
}

extern "C" __global__ void list_zero_arcs(__grid_constant__ const rank_rows rows,
                                          const key_t* distance, key_t infinity,
                                          const unsigned char* is_missing, u64* cursor, u32* tails,
                                          u32* heads) {
  for_each_arc(rows, [&](long long arc, long long row) {
    const u32 number = rows.heads[arc];
    const key_t tail = distance[rows.below + row];
    if (!is_missing[number] || tail == infinity) return;
    if (!is_tight(rows, arc, tail, distance[number])) return;
    const u64 place = atomicAdd(cursor, 1ULL);
    if (!tails) return;  // they are only counted
    tails[place] = u32(row);
    heads[place] = number;
  });
}

extern "C" __global__ void propose_level(__grid_constant__ const rank_rows rows, const u32* tails,
                                         const u32* heads, long long count,
                                         const unsigned char* is_new,
                                         const unsigned char* is_missing, tail_t* predecessor) {
  for (long long i = first_item(); i < count; i += stride()) {
    if (is_new[rows.below + tails[i]] && is_missing[heads[i]])
      atomicMin(&predecessor[heads[i]], tail_t(rows.first + tails[i]));
  }
}

extern "C" __global__ void end_level(__grid_constant__ const rank_rows rows,
                                     const tail_t* predecessor, unsigned char* is_missing,
                                     unsigned char* is_new, u64* total) {
  u64 found = 0;
  for (long long row = first_item(); row < rows.owned; row += stride()) {
    const long long number = rows.below + row;
    const bool ends = is_missing[number] && predecessor[number] != tail_t(-1);
    is_new[number] = ends;
    if (ends) is_missing[number] = 0;
    found += ends;
  }
  if (found) atomicAdd(total, found);
}
