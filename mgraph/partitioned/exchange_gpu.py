"""An exchange between GPUs by NCCL.

Each all-to-all first gathers the lengths of all messages at all ranks, then sends and receives all
arrays in one group. Another exchange, over the network, makes the ranks known to each other, and
tells while a rank waits whether the others still go on: NCCL itself would wait for ever.
"""

import contextlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.partitioned.exchange import Exchange, Message

SPIN_SECONDS = 0.002  # that a waiting rank keeps its core, which saves the time to wake up
PAUSE_SECONDS = 0.0002
CHECK_SECONDS = 0.5  # between two questions whether the other ranks go on


class Communicator:
    """NCCL's communicator of this rank, on the current device.

    It may be used for one run after another. number: the same at all ranks.
    """

    def __init__(self, control: Exchange) -> None:
        """Meet the other ranks; all call it at once."""
        from cupy.cuda import nccl

        own = (
            nccl.get_unique_id() if control.rank == 0 else b""
        )  # bytes, or integers before CuPy 14
        is_bytes = isinstance(own, bytes)
        unique = np.frombuffer(own, np.uint8) if is_bytes else np.array(own, np.int8).view(np.uint8)
        first = control.all_gather(unique, np.array([time.time_ns(), is_bytes]))[0]
        number, was_bytes = first[1].tolist()
        self.number = number
        identity = first[0].tobytes() if was_bytes else tuple(first[0].view(np.int8).tolist())
        self.nccl = nccl.NcclCommunicator(control.size, identity, control.rank)
        self._connect(control.rank, control.size)

    def _connect(self, rank: int, size: int) -> None:
        """Send and reduce a word, since NCCL connects two ranks when they first do so."""
        import cupy
        from cupy.cuda import nccl

        with cupy.cuda.Stream(non_blocking=True) as stream:
            words = cupy.empty(2 * size, np.uint64)
            first = words.data.ptr
            nccl.groupStart()
            for other in range(size):
                if other != rank:
                    place = first + 16 * other
                    self.nccl.send(place, 1, nccl.NCCL_UINT64, other, stream.ptr)
                    self.nccl.recv(place + 8, 1, nccl.NCCL_UINT64, other, stream.ptr)
            nccl.groupEnd()
            self.nccl.allReduce(first, first, 1, nccl.NCCL_UINT64, nccl.NCCL_MIN, stream.ptr)
            stream.synchronize()

    def abort(self) -> None:
        """End the operations that wait for a rank that is gone."""
        self.nccl.abort()


class NcclExchange(Exchange):
    """The exchange of a rank on its device."""

    def __init__(self, control: Exchange, known: Communicator | None = None) -> None:
        """Begin to meet the other ranks, on a thread of its own: NCCL takes a tenth of a second.

        control: asks whether the other ranks go on. known: this rank's communicator of an earlier
        run, used again if all ranks have one of that run.
        """
        import cupy

        self.rank, self.size = control.rank, control.size
        self._control, self._event = control, cupy.cuda.Event(disable_timing=True)
        self._met: Future[Communicator] = Future()
        device = cupy.cuda.Device()

        def meet() -> None:
            try:
                with device:
                    self._met.set_result(communicator_for(control, known))
            except BaseException as error:
                self._met.set_exception(error)

        meeting = cancellation.with_token(meet)
        threading.Thread(target=meeting, name="mgraph-nccl", daemon=True).start()

    @property
    def communicator(self) -> Communicator:
        """NCCL's communicator, when all ranks have met. Raises ExchangeLostError."""
        while not self._met.done():
            with contextlib.suppress(TimeoutError):
                return self._met.result(CHECK_SECONDS)
            cancellation.raise_if_cancelled()
            self._control.check()
        return self._met.result()

    def reusable(self) -> Communicator:
        """Return the communicator."""
        return self.communicator

    def all_to_all(self, messages: Sequence[Message]) -> list[Message]:
        """Send and receive, see ``Exchange``. NumPy arrays arrive as such."""
        return self.swap(messages)[0]

    def swap(self, messages: Sequence[Message], more: int = 0) -> tuple[list[Message], int]:
        """As ``all_to_all``; the number of elements is known from the lengths of all messages."""
        import cupy

        if self.size == 1:
            return list(messages), sum(message[0].size for message in messages) + more
        own = messages[self.rank]
        counts = np.array([[array.size for array in message] for message in messages], np.int64)
        gathered = np.stack(self.gather_numbers(np.append(counts, more)))
        table = gathered[:, :-1].reshape(self.size, self.size, len(own))  # sender, receiver, array
        sent = [tuple(map(cupy.ascontiguousarray, map(cupy.asarray, each))) for each in messages]
        received: list[Message] = [
            tuple(
                cupy.empty(int(count), array.dtype)
                for count, array in zip(table[sender, self.rank], own, strict=True)
            )
            for sender in range(self.size)
        ]
        self._group(
            (send, array, rank)
            for send, messages_ in ((True, sent), (False, received))
            for rank, message in enumerate(messages_)
            for array in message
            if rank != self.rank and array.size
        )
        received[self.rank] = tuple(own)
        if any(isinstance(array, np.ndarray) for array in own):
            received = [
                tuple(
                    array.get() if isinstance(like, np.ndarray) and array is not like else array
                    for array, like in zip(message, own, strict=True)
                )
                for message in received
            ]
        return received, int(table[:, :, 0].sum() + gathered[:, -1].sum())

    def gather_numbers(self, values: np.ndarray) -> list[np.ndarray]:
        """Return a small array of each rank, see ``Exchange``."""
        import cupy
        from cupy.cuda import nccl

        if self.size == 1:
            return [values]
        own = cupy.asarray(values)
        gathered = cupy.empty((self.size, values.size), values.dtype)
        stream = cupy.cuda.get_current_stream()
        self.communicator.nccl.allGather(
            own.data.ptr, gathered.data.ptr, own.nbytes, nccl.NCCL_INT8, stream.ptr
        )
        self._wait(stream)
        return list(gathered.get())

    def minimum(self, array: Any) -> Any:
        """Reduce an array in place, of uint32 or uint64, see ``Exchange``."""
        if self.size > 1:
            self._reduce(array)
        return array

    def minimum_share(self, array: Any) -> Any:
        """As ``minimum``; return a view of the share, see ``Exchange``."""
        import cupy
        from cupy.cuda import nccl

        own, equal = self.share(array.size), array.size // self.size
        if self.size > 1 and equal:
            stream, place = cupy.cuda.get_current_stream(), array.data.ptr
            self.communicator.nccl.reduceScatter(
                place, place + array.itemsize * own.start, equal, _nccl_type(array),
                nccl.NCCL_MIN, stream.ptr,
            )  # fmt: skip
            self._wait(stream)
        if self.size > 1:
            self._reduce(array[equal * self.size :])
        return array[own]

    def gather_shares(self, share: Any, count: int) -> Any:
        """Return the array whose shares the ranks give, see ``Exchange``."""
        import cupy
        from cupy.cuda import nccl

        if self.size == 1:
            return share
        equal, last = count // self.size, self.size - 1
        whole, stream = cupy.empty(count, share.dtype), cupy.cuda.get_current_stream()
        communicator = self.communicator.nccl
        if equal:
            bytes_sent = equal * share.itemsize
            communicator.allGather(
                share.data.ptr, whole.data.ptr, bytes_sent, nccl.NCCL_INT8, stream.ptr
            )
        rest = whole[equal * self.size :]
        if rest.size:
            source = share[equal:] if self.rank == last else rest
            communicator.broadcast(
                source.data.ptr, rest.data.ptr, rest.nbytes, nccl.NCCL_INT8, last, stream.ptr
            )
        self._wait(stream)
        return whole

    def _reduce(self, array: Any) -> None:
        """Reduce an array at all ranks, in place."""
        import cupy
        from cupy.cuda import nccl

        if array.size:
            stream, place = cupy.cuda.get_current_stream(), array.data.ptr
            self.communicator.nccl.allReduce(
                place, place, array.size, _nccl_type(array), nccl.NCCL_MIN, stream.ptr
            )
            self._wait(stream)

    def _group(self, transfers: Any) -> None:
        """Send and receive arrays: whether they are sent, the array, and the other rank."""
        import cupy
        from cupy.cuda import nccl

        communicator, stream = self.communicator.nccl, cupy.cuda.get_current_stream()
        nccl.groupStart()
        for is_sent, array, rank in transfers:
            operation = communicator.send if is_sent else communicator.recv
            operation(array.data.ptr, array.nbytes, nccl.NCCL_INT8, rank, stream.ptr)
        nccl.groupEnd()
        self._wait(stream)

    def _wait(self, stream: Any) -> None:
        """Wait for the stream, as long as the other ranks go on. Raises ExchangeLostError."""
        self._event.record(stream)
        began = time.monotonic()
        try:
            while not self._event.done:
                passed = time.monotonic() - began
                if passed > SPIN_SECONDS:
                    time.sleep(PAUSE_SECONDS)
                    cancellation.raise_if_cancelled()
                    if passed > CHECK_SECONDS:
                        self._control.check()
        except BaseException:
            self.communicator.abort()
            raise


def _nccl_type(array: Any) -> int:
    """Return NCCL's name for the type of an array of uint32 or uint64."""
    from cupy.cuda import nccl

    name: int = {"uint32": nccl.NCCL_UINT32, "uint64": nccl.NCCL_UINT64}[str(array.dtype)]
    return name


def communicator_for(control: Exchange, known: Communicator | None) -> Communicator:
    """Return a communicator that all ranks have: the known one, or a new one."""
    number = 0 if known is None else known.number
    numbers = [int(each[0]) for each in control.gather_numbers(np.array([number]))]
    if known is not None and min(numbers) == max(numbers):
        return known
    return Communicator(control)
