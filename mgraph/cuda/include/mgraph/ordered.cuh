// Words by which blocks hand memory to each other: what one block wrote before it released a word,
// all its threads, another reads once it has acquired that word, all its threads, if each side has
// a block barrier between its threads' accesses and the one thread's that uses the word.
#pragma once

namespace mgraph {

__device__ __forceinline__ unsigned load_acquire(const unsigned* word) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ __forceinline__ unsigned long long load_acquire(const unsigned long long* word) {
  unsigned long long value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

__device__ __forceinline__ void store_release(unsigned* word, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ __forceinline__ void store_release(unsigned long long* word, unsigned long long value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

// For words that are read or written in any order: as if the reads before it had acquired, and the
// writes after it released. (__threadfence orders more, and takes longer.)
__device__ __forceinline__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// What the word was: where that is `expected`, it is `value` now. For a word that is taken: what
// others did before they let it go is seen.
__device__ __forceinline__ unsigned compare_take(unsigned* word, unsigned expected,
                                                 unsigned value) {
  unsigned old;
  asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(word), "r"(expected), "r"(value)
               : "memory");
  return old;
}

__device__ __forceinline__ unsigned long long compare_take(unsigned long long* word,
                                                           unsigned long long expected,
                                                           unsigned long long value) {
  unsigned long long old;
  asm volatile("atom.acquire.gpu.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(old)
               : "l"(word), "l"(expected), "l"(value)
               : "memory");
  return old;
}

// Whether the word was `expected`, and is `value` now. Releases, too: who takes it then sees what
// this block did. That is slower.
__device__ __forceinline__ bool exchange_if(unsigned* word, unsigned expected, unsigned value) {
  unsigned old;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(word), "r"(expected), "r"(value)
               : "memory");
  return old == expected;
}

}  // namespace mgraph
