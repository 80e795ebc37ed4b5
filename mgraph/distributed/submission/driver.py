"""The task of a submitted workflow: it starts the workflow's process, watches it, and records it.

The task secedes from its worker's threads (``worker_client``), so that it takes none from the
workflow's own tasks. The process is a client of the same scheduler. When the worker dies, the
process dies with it, and the scheduler gives the task to another worker: the next attempt.

Only the driver of the newest attempt may write how a run ended, and only while the scheduler wants
its task. A driver that was cut off from the network, while its run continues on another machine,
ends its process and records nothing.
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
from mgraph.core.formatting import escape, format_local_time
from mgraph.distributed.operations.tasks import TOPIC, count_running
from mgraph.distributed.protocol import broadcast, dask_internals, run_context
from mgraph.distributed.submission import run_script
from mgraph.distributed.submission.run_script import DRIVER, SCRIPT_ERROR, UNSHIPPED
from mgraph.errors import ConnectionLostError, MgraphError, StorageError
from mgraph.io import run_folder
from mgraph.io.run_folder import RunFolder, RunRecord, now

POLL_SECONDS = 0.2
ALIVE_SECONDS = 2.0  # between two heartbeats
RECALL_SECONDS = 30.0  # for a scheduler that is busy
DRAIN_SECONDS = 5.0  # for cancelled tasks to end
MAX_ATTEMPTS = 20
CONNECTION_LOST = ConnectionLostError.exit_status
METADATA = "mgraph-runs"  # the group of the scheduler's metadata that has an entry for each run


@dataclass(frozen=True)
class RunRequest:
    """A submitted workflow, as it is sent to its driver.

    runs: the folder of runs. files: the script and its companions by name. grace: seconds for a
    cancelled script to end by itself. environment: variables for the script. unshipped: the modules
    beside the script, as ``payload.missing_module_hint`` takes them.
    """

    runs: str
    record: RunRecord
    files: dict[str, bytes]
    grace: float
    environment: dict[str, str]
    unshipped: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> RunFolder:
        """The run's folder on the machine of the caller."""
        return RunFolder(self.runs, self.record.id)


def run_key(run_id: str) -> str:
    """Return the key of a driver's task."""
    return f"{run_context.RUN_KEY}{run_id}"


def drive(request: RunRequest) -> str:
    """The task: run the workflow to its end; returns the run's state."""
    from distributed import worker_client

    with worker_client() as client:
        folder, metadata = request.folder, _RunMetadata(client, request.record.id)
        earlier, begun = metadata.read()
        if not folder.exists:  # the run was submitted, or begun, on a machine with another disk
            folder.create(request.record, request.files)
        if folder.record().attempt < earlier:  # so was the last attempt
            folder.write(run_context.BEGUN, begun)
        if request.unshipped:
            with contextlib.suppress(StorageError):
                folder.write(UNSHIPPED, request.unshipped)
        again = True
        while again:
            record = folder.begin_attempt(earlier, host=socket.gethostname(), pid=os.getpid())
            if record is None:  # the run had ended, and only this task's result was lost
                break
            attempt = _Attempt(request, folder, record, client, metadata)
            try:
                status = attempt.run()
            except (MgraphError, OSError) as error:  # for example, the folder's disk is full
                with contextlib.suppress(StorageError):
                    attempt.end("failed", error=str(error))
                raise
            again = attempt.conclude(status)
        record = folder.record()
        if record.over:  # otherwise the run continues on another machine
            metadata.remove()
        return record.state


class _RunMetadata:
    """What the scheduler stores of a run, for a driver on another machine to continue from.

    It is the number of attempts, and the requests that they had begun.
    """

    def __init__(self, client: Any, run_id: str) -> None:
        self._client, self._id = client, run_id
        self._written: tuple[int, dict[str, str]] = 0, {}

    def read(self) -> tuple[int, dict[str, str]]:
        """Return the number of attempts, and the requests that they had begun."""
        deadline = time.monotonic() + RECALL_SECONDS
        while True:
            try:
                entry = self._call(None)
            except Exception:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_SECONDS)
            else:
                return (entry["attempt"], entry["begun"]) if entry else (0, {})

    def write(self, attempt: int, begun: dict[str, str]) -> None:
        """Replace the entry if it has changed; tried again next time if there is no answer."""
        if self._written != (attempt, begun):
            with contextlib.suppress(Exception):
                self._call({"attempt": attempt, "begun": begun})
                self._written = attempt, begun

    def remove(self) -> None:
        """Remove the entry: the run has ended."""
        with contextlib.suppress(Exception):
            self._call({})

    def _call(self, value: Any) -> Any:
        function = dask_internals.metadata_on_scheduler()
        return broadcast.on_scheduler(self._client, function, METADATA, self._id, value)


class _Attempt:
    """One execution of a workflow's process."""

    def __init__(
        self,
        request: RunRequest,
        folder: RunFolder,
        record: RunRecord,
        client: Any,
        metadata: _RunMetadata,
    ) -> None:
        from distributed import get_worker

        self.request, self.folder, self.record, self.client = request, folder, record, client
        self.metadata = metadata
        self.worker = get_worker()
        self.key = run_key(record.id)

    def run(self) -> int | None:
        """Run the process to its end; returns its exit status, or None if it was killed here."""
        if self.folder.cancelling:
            return None
        self.publish("running", None)
        from mgraph.distributed.submission.task_output import Receiver

        is_repeated = self.record.attempt > 1
        with (
            open(self.folder.path / run_folder.OUTPUT, "a+b", buffering=0) as output,
            self._companions(output),
            Receiver(
                self.client, self.record.id, output, self._is_current, is_repeated
            ) as receiver,
        ):
            if is_repeated:
                moment = format_local_time(now())
                line = (
                    f"--- attempt {self.record.attempt}, {moment}: begun again, and resumed ---\n"
                )
                output.write(line.encode())
            process = self._start(output)
            try:
                return self._watch(process, receiver)
            finally:
                _kill(process)

    @contextlib.contextmanager
    def _companions(self, output: IO[bytes]) -> Iterator[None]:
        """Have what was shipped with the script on all workers, for the length of a block."""
        from mgraph.distributed.submission import companions

        attempt = self.record.id, self.record.attempt
        companions.remove_abandoned(self.client, *attempt, run_context.RUN_KEY)
        script = self.record.script
        files = {name: content for name, content in self.request.files.items() if name != script}
        if not files:
            yield
            return
        try:
            companions.install(self.client, *attempt, files)
        except Exception as error:  # for example, of a worker that hangs, or whose disk is full
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            line = f"mgraph: not every worker has what was shipped with the script ({reason})\n"
            output.write(line.encode(errors="replace"))
        try:
            yield
        finally:
            companions.remove(self.client, *attempt)

    def _start(self, output: IO[bytes]) -> subprocess.Popen[bytes]:
        record = self.record
        script = self.folder.path / run_folder.FILES / record.script
        cwd = Path(record.cwd)
        if not (cwd.is_dir() and os.access(cwd, os.W_OK | os.X_OK)):
            cwd = self.folder.path / "work"
            cwd.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # an earlier attempt's
            os.unlink(self.folder.path / SCRIPT_ERROR)
        # -P: a file in the working folder must not hide a module.
        command = [sys.executable, "-P", "-m", run_script.__name__, str(script), *record.arguments]
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=os.environ | self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def _environment(self) -> dict[str, str]:
        from mgraph.distributed.protocol.settings import environment

        packages = str(Path(mgraph.__file__).parents[1])  # mgraph may be on the path, not installed
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), packages]))
        return (
            environment()
            | self.request.environment
            | {
                "DASK_SCHEDULER_ADDRESS": self.worker.scheduler.address,
                run_context.FOLDER: str(self.folder),
                run_context.ATTEMPT: str(self.record.attempt),
                DRIVER: str(os.getpid()),
                "PYTHONPATH": path,
                "PYTHONUNBUFFERED": "1",
                **_tls_variables(self.worker.security),
            }
        )

    def _watch(self, process: subprocess.Popen[bytes], receiver: Any) -> int | None:
        """Wait for the process's exit status; None if the process must be killed."""
        last_heartbeat = interrupted = 0.0
        while (status := process.poll()) is None:
            self.metadata.write(self.record.attempt, run_context.begun_in(self.folder))
            if time.monotonic() - last_heartbeat > ALIVE_SECONDS:
                last_heartbeat = time.monotonic()
                try:
                    if not self._is_current():
                        return None
                    self.folder.touch(run_folder.ALIVE)
                except StorageError as error:  # the file system may recover
                    if isinstance(error.__cause__, FileNotFoundError):  # the folder was removed
                        return None
            if not self._is_wanted():
                return None
            receiver.write()
            if not interrupted and self.folder.cancelling:
                interrupted = time.monotonic()
                process.send_signal(signal.SIGINT)
            if interrupted and time.monotonic() - interrupted > self.request.grace:
                return None
            time.sleep(POLL_SECONDS)
        return status

    def _is_current(self) -> bool:
        """Return whether the run, by the record in its folder, is still at this attempt."""
        record = self.folder.record()
        return record.attempt == self.record.attempt and not record.over

    def _is_wanted(self) -> bool:
        """Return whether the scheduler wants this task, as far as this worker knows."""
        return dask_internals.is_wanted(self.worker, self.key)

    def conclude(self, status: int | None) -> bool:
        """Write how the run ended, if this driver may; returns whether to begin another attempt."""
        if not self._is_current():
            return False
        if self.folder.cancelling:
            count = self._count_running_tasks()
            error = f"{count} tasks are still running: they end at their next step"
            self.end("cancelled", status=status, error=error if count else None)
            return False
        if not self._is_wanted():
            return False
        if status == 0:
            self.end("finished", status=0)
            return False
        if not self._wait_for_scheduler():  # then another machine decides what became of the run
            return self.folder.cancelling and self.conclude(status)
        if status == CONNECTION_LOST and self.record.attempt < MAX_ATTEMPTS:
            self.publish("interrupted", "the workflow lost its connection and is begun again")
            return True
        error = f"the script ended with status {status}{self._script_error()}"
        if status is not None and status < 0:
            error = f"the script was ended by signal {signal.Signals(-status).name}"
        self.end("failed", status=status, error=error)
        return False

    def _script_error(self) -> str:
        """Return the sentence with which the script failed, after a colon; empty without one."""
        try:
            text = (self.folder.path / SCRIPT_ERROR).read_text("utf-8", "replace").strip()
        except OSError:
            return ""
        return f": {escape(text)}" if text else ""

    def _count_running_tasks(self) -> int:
        """Count the workflow's tasks that still run some seconds after its process has ended."""
        states = {
            event.get("operation"): event.get("state")
            for event in self.folder.events()
            if event.get("event") == "operation"
        }
        unfinished = [name for name, state in states.items() if state == "running"]
        deadline = time.monotonic() + DRAIN_SECONDS
        while True:
            count = sum(sum(count_running(self.client, name).values()) for name in unfinished)
            if not count or time.monotonic() > deadline:
                return count
            time.sleep(POLL_SECONDS)

    def _wait_for_scheduler(self) -> bool:
        """Wait until the scheduler answers; False if the worker gives up first, or on a cancel."""
        while (
            self._is_wanted()
            and self.worker.status.name in ("running", "paused")
            and not self.folder.cancelling
        ):
            with contextlib.suppress(Exception):
                broadcast.run_coroutine(
                    self.client,
                    dask_internals.identity,
                    self.client,
                    seconds=broadcast.ANSWER_SECONDS,
                )
                return self._is_wanted()
            time.sleep(POLL_SECONDS)
        return False

    def end(self, state: str, status: int | None = None, error: str | None = None) -> None:
        """Write how the run ended, unless another attempt has begun by now."""
        changes = {"state": state, "ended": now(), "status": status, "error": error}
        if self.folder.update(self.record.attempt, **changes) is not None:
            self.publish(state, error)

    def publish(self, state: str, error: str | None) -> None:
        """Append an event to the run's folder, and log it on the scheduler for the monitor."""
        event = {"state": state, "attempt": self.record.attempt, "error": error}
        with contextlib.suppress(StorageError):
            self.folder.tell("run", **event, host=self.record.host)
        run: dict[str, str | None] = {"run": self.record.id, "script": self.record.script}
        run |= {"host": self.record.host, "folder": str(self.folder.path.parent)}
        self.worker.log_event(TOPIC, run | event)


def _tls_variables(security: Any) -> dict[str, str]:
    """Return the environment variables for a client that uses this worker's certificate."""
    if not security.tls_ca_file:
        return {}
    files = {
        "CA_FILE": security.tls_ca_file,
        "CLIENT__CERT": security.tls_client_cert or security.tls_worker_cert,
        "CLIENT__KEY": security.tls_client_key or security.tls_worker_key,
    }
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": file for name, file in files.items() if file}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all processes of its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
