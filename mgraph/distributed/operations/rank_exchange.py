"""An exchange between ranks that are Dask tasks, over the connections between their workers.

Each worker has a plugin with two handlers: one takes the arrays that another rank sends, one says
whether a rank's task has ended. Messages go from worker to worker, with the cluster's protocol and
security (TCP, TLS, UCX). A rank that waits for another asks now and then whether that one goes on;
if it has failed or does not answer, the rank fails as well, so that all end soon after the first.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
from distributed import WorkerPlugin

from mgraph.core import cancellation
from mgraph.distributed.protocol import dask_internals
from mgraph.partitioned.exchange import Exchange, ExchangeLostError, Message

ASK_SECONDS = 1.0  # between two questions to a rank that is waited for
ANSWER_SECONDS = 8.0  # for an answer; a rank that gives none twice is lost
WAKE_SECONDS = 0.1  # between two checks for cancellation
LOST = "a worker that holds a part of the graph has ended or cannot be reached"


class _Mailbox:
    """What has come for one rank of a run, and whether its task goes on."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.arrived: dict[tuple[int, int], Message] = {}  # by call and sender
        self.state = "waiting"  # running, done, failed


class RankPlugin(WorkerPlugin):
    """The mailboxes of a worker's ranks, and what they keep from one run to the next.

    memory: of the ranks, by whatever names they choose.
    """

    idempotent = True

    def __init__(self) -> None:
        """Choose a name."""
        self.name = f"mgraph-ranks-{time.time_ns()}"

    def setup(self, worker: Any) -> None:
        """Add the handlers to the worker."""
        self.worker = worker
        self.memory: dict[str, Any] = {}
        self._mailboxes: dict[str, _Mailbox] = {}
        self._lock = threading.Lock()
        for operation, handler in self._handlers():
            dask_internals.add_handler(worker, operation, handler)

    def teardown(self, worker: Any) -> None:
        """Remove the handlers, and let go of the memory."""
        for operation, _ in self._handlers():
            dask_internals.remove_handler(worker, operation)
        self.memory.clear()

    def _handlers(self) -> list[tuple[str, Callable[..., Any]]]:
        return [(self.deliver_operation, self._deliver), (self.state_operation, self._state)]

    @property
    def deliver_operation(self) -> str:
        """The name of requests that carry a message."""
        return f"{self.name}-deliver"

    @property
    def state_operation(self) -> str:
        """The name of requests for the state of a rank."""
        return f"{self.name}-state"

    def mailbox(self, run: str) -> _Mailbox:
        """Return the mailbox of this worker's rank of a run."""
        with self._lock:
            return self._mailboxes.setdefault(run, _Mailbox())

    def end(self, run: str, state: str) -> None:
        """Note how the rank of a run has ended, and drop what has come for it."""
        mailbox = self.mailbox(run)
        with mailbox.changed:
            mailbox.state = state
            mailbox.arrived.clear()

    async def _deliver(self, run: str, call: int, sender: int, data: Any) -> str:
        mailbox = self.mailbox(run)
        with mailbox.changed:
            if mailbox.state in ("waiting", "running"):
                mailbox.arrived[call, sender] = data
                mailbox.changed.notify_all()
        return mailbox.state

    async def _state(self, run: str, data: Any) -> str:
        return self.mailbox(run).state


def check_alive(plugin: RankPlugin, addresses: Sequence[str]) -> None:
    """Raise ExchangeLostError unless the workers at these addresses answer."""
    loop = dask_internals.event_loop(plugin.worker)

    async def ask() -> None:
        questions = [
            dask_internals.ask_worker(
                plugin.worker, address, plugin.state_operation, run="alive", data=None
            )
            for address in addresses
        ]
        await asyncio.wait_for(asyncio.gather(*questions), ANSWER_SECONDS)

    try:
        asyncio.run_coroutine_threadsafe(ask(), loop).result()
    except Exception as error:
        raise ExchangeLostError(LOST) from error


class WorkerExchange(Exchange):
    """The exchange of a rank, in the task that runs it."""

    def __init__(self, plugin: RankPlugin, run: str, rank: int, addresses: Sequence[str]) -> None:
        """Begin. addresses: of the ranks' workers."""
        self.rank, self.size = rank, len(addresses)
        self._plugin, self._run, self._addresses = plugin, run, addresses
        self._mailbox, self._calls = plugin.mailbox(run), 0
        self._loop = dask_internals.event_loop(plugin.worker)
        self._checks: dict[int, Future[Any]] = {}
        self._unanswered = dict.fromkeys(range(self.size), 0)
        with self._mailbox.changed:
            self._mailbox.state = "running"

    def all_to_all(self, messages: Sequence[Message]) -> list[Message]:
        """Send and receive, see ``Exchange``."""
        call, self._calls = self._calls, self._calls + 1
        others = [rank for rank in range(self.size) if rank != self.rank]
        sent = {rank: self._start(self._send(rank, call, messages[rank])) for rank in others}
        self._wait(call, sent)
        with self._mailbox.changed:
            arrived = {rank: self._mailbox.arrived.pop((call, rank)) for rank in others}
        received = {rank: tuple(map(_usable, message)) for rank, message in arrived.items()}
        received[self.rank] = tuple(messages[self.rank])
        return [received[rank] for rank in range(self.size)]

    def check(self) -> None:
        """Raise ExchangeLostError if another rank has failed, as far as is known by now.

        Each call asks the ranks that have answered the last question.
        """
        for rank in range(self.size):
            question = self._checks.get(rank)
            if rank == self.rank or (question is not None and not question.done()):
                continue
            if question is not None:
                self._judge(None, rank, question, self._unanswered)
            self._checks[rank] = self._start(self._ask(rank))

    def _start(self, coroutine: Any) -> "Future[Any]":
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        future.add_done_callback(self._notify)
        return future

    def _notify(self, future: "Future[Any]") -> None:
        with self._mailbox.changed:
            self._mailbox.changed.notify_all()

    async def _send(self, rank: int, call: int, message: Message) -> str:
        arrays = [np.ascontiguousarray(array) for array in message]
        state: str = await dask_internals.ask_worker(
            self._plugin.worker, self._addresses[rank], self._plugin.deliver_operation,
            run=self._run, call=call, sender=self.rank, data=arrays,
        )  # fmt: skip
        return state

    async def _ask(self, rank: int) -> str:
        question = dask_internals.ask_worker(
            self._plugin.worker, self._addresses[rank], self._plugin.state_operation,
            run=self._run, data=None,
        )  # fmt: skip
        state: str = await asyncio.wait_for(question, ANSWER_SECONDS)
        return state

    def _wait(self, call: int, sent: "dict[int, Future[Any]]") -> None:
        """Wait until all messages have gone and come. Raises ExchangeLostError."""
        questions: dict[int, Future[Any]] = {}
        unanswered = dict.fromkeys(sent, 0)
        next_questions = time.monotonic() + ASK_SECONDS
        try:
            while True:
                cancellation.raise_if_cancelled()
                for future in sent.values():
                    if future.done() and (future.exception() or future.result() == "failed"):
                        raise ExchangeLostError(LOST) from future.exception()
                with self._mailbox.changed:
                    arrived = self._mailbox.arrived
                    missing = [
                        rank
                        for rank, future in sent.items()
                        if not future.done() or (call, rank) not in arrived
                    ]
                    if not missing:
                        return
                    self._mailbox.changed.wait(WAKE_SECONDS)
                for rank, question in list(questions.items()):
                    if question.done():
                        del questions[rank]
                        self._judge(call, rank, question, unanswered)
                if time.monotonic() > next_questions:
                    next_questions = time.monotonic() + ASK_SECONDS
                    for rank in set(missing) - questions.keys():
                        questions[rank] = self._start(self._ask(rank))
        finally:
            for future in (*sent.values(), *questions.values()):
                future.cancel()

    def _judge(
        self, call: int | None, rank: int, question: "Future[Any]", unanswered: dict[int, int]
    ) -> None:
        """Raise ExchangeLostError if the answer says that a rank's message will not come.

        call: of the message; None: no message is waited for here, but what a rank that goes on or
        is done has sent by other means.
        """
        if question.exception() is not None:
            unanswered[rank] += 1
            if unanswered[rank] >= 2:
                raise ExchangeLostError(LOST) from question.exception()
            return
        unanswered[rank] = 0
        state = question.result()
        if call is not None:
            with self._mailbox.changed:
                if (call, rank) in self._mailbox.arrived:
                    return
        # A rank that is done has sent all its messages before.
        if state == "failed" or (state == "done" and call is not None):
            raise ExchangeLostError(LOST)


def _usable(array: Any) -> Any:
    """Return an array of which compiled code may take the address."""
    return np.require(array, None, ["C", "A"])
