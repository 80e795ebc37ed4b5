// A list to which many warps append concurrently, without waiting for each other.
//
// Each warp fills chunks of its own, and gets the next one by an atomic addition. A pass over the
// list assigns one chunk to a warp at a time, so that long and short lists are balanced alike.
// Memory order: entries and counts are plain stores; a grid barrier separates them from the pass
// that reads them.
#pragma once

namespace mgraph {

using u32 = unsigned int;
constexpr u32 chunk_entries = 128;

template <class T> struct chunked_list {
  T* entries;
  u32* filled;  // the number of entries in each chunk
  u32* chunks;  // the number of chunks in use
};

// The appending side of a list, for one warp: all its lanes hold the same state and call together.
template <class T> struct list_writer {
  chunked_list<T> list;
  u32 chunk, filled;

  __device__ explicit list_writer(chunked_list<T> to) : list(to), chunk(0), filled(chunk_entries) {}

  // Appends the entries of the lanes that have one.
  __device__ void append(bool has_entry, T entry) {
    const u32 lane = threadIdx.x & 31, mask = __ballot_sync(~0u, has_entry);
    if (!mask) return;
    const u32 at = filled + __popc(mask & ((1u << lane) - 1)), after = filled + __popc(mask);
    u32 next = 0;
    if (after > chunk_entries) {
      if (lane == 0) next = atomicAdd(list.chunks, 1u);
      next = __shfl_sync(~0u, next, 0);
    }
    if (has_entry) {
      const bool fits = at < chunk_entries;
      list.entries[(fits ? chunk : next) * (unsigned long long)chunk_entries +
                   (fits ? at : at - chunk_entries)] = entry;
    }
    filled = after;
    if (after > chunk_entries) {
      finish(chunk_entries);
      chunk = next, filled = after - chunk_entries, has_chunk = true;
    }
  }

  // Records the length of the last chunk; to be called after the last entry.
  __device__ void finish() { finish(filled); }

 private:
  bool has_chunk = false;

  __device__ void finish(u32 count) {
    if (has_chunk && (threadIdx.x & 31) == 0) list.filled[chunk] = count;
  }
};

// Calls use(whether this lane has an entry, the entry) until all entries of a list were used, by
// all lanes of a warp together.
template <class T, class F>
__device__ void for_each_entry(chunked_list<T> list, u32 warp, u32 warps, F use) {
  const u32 lane = threadIdx.x & 31, chunks = __ldcg(list.chunks);
  for (u32 chunk = warp; chunk < chunks; chunk += warps) {
    const u32 count = __ldcg(&list.filled[chunk]);
    for (u32 i = 0; i < count; i += 32) {
      const bool has_entry = i + lane < count;
      use(has_entry,
          has_entry ? list.entries[chunk * (unsigned long long)chunk_entries + i + lane] : T{});
    }
  }
}

}  // namespace mgraph
