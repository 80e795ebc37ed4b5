"""Ranks as threads of this process, which meet in memory."""

import threading
from concurrent.futures import ThreadPoolExecutor

from mgraph.partitioned.exchange import Exchange, ExchangeLostError


class _Meeting:
    def __init__(self, size, at_once):
        self.messages = [None] * size
        self.barrier = threading.Barrier(size, timeout=60)
        one = threading.Lock()  # one rank at a time computes: the emulator has one device
        self.turns = [threading.Lock() if at_once else one for _ in range(size)]

    def wait(self, rank):
        self.turns[rank].release()
        try:
            self.barrier.wait()
        finally:
            self.turns[rank].acquire()


class ThreadExchange(Exchange):
    def __init__(self, rank, meeting):
        self.rank, self.size, self._meeting = rank, len(meeting.messages), meeting
        self.calls = self.bytes_sent = 0

    def all_to_all(self, messages):
        assert len(messages) == self.size
        self.calls += 1
        self.bytes_sent += sum(
            array.nbytes
            for rank, message in enumerate(messages)
            for array in message
            if rank != self.rank
        )
        copied = [tuple(array.copy() for array in message) for message in messages]
        try:
            self._meeting.messages[self.rank] = copied
            self._meeting.wait(self.rank)
            received = [sent[self.rank] for sent in self._meeting.messages]
            self._meeting.wait(self.rank)
        except threading.BrokenBarrierError:
            raise ExchangeLostError("another rank has ended") from None
        shapes = {tuple(array.dtype for array in message) for message in received}
        assert len(shapes) == 1, shapes
        return received

    def check(self):
        if self._meeting.barrier.broken:
            raise ExchangeLostError("another rank has ended")


def run_ranks(size, program, at_once=False):
    """Return ``program(exchange)`` of each rank. at_once: ranks also compute at the same time."""
    meeting = _Meeting(size, at_once)

    def run(rank):
        try:
            with meeting.turns[rank]:
                return program(ThreadExchange(rank, meeting))
        except BaseException:
            meeting.barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(run, rank) for rank in range(size)]
    errors = [future.exception() for future in futures if future.exception()]
    if errors:  # those of ranks that only lost another come last
        raise min(errors, key=lambda error: isinstance(error, ExchangeLostError))
    return [future.result() for future in futures]
