// Words with release and acquire order, by which blocks hand memory over to each other: what one
// block's threads wrote before one of them released a word, another block's threads can read after
// one of them has acquired that word. Each side needs a block barrier between its threads' accesses
// and the access of the one thread that uses the word.
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

// Order relaxed accesses: the reads before the fence acquire, and the writes after it release.
// (__threadfence orders more, and takes longer.)
__device__ __forceinline__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// Compare and exchange with acquire order. Returns the old value; if that was `expected`, the word
// is `value` now. For locks: what the previous owner wrote before it released the word is visible.
__device__ __forceinline__ unsigned compare_exchange_acquire(unsigned* word, unsigned expected,
                                                             unsigned value) {
  unsigned old;
  asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(word), "r"(expected), "r"(value)
               : "memory");
  return old;
}

__device__ __forceinline__ unsigned long long compare_exchange_acquire(unsigned long long* word,
                                                                       unsigned long long expected,
                                                                       unsigned long long value) {
  unsigned long long old;
  asm volatile("atom.acquire.gpu.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(old)
               : "l"(word), "l"(expected), "l"(value)
               : "memory");
  return old;
}

// Compare and exchange with acquire and release order, which is slower. Returns whether the word
// was `expected`, and so is `value` now. Whoever acquires it next sees what this block wrote.
__device__ __forceinline__ bool compare_exchange_acq_rel(unsigned* word, unsigned expected,
                                                         unsigned value) {
  unsigned old;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(word), "r"(expected), "r"(value)
               : "memory");
  return old == expected;
}

}  // namespace mgraph
