// The line of blocks that want a heap's root. Each takes a number, and waits until it is called.
//
// A deletion needs items to put into the place of those that it takes. The last node's are far
// away, and an insertion that stands beside the deletion in the line has some, too. So insertions
// near the front offer what they carry, and say so where they sit; the deletion behind such an
// insertion, or before it, accepts, and the insertion is done without the root. An insertion whose
// number is called lets the deletion behind it go first.
#pragma once

#include <mgraph/ordered.cuh>

namespace mgraph {

constexpr unsigned line_seats = 8;

// All 0 at first. What is here is for one thread of a block.
struct heap_line {
  enum kind : unsigned { nobody, deletion, offer, accepted, declined };
  // Number n's is n % line_seats: so only for those near the front.
  struct seat {
    unsigned long long who;     // 8 n + kind
    unsigned long long ticket;  // an accepted insertion's turn
  };

  alignas(32) unsigned next_number;
  alignas(32) unsigned called;
  alignas(32) seat seats[line_seats];

  __device__ unsigned take_number() { return atomicAdd(&next_number, 1u); }
  __device__ bool is_empty() const { return load_acquire(&called) == load_acquire(&next_number); }
  __device__ void call(unsigned number) { store_release(&called, number); }

  // Waits until no more than `most` numbers are to be called before this one. How many are; fewer
  // than 0 where it has been left out.
  __device__ int wait(unsigned number, unsigned most) const {
    for (;;) {
      const int before = int(number - load_acquire(&called));
      if (before <= int(most)) return before;
      __nanosleep(min(50 * before, 1000));
    }
  }
  // Waits until a seat is near, or the number is called, and there is no seat.
  __device__ bool wait_for_seat(unsigned number) const {
    return wait(number, line_seats - 2) > 0 && kind_of(number) == nobody;
  }

  __device__ static unsigned long long who(unsigned number, kind as) { return 8ULL * number + as; }
  __device__ seat& seat_of(unsigned number) { return seats[number % line_seats]; }
  __device__ const seat& seat_of(unsigned number) const { return seats[number % line_seats]; }

  __device__ void sit(unsigned number, kind as) {
    store_release(&seat_of(number).who, who(number, as));
  }
  __device__ void stand_up(unsigned number) { store_release(&seat_of(number).who, nobody); }
  __device__ bool sits(unsigned number, kind as) const {
    return load_acquire(&seat_of(number).who) == who(number, as);
  }

  // By an insertion that has offered, while its number is called, or left out: whether a deletion
  // accepts.
  __device__ bool is_accepted(unsigned number) const {
    while (sits(number, offer)) __nanosleep(20);
    return sits(number, accepted);
  }
  __device__ unsigned long long ticket(unsigned number) const {
    return __ldcg(&seat_of(number).ticket);
  }

 private:
  __device__ unsigned kind_of(unsigned number) const {
    return load_acquire(&seat_of(number).who) % 8;
  }
};

}  // namespace mgraph
