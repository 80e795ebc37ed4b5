"""The process of a submitted workflow: ``python -m …submission.run_script SCRIPT [ARGS…]``.

It runs the script as ``python SCRIPT ARGS`` would, prints the sentence alone of an MgraphError, and
ends, together with the processes that it has started, when the worker that started it dies.
"""

import contextlib
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

from mgraph.distributed.protocol import run_context
from mgraph.distributed.protocol.failures import cause_of
from mgraph.errors import MgraphError
from mgraph.io import untrusted

POLL_SECONDS = 0.5
UNSHIPPED = "behind.json"  # in the run's folder: the modules beside the script, not shipped with it
SCRIPT_ERROR = "error.txt"  # in the run's folder: the sentence with which the script failed
ERROR_LENGTH = 300
DRIVER = "MGRAPH_RUN_DRIVER"  # the environment variable with the pid of the driver's process


def end_with_parent(parent: int) -> None:
    """End this process's group as soon as ``parent`` is no longer its parent."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        os.killpg(os.getpgrp(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True, name="mgraph-parent").start()


def run_script(script: str, arguments: list[str]) -> int:
    """Run the script; returns its exit status."""
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(script))
    try:
        from dask import annotate

        # Tasks that this thread submits belong to the run, and so do their own (``task_output``).
        with annotate(**run_context.annotation()):
            runpy.run_path(script, run_name="__main__")
    except MgraphError as error:
        print(f"mgraph: {error}", file=sys.stderr)
        _write_error(str(error))
        _print_hint(error)
        return error.exit_status
    except KeyboardInterrupt:
        print("mgraph: interrupted; what is finished is kept", file=sys.stderr)
        return 130
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        _write_error(str(end.code))
        return 1
    except BaseException as error:
        # Without the frames above the script's, which are this function's and runpy's.
        last = error.__traceback__
        while last is not None and last.tb_frame.f_code.co_filename != script:
            last = last.tb_next
        traceback.print_exception(type(error), error, last)
        _write_error(cause_of(error))
        _print_hint(error)
        return 1
    return 0


def _write_error(sentence: str) -> None:
    """Write the sentence into the run's folder, for the driver's record of the run."""
    folder = os.environ.get(run_context.FOLDER)
    if folder is not None:
        text = " ".join(sentence.split())[:ERROR_LENGTH]
        with contextlib.suppress(OSError):
            (Path(folder) / SCRIPT_ERROR).write_text(text, "utf-8", "backslashreplace")


def _print_hint(error: BaseException) -> None:
    """Print what to ship if an import of a module beside the script failed."""
    from mgraph.distributed.submission.payload import missing_module_hint

    folder = os.environ.get(run_context.FOLDER)
    if folder is not None:
        with contextlib.suppress(Exception):  # for example, of an error whose text raises
            unshipped = untrusted.parse_json((Path(folder) / UNSHIPPED).read_bytes())
            if hint := missing_module_hint(error, unshipped):
                print(f"mgraph: {hint}", file=sys.stderr)


if __name__ == "__main__":
    end_with_parent(int(os.environ.pop(DRIVER)))
    # A worker may ignore or block ctrl-C, which a terminal sends to all processes of a command.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    status = run_script(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    sys.exit(status)
