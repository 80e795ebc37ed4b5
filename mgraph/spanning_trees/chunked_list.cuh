// A list that many warps append to at once, without waiting for one another: each fills chunks of its own.
// A pass over it takes a chunk a warp, so that long and short lists are shared out alike.
#pragma once

namespace mgraph {

using u32 = unsigned int;
constexpr u32 chunk_entries = 128;

template <class T> struct chunked_list {
  T* entries;
  u32* filled;  // of each chunk
  u32* chunks;  // how many there are
};

// What one warp appends to a list. The same in all its lanes, which must call together.
template <class T> struct list_writer {
  chunked_list<T> list;
  u32 chunk, filled;

  __device__ explicit list_writer(chunked_list<T> to) : list(to), chunk(0), filled(chunk_entries) {}

  __device__ void append(bool mine, T entry) {
    const u32 lane = threadIdx.x & 31, mask = __ballot_sync(~0u, mine);
    if (!mask) return;
    const u32 at = filled + __popc(mask & ((1u << lane) - 1)), after = filled + __popc(mask);
    u32 next = 0;
    if (after > chunk_entries) {
      if (lane == 0) next = atomicAdd(list.chunks, 1u);
      next = __shfl_sync(~0u, next, 0);
    }
    if (mine) {
      const bool fits = at < chunk_entries;
      list.entries[(fits ? chunk : next) * (unsigned long long)chunk_entries +
                   (fits ? at : at - chunk_entries)] = entry;
    }
    filled = after;
    if (after > chunk_entries) {
      finish(chunk_entries);
      chunk = next, filled = after - chunk_entries, begun = true;
    }
  }

  // What was appended is complete.
  __device__ void finish() { finish(filled); }

 private:
  bool begun = false;

  __device__ void finish(u32 count) {
    if (begun && (threadIdx.x & 31) == 0) list.filled[chunk] = count;
  }
};

// Call f(entry or nothing, whether there is one) for each entry, by all lanes of a warp together.
template <class T, class F>
__device__ void for_each_entry(chunked_list<T> list, u32 warp, u32 warps, F f) {
  const u32 lane = threadIdx.x & 31, chunks = __ldcg(list.chunks);
  for (u32 chunk = warp; chunk < chunks; chunk += warps) {
    const u32 count = __ldcg(&list.filled[chunk]);
    for (u32 i = 0; i < count; i += 32) {
      const bool there = i + lane < count;
      f(there, there ? list.entries[chunk * (unsigned long long)chunk_entries + i + lane] : T{});
    }
  }
}

}  // namespace mgraph
