// Stands in for the header of this name where kernels run on a CPU.
#pragma once

namespace mgraph {

template <class T> T load_relaxed(const T* address) {
  emulator::perhaps_leave();
  return *static_cast<const volatile T*>(address);
}

template <class T> void store_relaxed(T* address, decltype(T()) value) {
  emulator::perhaps_leave();
  *static_cast<volatile T*>(address) = value;
}

}  // namespace mgraph
