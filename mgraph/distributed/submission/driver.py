"""The task of a submitted workflow: it starts the workflow's process, watches it, and keeps books.

The task secedes from its worker's threads (``worker_client``), so that it takes none from the
workflow's own tasks. The process is a client of the same scheduler. When the worker dies, its
process dies with it, and the scheduler gives the task to another worker: the next attempt.

Who may write how a run ended: the driver of its newest attempt, while the scheduler still counts on
it. One behind a cut link, whose run goes on elsewhere, ends its process and says nothing.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import mgraph
from mgraph.core.formatting import format_local_time
from mgraph.distributed.operations.tasks import TOPIC, running
from mgraph.distributed.protocol import broadcast, dask_internals, run_context
from mgraph.distributed.submission import run_script
from mgraph.distributed.submission.run_script import BEHIND, DRIVER
from mgraph.errors import ConnectionLostError, MgraphError, StorageError
from mgraph.io import run_folder
from mgraph.io.run_folder import RunFolder, RunRecord, now

POLL_SECONDS = 0.2
ALIVE_SECONDS = 2.0
RECALL_SECONDS = 30.0  # for a scheduler that is busy
STOP_SECONDS = 5.0  # for tasks that nobody wants any more
MOST_ATTEMPTS = 20
CONNECTION_LOST = ConnectionLostError.exit_status
METADATA = "mgraph-runs"  # the entry of the scheduler's metadata that has one for each run


@dataclass(frozen=True)
class Order:
    """What a submitted workflow is, as it travels to its driver.

    runs: the folder of runs. files: the script and its companions by name. grace: seconds for the
    script to end by itself when it is cancelled. environment: variables for the script. behind:
    what lies beside the script and was not shipped, as ``shipping.hint`` takes it.
    """

    runs: str
    record: RunRecord
    files: dict[str, bytes]
    grace: float
    environment: dict[str, str]
    behind: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> RunFolder:
        """The run's folder, on the machine that asks."""
        return RunFolder(self.runs, self.record.id)


def run_key(run_id: str) -> str:
    """The key of a driver's task."""
    return f"{run_context.RUN_KEY}{run_id}"


def drive(order: Order) -> str:
    """The task: run the workflow to its end; returns the run's state."""
    from distributed import worker_client

    with worker_client() as client:
        folder, memory = order.folder, _Memory(client, order.record.id)
        earlier, begun = memory.recall()
        if not folder.exists:  # it was submitted, or begun, on a machine whose disk is not ours
            folder.create(order.record, order.files)
        if folder.record().attempt < earlier:  # so was the last attempt
            folder.write(run_context.BEGUN, begun)
        if order.behind:
            with contextlib.suppress(StorageError):
                folder.write(BEHIND, order.behind)
        again = True
        while again:
            record = folder.begin_attempt(earlier, host=socket.gethostname(), pid=os.getpid())
            if record is None:  # it had ended, and only its result was lost
                break
            attempt = _Attempt(order, folder, record, client, memory)
            try:
                status = attempt.run()
            except (MgraphError, OSError) as error:  # its folder cannot be written: a full disk
                with contextlib.suppress(StorageError):
                    attempt.end("failed", error=str(error))
                raise
            again = attempt.ended(status)
        record = folder.record()
        if record.over:  # else it goes on elsewhere
            memory.forget()
        return record.state


class _Memory:
    """What a scheduler keeps of a run, for a driver on another machine to go on with."""

    def __init__(self, client: Any, run_id: str) -> None:
        self._client, self._id = client, run_id
        self._kept: tuple[int, dict[str, str]] = 0, {}

    def recall(self) -> tuple[int, dict[str, str]]:
        """The attempts that there were, and what they had begun."""
        deadline = time.monotonic() + RECALL_SECONDS
        while True:
            try:
                found = self._ask(None)
            except Exception:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_SECONDS)
            else:
                return (found["attempt"], found["begun"]) if found else (0, {})

    def keep(self, attempt: int, begun: dict[str, str]) -> None:
        """Have it kept, if it has changed; a scheduler out of reach is told the next time."""
        if self._kept != (attempt, begun):
            with contextlib.suppress(Exception):
                self._ask({"attempt": attempt, "begun": begun})
                self._kept = attempt, begun

    def forget(self) -> None:
        """The run has ended."""
        with contextlib.suppress(Exception):
            self._ask({})

    def _ask(self, told: Any) -> Any:
        function = dask_internals.metadata_on_scheduler()
        return broadcast.on_scheduler(self._client, function, METADATA, self._id, told)


class _Attempt:
    """One start of a workflow's process."""

    def __init__(
        self, order: Order, folder: RunFolder, record: RunRecord, client: Any, memory: _Memory
    ) -> None:
        from distributed import get_worker

        self.order, self.folder, self.record, self.client = order, folder, record, client
        self.memory = memory
        self.worker = get_worker()
        self.key = run_key(record.id)

    def run(self) -> int | None:
        """Run the process to its end; returns its exit status, None where it was ended."""
        if self.folder.cancelling:
            return None
        self.tell("running", None)
        from mgraph.distributed.submission.task_output import Receiver

        with (
            open(self.folder.path / run_folder.OUTPUT, "a+b", buffering=0) as output,
            self._companions(output),
            Receiver(
                self.client, self.record.id, output, self._is_current, self.record.attempt > 1
            ) as received,
        ):
            if self.record.attempt > 1:
                moment = format_local_time(now())
                line = (
                    f"--- attempt {self.record.attempt}, {moment}: begun again, and resumed ---\n"
                )
                output.write(line.encode())
            process = self._start(output)
            try:
                return self._watch(process, received)
            finally:
                _kill(process)

    @contextlib.contextmanager
    def _companions(self, output: IO[bytes]) -> Iterator[None]:
        """What was shipped with the script is where its tasks can import it, in this block."""
        from mgraph.distributed.submission import companions

        mine = self.record.id, self.record.attempt
        companions.remove_others(self.client, *mine, run_context.RUN_KEY)
        script = self.record.script
        files = {name: code for name, code in self.order.files.items() if name != script}
        if not files:
            yield
            return
        try:
            companions.install(self.client, *mine, files)
        except Exception as error:  # of a worker that hangs, or whose disk is full
            told = f"{type(error).__name__}: {' '.join(str(error).split())}"
            line = f"mgraph: not every worker has what was shipped with the script ({told})\n"
            output.write(line.encode(errors="replace"))
        try:
            yield
        finally:
            companions.remove(self.client, *mine)

    def _start(self, output: IO[bytes]) -> subprocess.Popen[bytes]:
        record = self.record
        script = self.folder.path / run_folder.FILES / record.script
        work = Path(record.cwd)
        if not (work.is_dir() and os.access(work, os.W_OK | os.X_OK)):
            work = self.folder.path / "work"
            work.mkdir(exist_ok=True)
        # -P: what lies in the folder that it runs in shadows no module.
        command = [sys.executable, "-P", "-m", run_script.__name__, str(script), *record.arguments]
        return subprocess.Popen(
            command,
            cwd=work,
            env=os.environ | self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def _environment(self) -> dict[str, str]:
        from mgraph.distributed.protocol.settings import environment

        packages = str(Path(mgraph.__file__).parents[1])  # for an mgraph that is only on the path
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), packages]))
        return (
            environment()
            | self.order.environment
            | {
                "DASK_SCHEDULER_ADDRESS": self.worker.scheduler.address,
                run_context.FOLDER: str(self.folder),
                run_context.ATTEMPT: str(self.record.attempt),
                DRIVER: str(os.getpid()),
                "PYTHONPATH": path,
                "PYTHONUNBUFFERED": "1",
                **_tls(self.worker.security),
            }
        )

    def _watch(self, process: subprocess.Popen[bytes], received: Any) -> int | None:
        """The process's exit status; None where it was ended since it is wanted no more."""
        told = interrupted = 0.0
        while (status := process.poll()) is None:
            self.memory.keep(self.record.attempt, run_context.begun_in(self.folder))
            if time.monotonic() - told > ALIVE_SECONDS:
                told = time.monotonic()
                try:
                    if not self._is_current():
                        return None
                    self.folder.touch(run_folder.ALIVE)
                except StorageError as error:  # of a store that hesitates, say
                    if isinstance(error.__cause__, FileNotFoundError):  # it was removed
                        return None
            if not self._wanted():
                return None
            received.write()
            if not interrupted and self.folder.cancelling:
                interrupted = time.monotonic()
                process.send_signal(signal.SIGINT)
            if interrupted and time.monotonic() - interrupted > self.order.grace:
                return None
            time.sleep(POLL_SECONDS)
        return status

    def _is_current(self) -> bool:
        """Whether the run, as its folder tells, is this attempt's still."""
        record = self.folder.record()
        return record.attempt == self.record.attempt and not record.over

    def _wanted(self) -> bool:
        """Whether the scheduler, as far as this worker knows, counts on this task."""
        return dask_internals.is_wanted(self.worker, self.key)

    def ended(self, status: int | None) -> bool:
        """Write how the run ended, if that is ours to say; returns whether to begin again."""
        if not self._is_current():
            return False
        if self.folder.cancelling:
            left = self._left_running()
            error = f"{left} tasks still run: they end at their next step" if left else None
            self.end("cancelled", status=status, error=error)
            return False
        if not self._wanted():
            return False
        if status == 0:
            self.end("finished", status=0)
            return False
        if not self._scheduler_answers():  # then it is not this machine's to say what became of it
            return self.folder.cancelling and self.ended(status)
        if status == CONNECTION_LOST and self.record.attempt < MOST_ATTEMPTS:
            self.tell("interrupted", "the workflow lost its connection and is begun again")
            return True
        error = f"the script ended with status {status}"
        if status is not None and status < 0:
            error = f"the script was ended by signal {signal.Signals(-status).name}"
        self.end("failed", status=status, error=error)
        return False

    def _left_running(self) -> int:
        """How many of the workflow's tasks run on, a few seconds after its process has ended."""
        operations = {
            event.get("operation"): event.get("state")
            for event in self.folder.events()
            if event.get("event") == "operation"
        }
        begun = [name for name, state in operations.items() if state == "running"]
        deadline = time.monotonic() + STOP_SECONDS
        while True:
            left = sum(sum(running(self.client, name).values()) for name in begun)
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(POLL_SECONDS)

    def _scheduler_answers(self) -> bool:
        """Wait until it answers; False where the worker gives up first, or somebody cancels."""
        while (
            self._wanted()
            and self.worker.status.name in ("running", "paused")
            and not self.folder.cancelling
        ):
            with contextlib.suppress(Exception):
                broadcast.in_time(
                    self.client,
                    dask_internals.identity,
                    self.client,
                    seconds=broadcast.ANSWER_SECONDS,
                )
                return self._wanted()
            time.sleep(POLL_SECONDS)
        return False

    def end(self, state: str, **how: Any) -> None:
        """Write how the run ended, unless another attempt has it by now."""
        for name, value in {"status": None, "error": None}.items():
            how.setdefault(name, value)
        changed = self.folder.update(self.record.attempt, state=state, ended=now(), **how)
        if changed is not None:
            self.tell(state, how["error"])

    def tell(self, state: str, error: str | None) -> None:
        """Tell the run's folder and whoever watches the scheduler."""
        event = {"state": state, "attempt": self.record.attempt, "error": error}
        with contextlib.suppress(StorageError):
            self.folder.tell("run", **event, host=self.record.host)
        told = {"run": self.record.id, "script": self.record.script} | event
        self.worker.log_event(TOPIC, told)


def _tls(security: Any) -> dict[str, str]:
    """What makes a client of this worker's scheduler, with the certificate that the worker has."""
    if not security.tls_ca_file:
        return {}
    files = {
        "CA_FILE": security.tls_ca_file,
        "CLIENT__CERT": security.tls_client_cert or security.tls_worker_cert,
        "CLIENT__KEY": security.tls_client_key or security.tls_worker_key,
    }
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": file for name, file in files.items() if file}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it has started, if anything of that is left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
