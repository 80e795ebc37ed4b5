// Loads past the first-level cache, which other blocks' writes do not reach.
#pragma once

namespace mgraph {

template <class T> __device__ __forceinline__ T fresh(const T* address) { return __ldcg(address); }

}  // namespace mgraph
