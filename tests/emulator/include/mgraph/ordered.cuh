// Stands in for the header of this name where kernels run on a CPU.
#pragma once

namespace mgraph {

template <class T> T load_acquire(const T* word) {
  emulator::perhaps_leave();
  return *static_cast<const volatile T*>(word);
}

template <class T> void store_release(T* word, decltype(T()) value) {
  emulator::perhaps_leave();
  *static_cast<volatile T*>(word) = value;
  emulator::perhaps_leave();
}

inline void fence() { emulator::perhaps_leave(); }

template <class T>
T compare_exchange_acquire(T* word, decltype(T()) expected, decltype(T()) value) {
  return atomicCAS(word, expected, value);
}

template <class T>
bool compare_exchange_acq_rel(T* word, decltype(T()) expected, decltype(T()) value) {
  return atomicCAS(word, expected, value) == expected;
}

}  // namespace mgraph
