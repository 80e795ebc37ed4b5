// Relaxed loads and stores: words that some threads write while others read them, without any order
// among different words. Those of the system reach the memory of other devices as well.
#pragma once

namespace mgraph {

__device__ __forceinline__ int load_relaxed(const int* address) {
  int value;
  asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ long long load_relaxed(const long long* address) {
  long long value;
  asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ unsigned long long load_relaxed(const unsigned long long* address) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ void store_relaxed(unsigned long long* address,
                                              unsigned long long value) {
  asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ void store_relaxed(unsigned* address, unsigned value) {
  asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void store_relaxed(int* address, int value) {
  asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void store_relaxed(long long* address, long long value) {
  asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

// A volatile access is a relaxed one of the system.
template <class T> __device__ __forceinline__ T load_relaxed_system(const T* address) {
  return *static_cast<const volatile T*>(address);
}

template <class T> __device__ __forceinline__ void store_relaxed_system(T* address, T value) {
  *static_cast<volatile T*>(address) = value;
}

}  // namespace mgraph
