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

template <class T> T load_relaxed_system(const T* address) { return load_relaxed(address); }

template <class T> void store_relaxed_system(T* address, T value) { store_relaxed(address, value); }

}  // namespace mgraph
