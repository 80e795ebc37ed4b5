// A rank's steps of a forest over ranks; partitioned_forest.py has the rounds, and
// partitioned_forest_gpu.py launches the kernels.
//
//   check        counts ends outside [0, n) and weights that are not finite
//   select       lists the edges up to a bound, or those between components
//   offer_ends   of the listed edges with a component's least key the least ends
//   hook         lets each component point to the one that its least edge leads to
//   join         lists the least edges of components, which join the forest
//   jump         lets each component point to its root, pass by pass
//   number       marks roots; rename gives each component its root's number
//   relabel      gives what has a component's number in one round its number in the next one
//   keep         lists the edges that are still between components
//   sample, sample_keys, divide, arrange, unpack
//                what is needed to spread the forest over the ranks in order
//
// A listed edge is its ends, the larger one in the upper half of a word, the components of both,
// and its weight; when it is listed, its key is offered to both components. Edges are ordered by
// weight and ends. Two components that point to each other have chosen the same edge: each of the
// two edges is at most the other one. The smaller of them is the root, and there is no other cycle.
//
// Cost: check and select read each edge. Of a listed edge, offer_ends and keep read 16 bytes and
// the weight, and 8 or 12 bytes at random for either component.
//
// The host defines
//   MGRAPH_VERTEX_T  int or long long: the type of the ends of edges that are not listed
//   MGRAPH_WEIGHT_T  int, long long, float or double

#include <mgraph/warp.cuh>

using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;
using u32 = unsigned int;
using u64 = unsigned long long;

// weight: null if the graph has none.
struct edge_block {
  const vertex_t* src;
  const vertex_t* dst;
  const weight_t* weight;
  long long count;
};

struct edge_list {
  u64* ends;
  u64* components;  // of the larger end in the upper half
  weight_t* weight;
  long long count;  // of edges, or how many there is room for
};

namespace {

constexpr u64 no_edge = ~0ULL;  // the ends of a component without edges
constexpr int hops = 32;        // of a jump
constexpr int chunk = 8;        // items for which a thread takes places at a time

__device__ long long first_item() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long stride() { return (long long)gridDim.x * blockDim.x; }

// Weights as unsigned integers of their size, in the same order; of floats, -0.0 equals 0.0.
__device__ u32 order_key(int weight) { return u32(weight) ^ 0x80000000u; }
__device__ u64 order_key(long long weight) { return u64(weight) ^ 1ULL << 63; }
__device__ u32 order_key(float weight) {
  const u32 bits = __float_as_uint(weight), sign = 0x80000000u;
  if (bits == sign) return bits;
  return bits & sign ? ~bits : bits | sign;
}
__device__ u64 order_key(double weight) {
  const u64 bits = u64(__double_as_longlong(weight)), sign = 1ULL << 63;
  if (bits == sign) return bits;
  return bits & sign ? ~bits : bits | sign;
}

__device__ void set_weight(u32 key, int* weight) { *weight = int(key ^ 0x80000000u); }
__device__ void set_weight(u64 key, long long* weight) { *weight = (long long)(key ^ 1ULL << 63); }
__device__ void set_weight(u32 key, float* weight) {
  const u32 sign = 0x80000000u;
  *weight = __int_as_float(int(key & sign ? key ^ sign : ~key));
}
__device__ void set_weight(u64 key, double* weight) {
  const u64 sign = 1ULL << 63;
  *weight = __longlong_as_double((long long)(key & sign ? key ^ sign : ~key));
}

using key_t = decltype(order_key(weight_t()));

__device__ key_t key_of(const weight_t* weights, long long i) {
  return weights ? order_key(weights[i]) : 0;
}

__device__ u64 pair(u32 upper, u32 lower) { return u64(upper) << 32 | lower; }
__device__ u32 upper(u64 pair) { return u32(pair >> 32); }
__device__ u32 lower(u64 pair) { return u32(pair); }

template <class T> __device__ void lower_to(T* place, T value) {
  if (value < *(volatile T*)place) atomicMin(place, value);
}

__device__ void offer_key(key_t* keys, u64 components, key_t key) {
  lower_to(&keys[upper(components)], key);
  lower_to(&keys[lower(components)], key);
}

// Appends the items below `count` that pass a test to a list, in about their order: calls
// write(i, place) for those for which there is room. All threads of a warp together, which take
// places for `chunk` items each at a time. *listed: how many pass, in any case.
template <class Test, class Write>
__device__ void append(long long count, long long room, u64* listed, Test test, Write write) {
  const int lane = threadIdx.x & 31;
  for (long long begin = first_item() / 32 * 32 * chunk; begin < count; begin += stride() * chunk) {
    u32 passes[chunk], total = 0;
#pragma unroll
    for (int k = 0; k < chunk; ++k) {
      const long long i = begin + 32 * k + lane;
      passes[k] = __ballot_sync(~0u, i < count && test(i));
      total += __popc(passes[k]);
    }
    u64 place = 0;
    if (lane == 0 && total) place = atomicAdd(listed, u64(total));
    place = __shfl_sync(~0u, place, 0);
#pragma unroll
    for (int k = 0; k < chunk; ++k) {
      const u64 own = place + __popc(passes[k] & mgraph::lanes_below());
      if (passes[k] >> lane & 1 && own < u64(room)) write(begin + 32 * k + lane, own);
      place += __popc(passes[k]);
    }
  }
}

}  // namespace

// found: counts of edges with an end outside [0, n), with a weight that is NaN, and of others than
// loops with one that is -inf or inf.
extern "C" __global__ void forest_check(__grid_constant__ const edge_block edges, u64 n,
                                        u64* found) {
  for (long long i = first_item(); i < edges.count; i += stride()) {
    const u64 u = u64(edges.src[i]), v = u64(edges.dst[i]);
    if (u >= n || v >= n) atomicAdd(&found[0], 1ULL);
    const weight_t weight = edges.weight ? edges.weight[i] : 0;
    const weight_t zero = weight - weight;  // NaN if the weight is not finite
    if (zero != zero && (weight != weight || u != v))
      atomicAdd(&found[weight != weight ? 1 : weight < 0 ? 2 : 3], 1ULL);
  }
}

// labels: of all vertices; null: each vertex is a component. Edges are listed without their keys'
// being offered if `keys` is null.
extern "C" __global__ void forest_select(__grid_constant__ const edge_block edges, u64 bound,
                                         const u32* labels, __grid_constant__ const edge_list list,
                                         key_t* keys, u64* listed) {
  append(
      edges.count, list.count, listed,
      [&](long long i) {
        const vertex_t u = edges.src[i], v = edges.dst[i];
        if (u == v || key_of(edges.weight, i) > bound) return false;
        return !labels || labels[u] != labels[v];
      },
      [&](long long i, u64 place) {
        const u32 u = u32(edges.src[i]), v = u32(edges.dst[i]);
        const u64 ends = pair(max(u, v), min(u, v));
        const u64 components = labels ? pair(labels[upper(ends)], labels[lower(ends)]) : ends;
        list.ends[place] = ends;
        list.components[place] = components;
        if (edges.weight) list.weight[place] = edges.weight[i];
        offer_key(keys, components, key_of(edges.weight, i));
      });
}

extern "C" __global__ void forest_offer_ends(__grid_constant__ const edge_list list,
                                             const key_t* least_keys, u64* least_ends) {
  for (long long i = first_item(); i < list.count; i += stride()) {
    const u64 ends = list.ends[i];
    const key_t key = key_of(list.weight, i);
    const u32 a = upper(list.components[i]), b = lower(list.components[i]);
    if (least_keys[a] == key) lower_to(&least_ends[a], ends);
    if (least_keys[b] == key) lower_to(&least_ends[b], ends);
  }
}

// Components from `first` to `stop`, to which least_ends and parent belong. maps: of each round
// before, from a component's number to the next round's; the first one's are vertices.
extern "C" __global__ void forest_hook(const u64* least_ends, const u32* const* maps, int rounds,
                                       long long first, long long stop, u32* parent) {
  const auto component = [&](u32 vertex) {
    u32 number = vertex;
    for (int round = 0; round < rounds; ++round) number = maps[round][number];
    return number;
  };
  for (long long i = first_item(); i < stop - first; i += stride()) {
    const u64 ends = least_ends[i];
    const u32 c = u32(first + i);
    u32 to = c;
    if (ends != no_edge) {
      to = component(upper(ends));
      if (to == c) to = component(lower(ends));
    }
    parent[i] = to;
  }
}

// Of components from `first` to `stop` that are no roots. keys, parent: of all components;
// least_ends: of these.
extern "C" __global__ void forest_join(const key_t* least_keys, const u64* least_ends,
                                       const u32* parent, long long first, long long stop,
                                       __grid_constant__ const edge_list joined, u64* listed) {
  append(
      stop - first, joined.count, listed,
      [&](long long i) {
        const u32 c = u32(first + i), to = parent[c];
        return to != c && (parent[to] != c || to < c);
      },
      [&](long long i, u64 place) {
        joined.ends[place] = least_ends[i];
        if (joined.weight) set_weight(least_keys[first + i], &joined.weight[place]);
      });
}

// One pass over the components from `first` to `stop`, in place: what is read is an ancestor,
// whoever has written it. more: set to 1 if a component does not point to its root yet.
extern "C" __global__ void forest_jump(u32* parent, long long first, long long stop, u32* more) {
  for (long long i = first_item(); i < stop - first; i += stride()) {
    u32 at = u32(first + i), above = parent[at], next = parent[above];
    for (int hop = 0; next != above && next != at && hop < hops; ++hop) {
      at = above;
      above = next;
      next = parent[above];
    }
    const bool is_cycle = next == at && next != above;
    parent[first + i] = is_cycle ? min(at, above) : above;
    if (!is_cycle && next != above) *more = 1;
  }
}

extern "C" __global__ void forest_number(const u32* parent, long long components, u32* is_root) {
  for (long long c = first_item(); c < components; c += stride()) is_root[c] = parent[c] == u32(c);
}

// roots: how many there are up to each component.
extern "C" __global__ void forest_rename(u32* parent, long long components, const u32* roots) {
  for (long long c = first_item(); c < components; c += stride()) parent[c] = roots[parent[c]] - 1;
}

// following: the next round's number of each component.
extern "C" __global__ void forest_relabel(u32* numbers, long long count, const u32* following) {
  for (long long i = first_item(); i < count; i += stride()) numbers[i] = following[numbers[i]];
}

// following: as for relabel. keys: of the next round's components.
extern "C" __global__ void forest_keep(__grid_constant__ const edge_list list, const u32* following,
                                       __grid_constant__ const edge_list kept, key_t* keys,
                                       u64* listed) {
  append(
      list.count, kept.count, listed,
      [&](long long i) {
        const u64 components = list.components[i];
        return following[upper(components)] != following[lower(components)];
      },
      [&](long long i, u64 place) {
        const u64 old = list.components[i];
        const u64 components = pair(following[upper(old)], following[lower(old)]);
        kept.ends[place] = list.ends[i];
        kept.components[place] = components;
        if (list.weight) kept.weight[place] = list.weight[i];
        offer_key(keys, components, key_of(list.weight, i));
      });
}

// sampled: the values at so many places, evenly spaced.
extern "C" __global__ void forest_sample(const u64* values, long long count, long long places,
                                         u64* sampled) {
  for (long long i = first_item(); i < places; i += stride())
    sampled[i] = values[i * count / places];
}

extern "C" __global__ void forest_sample_keys(const weight_t* weights, long long count,
                                              long long places, u64* keys) {
  for (long long i = first_item(); i < places; i += stride())
    keys[i] = order_key(weights[i * count / places]);
}

// Lists the edges whose ends are not below `low`, and below `high`.
extern "C" __global__ void forest_divide(__grid_constant__ const edge_list list, u64 low, u64 high,
                                         __grid_constant__ const edge_list piece, u64* listed) {
  append(
      list.count, piece.count, listed,
      [&](long long i) { return list.ends[i] >= low && list.ends[i] < high; },
      [&](long long i, u64 place) {
        piece.ends[place] = list.ends[i];
        if (list.weight) piece.weight[place] = list.weight[i];
      });
}

// order: of the list's places.
extern "C" __global__ void forest_arrange(__grid_constant__ const edge_list list,
                                          const long long* order,
                                          __grid_constant__ const edge_list arranged) {
  for (long long i = first_item(); i < list.count; i += stride()) {
    arranged.ends[i] = list.ends[order[i]];
    if (list.weight) arranged.weight[i] = list.weight[order[i]];
  }
}

extern "C" __global__ void forest_unpack(const u64* ends, long long count, vertex_t* src,
                                         vertex_t* dst) {
  for (long long i = first_item(); i < count; i += stride()) {
    src[i] = vertex_t(upper(ends[i]));
    dst[i] = vertex_t(lower(ends[i]));
  }
}
