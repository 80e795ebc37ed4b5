"""How the ranks of a computation meet: all of them call the same methods in the same order."""

import abc
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mgraph.errors import ClusterError

Message = tuple[Any, ...]  # one-dimensional arrays


class ExchangeLostError(ClusterError):
    """Another rank has ended, or cannot be reached. The ranks that are left end as well."""


class Exchange(abc.ABC):
    """The ranks of one computation, seen by one of them.

    rank: this one's number. size: the number of ranks.
    """

    rank: int
    size: int

    @abc.abstractmethod
    def all_to_all(self, messages: Sequence[Message]) -> list[Message]:
        """Send ``messages[r]`` to each rank r, and return what each rank sent to this one.

        A message has any arrays of any lengths; all ranks send as many, of the same types. The
        rank's own message is returned as it is. Arrays that were sent may be changed afterwards.
        Raises ExchangeLostError.
        """

    def swap(self, messages: Sequence[Message], more: int = 0) -> tuple[list[Message], int]:
        """As ``all_to_all``; return also how many elements the first arrays of all messages have.

        So all ranks learn together whether any of them had something to send. more: is added, from
        each rank.
        """
        count = np.array([sum(message[0].size for message in messages) + more], np.int64)
        received = self.all_to_all([(*message, count) for message in messages])
        return [message[:-1] for message in received], sum(int(each[-1][0]) for each in received)

    def check(self) -> None:
        """Raise ExchangeLostError if another rank has failed: for who waits by other means."""
        return

    def reusable(self) -> Any:
        """Return what an exchange of the same ranks may use again, when all messages have come."""
        return None

    def all_gather(self, *arrays: Any) -> list[Message]:
        """Return the arrays of each rank."""
        return self.all_to_all([arrays] * self.size)

    def all_reduce(self, values: Any, reduce: Callable[[Any], Any] = np.sum) -> np.ndarray:
        """Return ``reduce`` of all ranks' values along the first axis: a few numbers, on the host.

        reduce: such as ``np.max``; it takes ``axis``. The result is the same on all ranks.
        """
        gathered = self.gather_numbers(np.atleast_1d(np.asarray(values)))
        reduced: np.ndarray = reduce(np.stack(gathered), axis=0)  # type: ignore[call-arg]
        return reduced

    def share(self, count: int, rank: int | None = None) -> slice:
        """Return the share of positions that is a rank's, this one's by default, see ``minimum``.

        All shares have the same length, except that the last one's takes the rest, too.
        """
        rank, length = self.rank if rank is None else rank, count // self.size
        return slice(rank * length, count if rank + 1 == self.size else (rank + 1) * length)

    def minimum(self, array: Any) -> Any:
        """Return the least of all ranks' elements at each position of an array of any length.

        The arrays have the same length and type; they may be changed. Each rank sends its array
        less one share, and then its share of the result.
        """
        return self.gather_shares(self.minimum_share(array), array.size)

    def minimum_share(self, array: Any) -> Any:
        """As ``minimum``, but return this rank's share of the result, which is half of the work."""
        if self.size == 1:
            return array
        shares = [(array[self.share(array.size, rank)],) for rank in range(self.size)]
        return functools.reduce(np.minimum, [share for (share,) in self.all_to_all(shares)])

    def gather_shares(self, share: Any, count: int) -> Any:
        """Return the array of ``count`` elements whose shares the ranks give."""
        if self.size == 1:
            return share
        return np.concatenate([each for (each,) in self.all_gather(share)])

    def gather_numbers(self, values: np.ndarray) -> list[np.ndarray]:
        """Return a small array of each rank, all of them on the host and of the same length."""
        return [array for (array,) in self.all_gather(values)]
