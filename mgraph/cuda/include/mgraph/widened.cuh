// Numbers to double as a CPU does it. CuPy compiles with -ftz=true, under which the compiler's own
// conversion takes subnormal floats for zero; written as PTX, it keeps them.
#pragma once

namespace mgraph {

__device__ __forceinline__ double widened(float x) {
  double y;
  asm("cvt.f64.f32 %0, %1;" : "=d"(y) : "f"(x));
  return y;
}
template <class T> __device__ __forceinline__ double widened(T x) { return double(x); }

}  // namespace mgraph
