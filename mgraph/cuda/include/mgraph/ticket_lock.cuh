// The queue of blocks that want a heap's root: a ticket lock with combining.
//
// Ticket lock: a block draws a ticket and waits until the queue's head has come to it. Only the
// blocks near the head poll it often, and the root's own word sees one block at a time. The lock
// orders the blocks; what protects the root and the buffer is the root's word (heap_memory.cuh),
// which the block at the head still has to acquire.
//
// Combining: a deletion needs K items in place of those that it takes from the root. The last
// node's are far away, while an insertion of a full batch beside it in the queue carries K items.
// So each block near the head publishes in a slot what it is: a `deletion`, or an `offer`, which is
// an insertion that has written its items to the slot's row (heap_memory::offer_row). A deletion
// accepts the offer of the ticket before it or after it, and that insertion is done without the
// root. An insertion at the head passes the head on to a deletion right behind it. A deletion
// passes the head on over an offer that it accepted, and over one that it leaves to the deletion
// behind it. In the linearization order the deletion comes first, then the insertion whose offer it
// accepted.
//
// Hand-overs, each with its flag, its fences, and why it is safe. A block has a barrier between its
// threads' accesses and those of the one thread that uses a flag, so the flag orders all of them.
// The code is in heap.cuh (acquire_root_in_turn, plan_deletion, end_turn) and heap_insertion.cuh
// (acquire_root_or_offer).
//   head      store_release, or a fence and a relaxed store; read by load_acquire. A block passes
//             the head on after it has acquired it, so what it did before happens before what later
//             tickets do. It may pass it on while it still holds the root: the next block then
//             waits at the root's word.
//   offer     The items are written to the row, then `offer` by store_release. The deletion reads
//             statuses relaxed, several at once; if it takes an offer, it fences before its threads
//             read the row. No offer is stale: a status contains its ticket, and an insertion whose
//             turn comes stores `empty` before it passes the head on, which the deletion acquires.
//             No offer is withdrawn meanwhile: the head is at the deletion, so the turn of the
//             insertion behind it cannot come, and the one before it waits for its answer.
//   accepted  The deletion writes the slot's `sequence` and its threads read the row; then, after a
//             block barrier and a fence, one of them stores `accepted`. The insertion acquires it
//             and reads the sequence. No offer is accepted twice: the next deletion reads the
//             status while it holds the root, which this one releases after `accepted`.
//   declined  store_release; no data go with it. The insertion draws a new ticket.
//   empty     After an answer it is stored with release: the slot's next user acquires it, and so
//             overwrites the row and the sequence only after they were read. A block whose turn
//             comes stores it relaxed: its row is not read, and its writes to the row happen before
//             it passes the head on. The slot's next user has acquired a later head, since it uses
//             the slot only once the head is at most ticket_slots - 2 tickets away.
//
// No circular wait: a ticket waits for the head, so for smaller tickets, and no block waits for an
// offer. An insertion waits for an answer only once the head is at a deletion beside it; that
// deletion answers by what is published already. Until then it waits only for words of nodes, which
// are held by blocks that do not wait for the queue.
#pragma once

#include <mgraph/ordered.cuh>

namespace mgraph {

constexpr unsigned ticket_slots = 8;

// All words are 0 at first. One thread of a block calls these functions.
struct ticket_lock {
  enum slot_state : unsigned { empty, deletion, offer, accepted, declined };
  // Ticket t uses slot t % ticket_slots, so only tickets near the head have one.
  struct slot {
    unsigned long long status;    // 8 * ticket + slot_state; 0: empty
    unsigned long long sequence;  // an accepted insertion's place in the linearization order
  };

  alignas(32) unsigned next_ticket;
  alignas(32) unsigned head;  // the ticket whose turn it is
  alignas(32) slot slots[ticket_slots];

  __device__ unsigned acquire_ticket() { return atomicAdd(&next_ticket, 1u); }
  __device__ bool is_queue_empty() const {
    return load_acquire(&head) == load_acquire(&next_ticket);
  }
  __device__ void advance_head(unsigned ticket) { store_release(&head, ticket); }

  // Waits until the head is at most `distance` tickets away. Returns how many it is away; below 0
  // if it has passed over this ticket.
  __device__ int wait_for_head(unsigned ticket, unsigned distance) const {
    for (;;) {
      const int remaining = int(ticket - load_acquire(&head));
      if (remaining <= int(distance)) return remaining;
      __nanosleep(min(50 * remaining, 1000));
    }
  }
  // Waits until the ticket is near the head. Returns whether it may use its slot: not if it is at
  // the head already, or if the slot's last user has not released it.
  __device__ bool wait_for_slot(unsigned ticket) const {
    return wait_for_head(ticket, ticket_slots - 2) > 0 && state_of(ticket) == empty;
  }

  __device__ static unsigned long long status_of(unsigned ticket, slot_state state) {
    return 8ULL * ticket + state;
  }
  __device__ slot& slot_of(unsigned ticket) { return slots[ticket % ticket_slots]; }
  __device__ const slot& slot_of(unsigned ticket) const { return slots[ticket % ticket_slots]; }

  __device__ void publish(unsigned ticket, slot_state state) {
    store_release(&slot_of(ticket).status, status_of(ticket, state));
  }
  __device__ void release_slot(unsigned ticket) { store_release(&slot_of(ticket).status, empty); }
  __device__ bool is_published(unsigned ticket, slot_state state) const {
    return load_acquire(&slot_of(ticket).status) == status_of(ticket, state);
  }

  // By an insertion that has published an offer and whose turn is now a deletion's to decide: waits
  // for the answer and returns whether the offer was accepted.
  __device__ bool wait_for_answer(unsigned ticket) const {
    while (is_published(ticket, offer)) __nanosleep(20);
    return is_published(ticket, accepted);
  }
  __device__ unsigned long long sequence_of(unsigned ticket) const {
    return __ldcg(&slot_of(ticket).sequence);
  }

 private:
  __device__ unsigned state_of(unsigned ticket) const {
    return load_acquire(&slot_of(ticket).status) % 8;
  }
};

}  // namespace mgraph
