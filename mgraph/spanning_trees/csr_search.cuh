// Binary searches in compressed sparse rows.
#pragma once

namespace mgraph {

using u32 = unsigned int;

// The vertex whose row contains an arc.
__device__ inline u32 tail_of(const long long* indptr, u32 n, u32 arc) {
  u32 begin = 0, end = n;
  while (end - begin > 1) {
    const u32 middle = begin + (end - begin) / 2;
    if (indptr[middle] <= arc) {
      begin = middle;
    } else {
      end = middle;
    }
  }
  return begin;
}

// The first arc in the row of v, whose heads ascend, with a head of at least u.
__device__ inline u32 lower_bound(const long long* indptr, const int* indices, u32 v, u32 u) {
  u32 begin = u32(indptr[v]), end = u32(indptr[v + 1]);
  while (begin < end) {
    const u32 middle = begin + (end - begin) / 2;
    if (u32(indices[middle]) < u) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace mgraph
