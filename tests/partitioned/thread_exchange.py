"""Ranks as threads of this process, which meet in memory."""

import threading
from concurrent.futures import ThreadPoolExecutor

from mgraph.partitioned.exchange import Exchange, ExchangeLostError


class _Meeting:
    def __init__(self, size):
        self.messages = [None] * size
        self.barrier = threading.Barrier(size, timeout=60)
        self.turn = threading.Lock()  # one rank at a time computes: the emulator has one device

    def wait(self):
        self.turn.release()
        try:
            self.barrier.wait()
        finally:
            self.turn.acquire()


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
            self._meeting.wait()
            received = [sent[self.rank] for sent in self._meeting.messages]
            self._meeting.wait()
        except threading.BrokenBarrierError:
            raise ExchangeLostError("another rank has ended") from None
        shapes = {tuple(array.dtype for array in message) for message in received}
        assert len(shapes) == 1, shapes
        return received


def run_ranks(size, program):
    """Return ``program(exchange)`` of each rank."""
    meeting = _Meeting(size)

    def run(rank):
        try:
            with meeting.turn:
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
