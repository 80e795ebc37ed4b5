// Counter-based hashing: the same bits as mgraph/core/hashing.py, which names the sources. Both use
// the constants below: the Python module reads them from here.
#pragma once

namespace mgraph {

using u32 = unsigned int;
using u64 = unsigned long long;

constexpr u64 golden64 = 0x9E3779B97F4A7C15ULL;
constexpr u32 philox_multiplier = 0xD256D193U;
constexpr u32 philox_key_step = 0x9E3779B9U;
constexpr u32 attempt_key_step = 0xBB67AE85U;
constexpr int philox_rounds = 7;
constexpr u64 mix_multiplier1 = 0xBF58476D1CE4E5B9ULL;
constexpr u64 mix_multiplier2 = 0x94D049BB133111EBULL;

// The key of a seed's random stream (hashing.py: StreamKey).
struct stream_key {
  u32 white0, white1, key;
};

__device__ __forceinline__ u64 mix64(u64 x) {
  x = (x ^ (x >> 30)) * mix_multiplier1;
  x = (x ^ (x >> 27)) * mix_multiplier2;
  return x ^ (x >> 31);
}

__device__ __forceinline__ u64 edge_hash(u64 src, u64 dst) { return mix64(src * golden64 + dst); }

__device__ __forceinline__ u64 weighted_edge_hash(u64 src, u64 dst, u64 weight) {
  return mix64(edge_hash(src, dst) + weight);
}

// Add each thread's sum to *checksum: within a warp by shuffles, then one atomic per warp. All 32
// threads of a warp must call it.
__device__ __forceinline__ void add_checksum(u64 sum, u64* checksum) {
  for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(0xFFFFFFFF, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(checksum, sum);
}

// A weight in [low, low + span), the same for both directions. span: 1 to 2^32.
__device__ __forceinline__ u64 edge_weight(u64 src, u64 dst, u64 key, u64 low, u64 span) {
  return low +
         __umul64hi(mix64((src > dst ? edge_hash(src, dst) : edge_hash(dst, src)) + key), span);
}

// Philox2x32-7 of a 64-bit counter; word 0 is the high half of the result. white1_key: the stream's
// white1 ^ key, which a loop of draws passes as a kernel argument, to save one instruction per
// draw.
__device__ __forceinline__ u64 philox(u64 counter, u32 white0, u32 white1_key, u32 key) {
  u32 word0 = u32(counter) ^ white0;
  u32 word1 = u32(counter >> 32) ^ white1_key;
#pragma unroll
  for (int round = 0; round < philox_rounds; ++round) {
    const u64 product = u64(word0) * philox_multiplier;
    word0 = u32(product >> 32) ^ (round ? key + round * philox_key_step : 0) ^ word1;
    word1 = u32(product);
  }
  return (u64(word0) << 32) | word1;
}

__device__ __forceinline__ u64 philox(u64 counter, stream_key stream, u32 key) {
  return philox(counter, stream.white0, stream.white1 ^ key, key);
}

}  // namespace mgraph
