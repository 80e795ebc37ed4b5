// Conversion to double as on a CPU. CuPy compiles with -ftz=true, with which the compiler's own
// conversion flushes subnormal floats to zero; the conversion in PTX keeps them.
#pragma once

namespace mgraph {

__device__ __forceinline__ double widened(float x) {
  double y;
  asm("cvt.f64.f32 %0, %1;" : "=d"(y) : "f"(x));
  return y;
}
template <class T> __device__ __forceinline__ double widened(T x) { return double(x); }

}  // namespace mgraph
